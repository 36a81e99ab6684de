package limiter

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// maxRamp bounds a ramp, so that a share on the way is exact in a Lua number.
const maxRamp = 30 * 24 * time.Hour

// Throttle leaves a class only a share of each minute's and ten minutes' limit
// (of what is inside: less Outside), until it is lifted or ends. The share is
// FromPPM before RampFrom, goes evenly to ToPPM at RampTo and stays there; ToPPM
// throughout when there is no ramp. Of several that hold the smallest counts.
type Throttle struct {
	Class    string    `json:"class"`
	Reason   string    `json:"reason"` // as a Pause's
	Owner    string    `json:"owner"`
	Detail   string    `json:"detail,omitempty"`
	Since    time.Time `json:"since"`           // zero: now
	Until    time.Time `json:"until,omitempty"` // zero: until lifted
	FromPPM  int64     `json:"from_ppm,omitempty"`
	ToPPM    int64     `json:"to_ppm"`
	RampFrom time.Time `json:"ramp_from,omitempty"`
	RampTo   time.Time `json:"ramp_to,omitempty"`
}

func (t Throttle) check() error {
	if err := checkName("throttle.class", t.Class); err != nil {
		return err
	}
	if err := checkName("throttle.reason", t.Reason); err != nil {
		return err
	}
	if t.ToPPM < 1 || t.ToPPM > million {
		return wrong("throttle.to_ppm", "%d; want 1 to 1000000 (what must not start at all is paused)", t.ToPPM)
	}
	if t.FromPPM < 0 || t.FromPPM > million {
		return wrong("throttle.from_ppm", "%d; want 0 to 1000000", t.FromPPM)
	}
	if t.RampFrom.IsZero() != t.RampTo.IsZero() {
		return wrong("throttle.ramp_to", "a ramp has a beginning and an end")
	}
	if d := t.RampTo.Sub(t.RampFrom); !t.RampTo.IsZero() && (d < time.Millisecond || d > maxRamp) {
		return wrong("throttle.ramp_to", "%s after ramp_from; want 1ms to %s", d, maxRamp)
	}
	return nil
}

func (t Throttle) field() string { return "t:" + t.Class }

func (t Throttle) ends() int64 { return endOf(t.Until) }

// says is what a refusal shows.
func (t Throttle) says() string { return "throttle " + says(t.Reason, t.Owner, t.Detail) }

// ramp gives the share's course in numbers: from, to, and begin and end in ms (0: none).
func (t Throttle) ramp() [4]int64 {
	r := [4]int64{t.FromPPM, t.ToPPM}
	if !t.RampTo.IsZero() {
		r[2], r[3] = t.RampFrom.UnixMilli(), t.RampTo.UnixMilli()
	}
	return r
}

// line is what the scripts read of it.
func (t Throttle) line() string {
	r := t.ramp()
	return fmt.Sprintf("%d|%d|%d|%d|%s", r[0], r[1], r[2], r[3], t.says())
}

// SharePPM is the share that the throttle leaves to its class at a moment, while
// it holds.
func (t Throttle) SharePPM(at time.Time) int64 { return t.share(at.UnixMilli()) }

func (t Throttle) share(now int64) int64 {
	r := t.ramp()
	switch {
	case now >= r[3]: // no ramp, too
		return r[1]
	case now < r[2]:
		return r[0]
	}
	return r[0] + int64(math.Floor(float64((now-r[2])*(r[1]-r[0]))/float64(r[3]-r[2])))
}

// eases is the first moment at which the throttle leaves a share of need ppm; 0
// when nobody knows.
func (t Throttle) eases(need int64) int64 {
	at, r := max(0, t.ends()), t.ramp()
	if r[3] == 0 || r[1] < need || r[1] <= r[0] {
		return at
	}
	up := r[2] + int64(math.Ceil(float64((need-r[0])*(r[3]-r[2]))/float64(r[1]-r[0])))
	if at > 0 {
		return min(at, up)
	}
	return up
}

// slowing leaves out what has ended, and sorts.
func slowing(ts []Throttle, now time.Time) []Throttle {
	ts = slices.DeleteFunc(ts, func(t Throttle) bool { return ended(t.ends(), now.UnixMilli()) })
	slices.SortFunc(ts, func(a, b Throttle) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Reason, b.Reason))
	})
	return ts
}
