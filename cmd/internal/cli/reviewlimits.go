package cli

import (
	"cmp"
	"slices"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// limitReview is how a minute's limit was used while bulk was at work. Used,
// Outside, Reserved and Rest are parts of the limit and sum up to one, less what a
// limit that does not bind leaves.
type limitReview struct {
	Model    string      `json:"model"`
	Limit    string      `json:"limit"`
	Amount   int64       `json:"amount"`
	AtWorkMS int64       `json:"at_work_ms"` // how long bulk was at work throughout
	Used     float64     `json:"used"`       // by all
	Outside  float64     `json:"outside"`    // left for calls that bypass the gate
	Reserved float64     `json:"reserved"`   // held for classes above bulk, and not used by them
	Rest     float64     `json:"rest"`       // free: pace, worker slots, throttles, or another limit
	Binds    bool        `json:"binds"`      // it is the fullest of its lane's limits
	Peak     float64     `json:"peak"`       // of the fullest minute, or of an hour where minutes are not kept
	PeakAt   time.Time   `json:"peak_at"`
	ByHour   [24]float64 `json:"by_hour"` // average use by hour of the day, local time, bulk at work or not
}

// stranded is what could have been used in minutes at the full limit.
func (l limitReview) stranded() time.Duration {
	return time.Duration(float64(l.AtWorkMS) * (l.Reserved + l.Outside + l.Rest) * float64(time.Millisecond))
}

// stretch is what one lane's classes used of a unit in one bucket of time.
type stretch struct {
	at    time.Time
	width time.Duration
	used  map[string]int64 // by class
	work  bool             // a class that may be paused had calls
}

func (s stretch) sum() (n int64) {
	for _, u := range s.used {
		n += u
	}
	return n
}

// share is the part of a minute's limit that an amount of the stretch is.
func (s stretch) share(n, limit int64) float64 {
	return float64(n) / (float64(limit) * s.width.Minutes())
}

func usedOf(u limiter.Unit, s gemini.UsageSample) int64 {
	switch u {
	case limiter.Requests:
		return s.Requests
	case limiter.InputTokens:
		return s.InputTokens
	case limiter.OutputTokens:
		return s.OutputTokens
	case limiter.TotalTokens:
		return s.TotalTokens
	}
	return 0
}

// stretches are a lane's buckets in order, those in which nothing was left out.
func (in reviewInput) stretches(l limiter.Lane, u limiter.Unit) []stretch {
	pausable := map[string]bool{}
	for _, c := range in.classes {
		pausable[c.Name] = c.Pausable
	}
	at := map[time.Time]*stretch{}
	add := func(all []gemini.UsageSample, width time.Duration) {
		for _, s := range all {
			if s.Model != l.Model || s.Region != cmp.Or(l.Region, "global") {
				continue
			}
			if at[s.At] == nil {
				at[s.At] = &stretch{at: s.At, width: width, used: map[string]int64{}}
			}
			at[s.At].used[s.Class] += usedOf(u, s)
			at[s.At].work = at[s.At].work || pausable[s.Class] && s.Sent > 0
		}
	}
	add(in.hours, time.Hour)
	add(in.minutes, time.Minute)
	out := make([]stretch, 0, len(at))
	for _, s := range at {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b stretch) int { return a.at.Compare(b.at) })
	return out
}

// atWork are the stretches in which bulk was at work from the beginning to the
// end: it was in the one before and in the one after too.
func atWork(all []stretch) []stretch {
	var out []stretch
	for i := 1; i+1 < len(all); i++ {
		a, b, c := all[i-1], all[i], all[i+1]
		if a.work && b.work && c.work && !a.at.Add(a.width).Before(b.at) && !b.at.Add(b.width).Before(c.at) {
			out = append(out, b)
		}
	}
	return out
}

func (in reviewInput) limitsOf(l limiter.LaneConfig) []limitReview {
	var out []limitReview
	fullest := -1
	for _, lim := range l.Limits.List() {
		if lim.Window != limiter.Minute || lim.Unit == limiter.Images {
			continue
		}
		out = append(out, in.limitOf(l, lim))
		if i := len(out) - 1; out[i].AtWorkMS > 0 && (fullest < 0 || out[i].Used > out[fullest].Used) {
			fullest = i
		}
	}
	if fullest >= 0 {
		out[fullest].Binds = true
	}
	return out
}

func (in reviewInput) limitOf(l limiter.LaneConfig, lim limiter.Limit) limitReview {
	r := limitReview{Model: l.Lane.Model, Limit: lim.Name(), Amount: lim.Amount, Outside: float64(l.OutsidePPM) / ppm}
	all := in.stretches(l.Lane, lim.Unit)
	r.peaks(all, lim.Amount)
	r.hours(all, lim.Amount, in.to.Sub(in.from))
	var whole time.Duration
	for _, s := range atWork(all) {
		part := s.width.Minutes()
		whole += s.width
		r.Used += s.share(s.sum(), lim.Amount) * part
		for _, c := range in.classes {
			if floor := float64(c.IdleFloorPPM(l.Lend)) / ppm; !c.Pausable {
				r.Reserved += max(0, floor-s.share(s.used[c.Name], lim.Amount)) * part
			}
		}
	}
	if r.AtWorkMS = whole.Milliseconds(); whole > 0 {
		r.Used, r.Reserved = r.Used/whole.Minutes(), r.Reserved/whole.Minutes()
		r.Outside = max(0, min(r.Outside, 1-r.Used))
		r.Reserved = max(0, min(r.Reserved, 1-r.Used-r.Outside))
		r.Rest = max(0, 1-r.Used-r.Outside-r.Reserved)
	}
	return r
}

func (r *limitReview) peaks(all []stretch, limit int64) {
	for _, s := range all {
		if p := s.share(s.sum(), limit); p > r.Peak {
			r.Peak, r.PeakAt = p, s.at
		}
	}
}

// hours averages the use by hour of the day over as many days as there are.
func (r *limitReview) hours(all []stretch, limit int64, span time.Duration) {
	days := max(1, span.Hours()/24)
	for _, s := range all {
		r.ByHour[s.at.Local().Hour()] += s.share(s.sum(), limit) * s.width.Hours() / days
	}
}
