package gemini

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// NewRampMeter counts what ramps decided, by ramp, side and model, in buckets of
// its own: whose calls these are, a Meter does not tell apart. Records of other
// calls are passed over. Close ends its flusher.
func NewRampMeter(rdb redis.UniversalClient, scope limiter.Scope, opts MeterOptions) *Meter {
	opts.ramps = true
	return NewMeter(rdb, scope, opts)
}

// ReadRampMeter gives what was counted of ramps, in buckets of 5 s that begin before
// to and end after from. A sample's Feature is the ramp's Seed, its Class the side.
func ReadRampMeter(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, from, to time.Time) ([]UsageSample, error) {
	return readMeter(ctx, rdb, meterKeysAt(rampMeterRoot(scope)), Step5s, from, to)
}

// ofRamp is the record as a meter of ramps counts it.
func (r Record) ofRamp() Record {
	r.Class, r.Feature = r.RampSide, r.rampSeed
	return r
}
