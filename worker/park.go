package worker

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/encoding/protowire"
)

var (
	//go:embed lua/park.lua
	parkLua string
	//go:embed lua/due.lua
	dueLua string

	parkScript = redis.NewScript(parkLua)
	dueScript  = redis.NewScript(dueLua)
)

const (
	parkBatch = 256
	// parkDepth is how far from the front new tasks are looked for: before them
	// may be as many pulled ones as the fleet has free slots.
	parkDepth = 2 * parkBatch
)

// park takes the next new tasks of a queue off its pending list and puts them
// where waiting tasks are; they come back at until if nothing else is said.
func park(ctx context.Context, rdb redis.UniversalClient, queue string, until time.Time) ([]string, error) {
	keys := []string{pendingKey(queue), retryKey(queue), pausedKey(queue)}
	ids, err := parkScript.Run(ctx, rdb, keys, taskPrefix(queue), parkBatch, parkDepth, until.Unix()).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("lining up new tasks of %s: %w", queue, err)
	}
	return ids, nil
}

// parked is a task that was lined up and when it comes back by itself.
type parked struct {
	id    string
	until time.Time
	text  string // what asynqmon shows
}

// comeBack tells asynq when parked tasks of a queue come back, and why they wait.
func comeBack(ctx context.Context, rdb redis.UniversalClient, queue string, tasks []parked, now time.Time) error {
	if len(tasks) == 0 {
		return nil
	}
	args := make([]any, 0, 1+3*len(tasks))
	args = append(args, taskPrefix(queue))
	for _, t := range tasks {
		args = append(args, t.id, t.until.Unix(), lastError(t.text, now))
	}
	if err := dueScript.Run(ctx, rdb, []string{retryKey(queue)}, args...).Err(); err != nil {
		return fmt.Errorf("times of lined up tasks of %s: %w", queue, err)
	}
	return nil
}

// The fields of asynq v0.26's TaskMessage that asynqmon shows of a waiting task
// (internal/proto/asynq.proto). A test reads them back through asynq.
const (
	protoErrorMsg     = 7
	protoLastFailedAt = 11
)

// lastError encodes what asynq's own retry would write into the message.
func lastError(text string, now time.Time) []byte {
	b := protowire.AppendTag(nil, protoErrorMsg, protowire.BytesType)
	b = protowire.AppendString(b, text)
	b = protowire.AppendTag(b, protoLastFailedAt, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(now.Unix()))
}
