package limiter

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// coolNoted is the shortest rest that is an event: shorter ones come by the
// second while the provider is short of machines.
const coolNoted = 5 * time.Second

// rest is one call of Cool.
type rest struct {
	lane   Lane
	ms     int64
	reason Reason
	detail string
}

func newRest(l Lane, d time.Duration, reason Reason, detail string) rest {
	return rest{l, int64((d + time.Millisecond - 1) / time.Millisecond), cmp.Or(reason, ReasonCooldown), oneLine(detail)}
}

// event tells that the lane rests until ends; ok is false for what is too short.
func (x rest) event(ends int64) (e Event, ok bool) {
	e = Event{Kind: EventCooldown, Subject: x.lane.String()}
	if x.reason != ReasonCooldown {
		e.Kind = EventBreaker
	}
	long := time.Duration(x.ms) * time.Millisecond
	e.Text = fmt.Sprintf("%s rests for %s", x.lane.Model, long.Round(time.Second))
	if x.detail != "" {
		e.Text += ": " + x.detail
	}
	e.Data = map[string]string{"reason": string(x.reason), "until": time.UnixMilli(ends).UTC().Format(time.RFC3339)}
	return e, long >= coolNoted
}

// Cool lets a lane rest for d: the provider said so. The longest rest wins, and
// reason and detail are those of that one. A rest of five seconds and more is an
// event, once for all calls that say the same.
func (r *Redis) Cool(ctx context.Context, l Lane, d time.Duration, reason Reason, detail string) error {
	if d <= 0 {
		return nil
	}
	x := newRest(l, d, reason, detail)
	got, err := r.call(ctx, coolScript(), l, r.lane(l).keys, x.ms, string(x.reason), x.detail)
	if err != nil {
		return err
	}
	n, err := numbers(got.rest)
	if err != nil || len(n) != 2 {
		return fmt.Errorf("limiter: strange answer %v to a rest", got.rest)
	}
	if e, noted := x.event(n[0]); noted && n[1] == 1 {
		r.noteOrLog(ctx, e)
	}
	return nil
}

// noteOrLog keeps an event of what is in force already: one that is lost is only
// logged.
func (r *Redis) noteOrLog(ctx context.Context, e Event) {
	if err := r.Note(ctx, e); err != nil {
		r.log.Warn("an event is not noted", "event", e.Text, "error", err)
	}
}
