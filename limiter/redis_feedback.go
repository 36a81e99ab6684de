package limiter

import (
	"context"
	"fmt"
)

// Report takes what the provider's answer to an admitted call says about our
// limits (design 4.5). A refusal for a minute's quota lowers the limit that it
// names, or all minute limits of the lane, by a tenth, once in ten seconds and
// never below half; they come back by a hundredth a minute. A lower quotaValue
// than what is in force becomes an override of source "provider", with an alert. Want of
// capacity lowers how many calls may be made at once. What changed is an event.
func (r *Redis) Report(ctx context.Context, f Feedback) error {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	return report(ctx, r, f)
}

func (r *Redis) effective(ctx context.Context) (Config, error) { return r.load(ctx) }

// lower runs the script. none says that calls at once have no limit to lower.
func (r *Redis) lower(ctx context.Context, f Feedback) (cuts []cut, none bool, err error) {
	kind, unit := "minute", int64(-1)
	if f.Kind == Capacity {
		kind = "capacity"
	} else if u := f.unit(); u < NumUnits {
		unit = int64(u)
	}
	got, err := r.call(ctx, feedbackScript(), f.Lane, r.keys.lane(f.Lane), kind, unit)
	if err != nil {
		return nil, false, err
	}
	n, err := numbers(got.rest)
	if err != nil || len(n) == 1 {
		return nil, len(n) == 1, err
	}
	for ; len(n) >= 5; n = n[5:] {
		cuts = append(cuts, cut{Unit(n[0]), Window(n[1]), n[2], n[3], n[4]})
	}
	if len(n) > 0 {
		err = fmt.Errorf("limiter: strange answer %v to feedback", got.rest)
	}
	return cuts, false, err
}
