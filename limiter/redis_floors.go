package limiter

import (
	"context"
	"time"
)

// SetFloors replaces what was learned about a lane: until then each class that is
// named has the given floor in the given limit, where its lane lends "auto".
// Classes, limits and lanes without such lending are passed over; requests that
// are too large for good stay those of the configured floors. No floors at all
// end what was learned. The error is a *ConfigError when a floor cannot be kept,
// ErrUnknownLane when the lane has no limits.
func (r *Redis) SetFloors(ctx context.Context, lane Lane, floors []Floor, until time.Time) error {
	if err := checkFloors(floors, until); err != nil {
		return err
	}
	text := ""
	if len(floors) > 0 {
		text = jsonOf(newLearned(floors, until))
	}
	ctx, cancel := r.timed(ctx)
	defer cancel()
	_, err := r.call(ctx, floorsScript(), lane, r.keys.lane(lane), text)
	return err
}
