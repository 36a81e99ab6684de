package cli

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"nightshift/limiter"
)

// reserveReview is how much of a limit a class with a guarantee came to use.
type reserveReview struct {
	Class     string    `json:"class"`
	Model     string    `json:"model,omitempty"` // where its peak was; "" when it had no call
	Limit     string    `json:"limit,omitempty"`
	Peak      float64   `json:"peak"` // part of the limit in its fullest minute, as far back as these are known
	PeakAt    time.Time `json:"peak_at"`
	Floor     float64   `json:"floor"` // the smallest of the lanes'
	Guarantee float64   `json:"guarantee"`
	Enough    float64   `json:"enough"`  // a guarantee that would have done
	Refused   int64     `json:"refused"` // for want of room, not by limits of the callers' own
}

// enoughFor is the guarantee that a peak asks for: a quarter more, in steps of
// five per cent, at least one step.
func enoughFor(peak float64) float64 {
	return max(0.05, math.Ceil(peak*1.25*20-1e-9)/20)
}

func (in reviewInput) reserveOf(i int) reserveReview {
	c := in.classes[i]
	r := reserveReview{Class: c.Name, Guarantee: float64(c.GuaranteePPM) / ppm, Floor: 1}
	for _, l := range in.lanes {
		r.Floor = min(r.Floor, float64(c.IdleFloorPPM(l.Lend))/ppm)
		for _, lim := range l.Limits.List() {
			if lim.Window != limiter.Minute {
				continue
			}
			if p, at := in.peakOf(l.Lane, lim, c.Name); p > r.Peak {
				r.Peak, r.PeakAt, r.Model, r.Limit = p, at, l.Lane.Model, lim.Name()
			}
		}
	}
	for _, s := range in.samples() {
		if s.Class == c.Name {
			r.Refused += s.ContestedHere()
		}
	}
	r.Enough = enoughFor(r.Peak)
	return r
}

// peakOf is the largest part of a minute's limit that a class took at once, and
// when: by minutes, by what a scheduler learned of older ones, else by hours.
func (in reviewInput) peakOf(lane limiter.Lane, l limiter.Limit, class string) (peak float64, at time.Time) {
	for _, s := range in.stretches(lane, l.Unit) {
		if p := s.share(s.used[class], l.Amount); p > peak {
			peak, at = p, s.at
		}
	}
	for _, h := range in.peaks {
		if p := float64(h.Peak[l.Unit]) / float64(l.Amount); p > peak && h.Class == class && h.Model == lane.Model && h.Region == cmp.Or(lane.Region, "global") {
			peak, at = p, h.At
		}
	}
	return peak, at
}

// sentence judges the guarantee.
func (r reserveReview) sentence(now time.Time) string {
	switch {
	case r.Model == "":
		return fmt.Sprintf("nobody called as %s: its guarantee of %s was never needed", r.Class, shareText(r.Guarantee))
	case r.Enough < r.Guarantee:
		return fmt.Sprintf("%s peaks at %s of %s (%s, %s): a guarantee of %s would have been enough, it is %s",
			r.Class, shareText(r.Peak), r.Limit, r.Model, clock(r.PeakAt, now), shareText(r.Enough), shareText(r.Guarantee))
	case r.Refused > 0 && r.Enough > r.Guarantee:
		return fmt.Sprintf("%s peaks at %s of %s (%s, %s) and was refused %d times: its guarantee is %s",
			r.Class, shareText(r.Peak), r.Limit, r.Model, clock(r.PeakAt, now), r.Refused, shareText(r.Guarantee))
	}
	return fmt.Sprintf("%s peaks at %s of %s (%s, %s): its guarantee of %s fits",
		r.Class, shareText(r.Peak), r.Limit, r.Model, clock(r.PeakAt, now), shareText(r.Guarantee))
}

// shareText is a part as one says it, without a tenth of a per cent that it does not have.
func shareText(part float64) string { return limiter.Share(int64(math.Round(part * ppm))) }
