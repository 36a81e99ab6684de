package dashboard

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// shared lets asynqmon use the process's own client: TLS, Cluster, Sentinel and
// an embedded Redis come with it.
type shared struct {
	mu       sync.Mutex
	plain    redis.UniversalClient // asynqmon's own: its Redis page wants the concrete type
	tolerant redis.UniversalClient // its Inspector's
	asked    bool
}

// MakeRedisClient is called twice by asynqmon.New: for its own use, then by
// the Inspector. Nobody may close what it gives.
func (s *shared) MakeRedisClient() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		s.asked = true
		return s.plain
	}
	return s.tolerant
}

// tolerant is a client for asynq's Inspector. One of its scripts asks how much
// memory a queue's tasks take, on every page; it fails where Redis forbids
// MEMORY USAGE (managed services, ACLs) and where a list names a task that is
// gone. The figure is then left at zero and the trouble is kept for the
// banner, because a missing figure is no reason for a missing page.
type tolerant struct {
	redis.UniversalClient
	troubles *troubles
}

// EvalSha calls a script.
func (t tolerant) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return t.judged(ctx, keys, t.UniversalClient.EvalSha(ctx, sha, keys, args...))
}

// Eval calls a script that Redis does not have yet.
func (t tolerant) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return t.judged(ctx, keys, t.UniversalClient.Eval(ctx, script, keys, args...))
}

func (t tolerant) judged(ctx context.Context, keys []string, cmd *redis.Cmd) *redis.Cmd {
	if !isMemoryScript(keys) {
		return cmd
	}
	queue := queueOfKey(keys[0])
	if cmd.Err() == nil {
		t.troubles.clear(queue)
		return cmd
	}
	kind := memoryTrouble(cmd.Err())
	if kind == "" {
		return cmd
	}
	t.troubles.note(queue, kind)
	zero := redis.NewCmd(ctx)
	zero.SetVal(int64(0))
	return zero
}

// isMemoryScript knows asynq v0.26's memoryUsageCmd by its keys
// (internal/rdb/inspect.go); a test asks the Inspector for them. Should they
// change, pages fail as they do in plain asynqmon.
func isMemoryScript(keys []string) bool {
	return len(keys) == 7 && strings.HasSuffix(keys[0], ":active") && strings.HasSuffix(keys[1], ":pending") && strings.HasSuffix(keys[6], ":groups")
}

// queueOfKey is the queue in asynq:{queue}:what.
func queueOfKey(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	queue, _, _ := strings.Cut(rest, "}")
	return queue
}

const (
	troubleForbidden = "forbidden" // Redis does not let us ask
	troubleGhost     = "ghost"     // a list names a task that is gone
)

func memoryTrouble(err error) string {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return ""
	}
	s := strings.ToLower(reply.Error())
	switch {
	case strings.HasPrefix(s, "noscript"):
		return "" // go-redis sends the script itself next
	case strings.Contains(s, "arithmetic on"):
		return troubleGhost
	case strings.Contains(s, "noperm"), strings.Contains(s, "permission"), strings.Contains(s, "unknown redis command"),
		strings.Contains(s, "unknown command"), strings.Contains(s, "can't run this command"), strings.Contains(s, "not allowed from script"):
		return troubleForbidden
	}
	return ""
}

// troubles are the queues whose memory figure is missing, and why.
type troubles struct {
	mu   sync.Mutex
	kind map[string]string // by queue
}

func (t *troubles) note(queue, kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kind == nil {
		t.kind = map[string]string{}
	}
	t.kind[queue] = kind
}

func (t *troubles) clear(queue string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.kind, queue)
}

// of gives the queues with a kind of trouble, in no order.
func (t *troubles) of(kind string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for queue, k := range t.kind {
		if k == kind {
			out = append(out, queue)
		}
	}
	return out
}
