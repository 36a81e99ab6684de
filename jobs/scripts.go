package jobs

import (
	"context"
	"embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

var (
	addScript      = script("add")
	compareScript  = script("compare")
	beginScript    = script("begin")
	moveScript     = script("move")
	finishScript   = script("finish")
	refitScript    = script("refit")
	fetchScript    = script("fetch")
	closeScript    = script("close")
	reopenScript   = script("reopen")
	mendScript     = script("mend")
	messagesScript = script("messages")
	looseScript    = script("loose")
	chunkScript    = script("chunk")
	foldScript     = script("fold")
	headsScript    = script("heads")
	markScript     = script("mark")
	steerScript    = script("steer")
	expectScript   = script("expect")
	waitsScript    = script("waits")

	dropFilesScript = script("dropfiles")
)

func script(name string) *redis.Script {
	b, err := luaFiles.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	return redis.NewScript(string(b))
}

// call runs a script and checks that it answered n values.
func (s *Store) call(ctx context.Context, sc *redis.Script, keys []string, args []any, n int) ([]any, error) {
	out, err := sc.Run(ctx, s.rdb, keys, args...).Slice()
	if err != nil {
		return nil, err
	}
	if len(out) != n {
		return nil, fmt.Errorf("script answered %d values, want %d", len(out), n)
	}
	return out, nil
}

// integer and str read one value of an answer; a wrong type is 0 or "".
func integer(v any) int64 { n, _ := v.(int64); return n }
func str(v any) string    { s, _ := v.(string); return s }
