package scheduler

import (
	"cmp"
	"fmt"
	"time"

	"nightshift/limiter/gemini"
)

// RampRules say how a ramp goes by what is seen of its calls. Zero fields have
// defaults.
type RampRules struct {
	Every  time.Duration     // between two looks; default 2 s
	Over   time.Duration     // what a look judges; default 60 s
	Bad    int               // looks in a row after which a ramp stands still as bad; default 2. A single one only stops its time
	Good   int               // looks in a row after which it goes on; default 15: half a minute
	Back   int               // bad looks in a row at one share after which it goes back a step; default 60: two minutes
	Limits gemini.RampLimits // of ramps that have none of their own
}

// DefaultRampLimits are a chat's: DefaultThresholds, half as slow again as what
// stays, one error in a hundred more than there, and no word about fewer than
// twenty calls or two refusals.
var DefaultRampLimits = gemini.RampLimits{
	Samples: DefaultThresholds.Samples, P95: DefaultThresholds.P95, FirstToken: DefaultThresholds.FirstToken, SlowerPPM: 1_500_000,
	RefusedPPM: 5_000, FailedPPM: 10_000, DegradedPPM: 10_000, Least: DefaultThresholds.Refusals,
}

func (w RampRules) orDefault() RampRules {
	w.Every = cmp.Or(w.Every, 2*time.Second)
	w.Over = cmp.Or(w.Over, time.Minute)
	w.Bad = cmp.Or(w.Bad, 2)
	w.Good = cmp.Or(w.Good, 15)
	w.Back = cmp.Or(w.Back, 60)
	w.Limits = RampLimitsOver(w.Limits, DefaultRampLimits)
	return w
}

// RampLimitsOver puts the limits that are set over others.
func RampLimitsOver(own, other gemini.RampLimits) gemini.RampLimits {
	return gemini.RampLimits{
		Samples: cmp.Or(own.Samples, other.Samples), P95: cmp.Or(own.P95, other.P95), FirstToken: cmp.Or(own.FirstToken, other.FirstToken),
		SlowerPPM: cmp.Or(own.SlowerPPM, other.SlowerPPM), RefusedPPM: cmp.Or(own.RefusedPPM, other.RefusedPPM),
		FailedPPM: cmp.Or(own.FailedPPM, other.FailedPPM), DegradedPPM: cmp.Or(own.DegradedPPM, other.DegradedPPM), Least: cmp.Or(own.Least, other.Least),
	}
}

// Check names the first rule that cannot be kept. at is where they stand in the
// configuration: "ramps".
func (w RampRules) Check(at string) error {
	w = w.orDefault()
	for _, f := range []struct {
		name string
		bad  bool
		want string
	}{
		{"every", w.Every < 500*time.Millisecond || w.Every > 10*time.Second, "want 500ms to 10s"},
		{"over", w.Over < 10*time.Second || w.Over > 10*time.Minute, "want 10s to 10m"},
		{"bad", w.Bad < 1, "must be above zero"},
		{"good", w.Good < 1, "must be above zero"},
		{"back", w.Back <= w.Bad, "must be more than bad: a ramp stands still before it goes back"},
	} {
		if f.bad {
			return &ConfigError{at + "." + f.name, f.want}
		}
	}
	return CheckRampLimits(at, w.Limits)
}

// CheckRampLimits names the first limit that cannot be; zero is one that is not set.
func CheckRampLimits(at string, l gemini.RampLimits) error {
	ratio := func(ppm int64) bool { return ppm < 0 || ppm >= million }
	for _, f := range []struct {
		name string
		bad  bool
		want string
	}{
		{"samples", l.Samples < 0, "must be above zero"},
		{"least", l.Least < 0, "must be above zero"},
		{"p95", l.P95 < 0, "must be above zero"},
		{"first_token", l.FirstToken < 0, "must be above zero"},
		{"slower", l.SlowerPPM < 0 || l.SlowerPPM > 0 && l.SlowerPPM <= million, "must be above 1: 1.5 is half as slow again"},
		{"refused", ratio(l.RefusedPPM), "want more than 0 and less than 100%"},
		{"failed", ratio(l.FailedPPM), "want more than 0 and less than 100%"},
		{"degraded", ratio(l.DegradedPPM), "want more than 0 and less than 100%"},
	} {
		if f.bad {
			return &ConfigError{at + "." + f.name, f.want}
		}
	}
	return nil
}

// rampVerdict is what a look makes of a ramp's calls.
type rampVerdict struct {
	why   string // the first limit that is crossed; "" is a good look
	worse bool   // the calls that stayed fare better
}

// slowerLeast is the least difference that makes a moved call slower: below it
// the steps of a histogram and of a network are all there is to see.
const slowerLeast = 100 * time.Millisecond

// judgeRamp compares what was moved with the limits and with what stayed. Where
// several are crossed, one that the calls that stayed do not cross is told.
func judgeRamp(l gemini.RampLimits, v gemini.RampView) (first rampVerdict) {
	m, s := v.Moved, v.Stayed
	for _, x := range []rampVerdict{
		judgePart(l, v, "are refused for quota or capacity", m.Refused, s.Refused, l.RefusedPPM, true),
		judgePart(l, v, "fail", m.Failed, s.Failed, l.FailedPPM, false),
		judgePart(l, v, "get another answer", m.Degraded, s.Degraded, l.DegradedPPM, false),
		judgeTime("p95", "calls", pace{m.N, m.P95}, pace{s.N, s.P95}, l.P95, l),
		judgeTime("p95 of the first token", "streams", pace{m.Streams, m.FirstToken}, pace{s.Streams, s.FirstToken}, l.FirstToken, l),
	} {
		switch {
		case x.worse:
			return x
		case first.why == "":
			first = x
		}
	}
	return first
}

// judgePart holds a part of the moved calls against a limit: by itself where whole
// is set, else in so far as it is more than that of the calls that stayed. Of few that
// stayed, several must have met the same to say anything.
func judgePart(l gemini.RampLimits, v gemini.RampView, what string, moved, stayed, limit int64, whole bool) rampVerdict {
	other, beside := int64(0), ""
	if v.Stayed.Calls >= l.Samples || stayed >= l.Least {
		other = ppmOf(stayed, v.Stayed.Calls)
		beside = fmt.Sprintf(", %d of %d that stay", stayed, v.Stayed.Calls)
	}
	part := ppmOf(moved, v.Moved.Calls)
	worse := part > other+limit
	if moved < l.Least || !worse && (!whole || part <= limit) {
		return rampVerdict{}
	}
	return rampVerdict{fmt.Sprintf("%d of %d moved calls %s%s", moved, v.Moved.Calls, what, beside), worse}
}

// pace is how fast so many calls were.
type pace struct {
	n   int64
	p95 time.Duration
}

// judgeTime holds the moved calls against a limit, and against those that stayed.
func judgeTime(what, of string, moved, stayed pace, limit time.Duration, l gemini.RampLimits) rampVerdict {
	if moved.n < l.Samples {
		return rampVerdict{}
	}
	compared := stayed.n >= l.Samples
	slower := compared && moved.p95-stayed.p95 >= slowerLeast &&
		int64(moved.p95/time.Microsecond) > int64(stayed.p95/time.Microsecond)*l.SlowerPPM/million
	switch {
	case slower:
		return rampVerdict{fmt.Sprintf("%s %s of %d moved %s, %s of those that stay", what, Millis(moved.p95), moved.n, of, Millis(stayed.p95)), true}
	case moved.p95 > limit:
		return rampVerdict{fmt.Sprintf("%s %s over %s (%d moved %s)", what, Millis(moved.p95), Millis(limit), moved.n, of), !compared}
	}
	return rampVerdict{}
}

func ppmOf(part, whole int64) int64 { return part * million / max(whole, 1) }
