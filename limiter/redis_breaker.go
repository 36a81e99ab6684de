package limiter

import (
	"context"
	"fmt"
	"time"
)

// Trip opens a breaker, or tells that the call which looked whether it still holds
// found that it does. Proof from other calls that were under way changes nothing,
// except that it may be surer. A refused key closes nothing while another
// process's key works: then BreakerState.Alone is true. What opens is an event.
func (r *Redis) Trip(ctx context.Context, t Trip) (BreakerState, error) {
	if err := t.check(r.scope); err != nil {
		return BreakerState{}, err
	}
	code, list, err := r.breaker(ctx, "trip", t.field(), string(t.Reason), flag(t.Certain), msOf(t.Until), msOf(t.NotBefore),
		t.longest(), t.Permit, t.Key, oneLine(t.By), oneLine(t.Lift), oneLine(t.Detail))
	switch {
	case err != nil:
		return BreakerState{}, err
	case code == tripAlone:
		return t.alone(), nil
	case len(list) != 1:
		return BreakerState{}, fmt.Errorf("limiter: %d breakers answer to one trip", len(list))
	}
	s := list[0]
	s.Opened = code == tripOpened
	if e, ok := s.event(code); ok {
		r.noteOrLog(ctx, e)
	}
	return s, nil
}

// Probed tells that the call which looked had an answer that no breaker would be
// for: what was open when its permit was granted is closed.
func (r *Redis) Probed(ctx context.Context, p *Permit) error {
	_, list, err := r.breaker(ctx, "close", p.Lane.short(), p.Granted.UnixMilli())
	return r.noteClosed(ctx, list, "a call that looked", err)
}

// CloseBreaker closes what keeps a lane's calls back, its own breaker and the
// project's, on somebody's word.
func (r *Redis) CloseBreaker(ctx context.Context, l Lane, by string) error {
	_, list, err := r.breaker(ctx, "close", l.short(), 0)
	return r.noteClosed(ctx, list, by, err)
}

// LookAgain lets the next request of each lane with an open breaker look now
// whether it still holds, and gives those.
func (r *Redis) LookAgain(ctx context.Context) ([]BreakerState, error) {
	_, list, err := r.breaker(ctx, "again", "", 1)
	return list, err
}

// KeyInUse tells that this process's key, by a short hash of it, is in use, and how
// long ago the latest call that worked with it was sent; less than zero when none was
// since this was told last. A breaker for refused keys is closed
// when this is another key that works, and looked at when it was not tried since.
func (r *Redis) KeyInUse(ctx context.Context, hash string, ago time.Duration) error {
	code, list, err := r.breaker(ctx, "key", hash, ageOf(ago))
	if code != keyCloses {
		return err
	}
	return r.noteClosed(ctx, list, "another key", err)
}

// Breakers gives those that are not closed: the project's first.
func (r *Redis) Breakers(ctx context.Context) ([]BreakerState, error) {
	_, list, err := r.breaker(ctx, "list")
	return list, err
}

func (r *Redis) noteClosed(ctx context.Context, list []BreakerState, by string, err error) error {
	for _, s := range list {
		if e, ok := s.closed(by); ok {
			r.noteOrLog(ctx, e)
		}
	}
	return err
}

// breaker runs the script and reads the breakers that it answers with.
func (r *Redis) breaker(ctx context.Context, args ...any) (code int64, list []BreakerState, err error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	got, err := tripScript().Run(ctx, r.rdb, r.keys.scope, append([]any{r.clockArg(), ""}, args...)...).Slice()
	if err != nil {
		return 0, nil, storeError(err)
	}
	if len(got)%3 != 0 || len(got) == 0 {
		return 0, nil, fmt.Errorf("limiter: strange answer %v of breakers", got)
	}
	head, err := numbers(got[:3])
	if err != nil {
		return 0, nil, err
	}
	for got = got[3:]; len(got) > 0; got = got[3:] {
		b, err := readBreaker(text(got[1]))
		if err != nil {
			return 0, nil, err
		}
		list = append(list, b.state(r.scope, text(got[0]), head[1], got[2] == int64(1)))
	}
	return head[2], byBreaker(list), nil
}

// ageOf is how long ago in ms; -1 for never.
func ageOf(ago time.Duration) int64 {
	if ago < 0 {
		return -1
	}
	return ago.Milliseconds()
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
