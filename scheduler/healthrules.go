package scheduler

import (
	"cmp"
	"time"
)

// Thresholds say when callers suffer. Each must be set, or all be zero, which
// means DefaultThresholds.
type Thresholds struct {
	P95          time.Duration // of calls that are not streamed
	FirstToken   time.Duration // 95th percentile of streams' time to first token
	Samples      int64         // fewer say nothing of latency
	RefusedRatio float64       // provider 429s and local refusals, of all calls
	Refusals     int64         // fewer say nothing of the ratio
}

// DefaultThresholds are those of a chat: an answer in 3.5 s, a stream's first
// word in the same time, one refusal in two hundred.
var DefaultThresholds = Thresholds{
	P95: 3500 * time.Millisecond, FirstToken: 3500 * time.Millisecond, Samples: 20, RefusedRatio: 0.005, Refusals: 2,
}

func (t Thresholds) orDefault() Thresholds { return cmp.Or(t, DefaultThresholds) }

// Check names the first threshold that is not above zero. at is where they stand
// in the configuration: "health".
func (t Thresholds) Check(at string) error {
	t = t.orDefault()
	for _, f := range []struct {
		name string
		bad  bool
	}{
		{"p95", t.P95 <= 0},
		{"first_token", t.FirstToken <= 0},
		{"samples", t.Samples <= 0},
		{"refused_ratio", t.RefusedRatio <= 0 || t.RefusedRatio >= 1},
		{"refusals", t.Refusals <= 0},
	} {
		if f.bad {
			return &ConfigError{at + "." + f.name, "must be above zero (a ratio also below one): a threshold of zero would pause for ever"}
		}
	}
	return nil
}

// Rules say how fast the monitor acts on what it sees. Absent values have
// defaults.
type Rules struct {
	// Every is the time between two looks; default 1.5 s. With Bad = 2, what can
	// be paused is closed 4.5 to 6 s after a threshold is crossed, and what is
	// counted comes up to a second late: nothing may start after 10 s.
	Every time.Duration
	// Over is the stretch of time that a look judges; default 60 s.
	Over time.Duration
	// Bad looks in a row lead to the next step: yield, then pause. Default 2.
	Bad int
	// Good looks in a row lead to the ramp. Default 20: half a minute.
	Good int
	// GiveUp is how long a pause may not help before it ends: default 10 min.
	GiveUp time.Duration
	// Ramp is how long a resume takes from RampPPM of each limit to all of it;
	// defaults 2 min and 100,000 (a tenth).
	Ramp    time.Duration
	RampPPM int64
	// TricklePPM is what may be used once pausing has not helped; default 20,000 (2 %).
	TricklePPM int64
}

func (r Rules) orDefault() Rules {
	r.Every = cmp.Or(r.Every, 1500*time.Millisecond)
	r.Over = cmp.Or(r.Over, time.Minute)
	r.Bad = cmp.Or(r.Bad, 2)
	r.Good = cmp.Or(r.Good, 20)
	r.GiveUp = cmp.Or(r.GiveUp, 10*time.Minute)
	r.Ramp = cmp.Or(r.Ramp, 2*time.Minute)
	r.RampPPM = cmp.Or(r.RampPPM, 100_000)
	r.TricklePPM = cmp.Or(r.TricklePPM, 20_000)
	return r
}

// Check names the first rule that cannot be kept.
func (r Rules) Check(at string) error {
	r = r.orDefault()
	for _, f := range []struct {
		name string
		bad  bool
		want string
	}{
		{"every", r.Every < 500*time.Millisecond || r.Every > PauseLease/3, "want 500ms to 10s: a pause is renewed at each look"},
		{"over", r.Over < 10*time.Second || r.Over > 10*time.Minute, "want 10s to 10m"},
		{"bad", r.Bad < 1, "must be above zero"},
		{"good", r.Good < 1, "must be above zero"},
		{"give_up", r.GiveUp <= r.Over, "must be longer than what a look judges, or a pause cannot help"},
		{"ramp", r.Ramp < 0, "must not be negative"},
		{"ramp_from", r.RampPPM < 1 || r.RampPPM > million, "want more than 0 up to 1"},
		{"trickle", r.TricklePPM < 1 || r.TricklePPM > million, "want more than 0 up to 1"},
	} {
		if f.bad {
			return &ConfigError{at + "." + f.name, f.want}
		}
	}
	return nil
}

// million is the whole of a share.
const million = 1_000_000
