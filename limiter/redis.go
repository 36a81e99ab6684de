package limiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNoPermit says that there is nothing to settle or extend: the id never held
// a permit, or it ended.
var ErrNoPermit = errors.New("limiter: no such permit")

// ErrLapsed says that a lease ended before it was extended: what the permit
// held may be somebody else's now.
var ErrLapsed = errors.New("limiter: the lease has ended")

// ErrNoTicket says that no such ticket waits.
var ErrNoTicket = errors.New("limiter: no such ticket")

// ErrUnknownNode says that a node of a path has no limits.
var ErrUnknownNode = errors.New("limiter: the node has no limits")

// ErrUnknownLane says that no limits are configured for a lane.
var ErrUnknownLane = errors.New("limiter: no limits are configured for the lane")

// errOld says that the configuration was changed since this process read it.
var errOld = errors.New("limiter: the configuration has changed")

// RedisOptions of a Redis limiter. The zero value works.
type RedisOptions struct {
	// Now replaces Redis's own clock. For tests only: with several processes no
	// clock but Redis's is the same for all.
	Now func() time.Time
	// Logger gets one line for what an operator should see. Default: discarded.
	Logger *slog.Logger
	// Timeout bounds one call to Redis, its retries included. Default 2 s. When
	// it is over the answer is ReasonUnavailable.
	Timeout time.Duration
}

// Redis decides in Lua, on the state that all processes of a scope share. It is
// safe for concurrent use.
type Redis struct {
	rdb   redis.UniversalClient
	scope Scope
	opts  RedisOptions
	log   *slog.Logger
	keys  keys
	cal   calendar

	lanes  sync.Map               // Lane → *laneCalls
	config atomic.Pointer[Config] // that is enforced

	generation atomic.Pointer[string]   // of the shared state, as last read; nil before
	settings   atomic.Pointer[settings] // that it follows from, and their revision
}

// laneCalls is what is kept for a lane in this process.
type laneCalls struct {
	keys    []string
	acquire batcher[Request, answer]
	settle  batcher[settlement, int64]
}

// NewRedis makes a limiter for one scope.
func NewRedis(rdb redis.UniversalClient, scope Scope, opts RedisOptions) *Redis {
	r := &Redis{rdb: rdb, scope: scope, opts: opts, keys: newKeys(scope), log: opts.Logger}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.opts.Timeout == 0 {
		r.opts.Timeout = 2 * time.Second
	}
	return r
}

func (r *Redis) now() time.Time {
	if r.opts.Now != nil {
		return r.opts.Now()
	}
	return time.Now()
}

// clockArg is ARGV[1]: empty, so that Redis's clock decides, except in tests.
func (r *Redis) clockArg() string {
	if r.opts.Now == nil {
		return ""
	}
	return strconv.FormatInt(r.opts.Now().UnixMilli(), 10)
}

func (r *Redis) lane(l Lane) *laneCalls {
	if c, ok := r.lanes.Load(l); ok {
		return c.(*laneCalls)
	}
	c := &laneCalls{keys: r.keys.lane(l)}
	c.acquire.run = func(qs []Request) ([]answer, error) { return r.acquireMany(l, c.keys, qs) }
	c.settle.run = func(ss []settlement) ([]int64, error) { return r.settleMany(l, c.keys, ss) }
	kept, _ := r.lanes.LoadOrStore(l, c)
	return kept.(*laneCalls)
}

// reply is a lane script's answer after its head {alert, now}.
type reply struct {
	now  int64
	rest []any
}

// call runs a lane script. The lane's scope must be ours: its keys are built
// under our hash tag.
func (r *Redis) call(ctx context.Context, s *redis.Script, l Lane, keys []string, args ...any) (reply, error) {
	if l.Scope() != r.scope {
		return reply{}, r.foreign(l)
	}
	if err := r.loaded(ctx); err != nil {
		return reply{}, err
	}
	argv := make([]any, 2, 2+len(args))
	argv[0], argv[1] = r.clockArg(), r.cal.at(r.now()).text
	got, err := s.Run(ctx, r.rdb, keys, append(argv, args...)...).Slice()
	if err != nil {
		return reply{}, storeError(err)
	}
	return r.head(l, got)
}

func (r *Redis) foreign(l Lane) error {
	return fmt.Errorf("limiter: lane %s is not of scope %s", l, r.scope)
}

func (r *Redis) head(l Lane, got []any) (reply, error) {
	if len(got) < 2 {
		return reply{}, fmt.Errorf("limiter: short answer %v", got)
	}
	alert, ok1 := got[0].(int64)
	now, ok2 := got[1].(int64)
	if !ok1 || !ok2 {
		return reply{}, fmt.Errorf("limiter: strange answer %v", got)
	}
	switch alert {
	case -1:
		return reply{now: now}, ErrUnknownLane
	case -2:
		return reply{now: now}, errOld
	case 1:
		r.log.Warn("Redis's clock was set back by more than 5 s: what was used counts as used now", "lane", l.String())
	}
	return reply{now: now, rest: got[2:]}, nil
}

// loaded reads the configuration once, for what is computed on this side:
// zones of months, and the schema that a newer process may have raised.
func (r *Redis) loaded(ctx context.Context) error {
	if r.config.Load() != nil {
		return nil
	}
	_, err := r.load(ctx)
	return err
}

func (r *Redis) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.opts.Timeout)
}

func number(v any) (int64, error) {
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("limiter: answer has %T where a number belongs", v)
	}
	return n, nil
}

func numbers(vs []any) ([]int64, error) {
	out := make([]int64, len(vs))
	for i, v := range vs {
		n, err := number(v)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
