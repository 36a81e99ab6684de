package scheduler

import (
	"time"

	"nightshift/limiter"
)

const (
	hourMS   = int64(time.Hour / time.Millisecond)
	weekSize = 7 * 24 // hours

	// riseLead is how long before a learned rise its need is kept free already.
	riseLead = 15 * time.Minute
)

// weekWeights are how much a week's use counts, in ppm, by how many weeks it is
// ago: each three quarters of the one after it. 36 days are a little over five.
var weekWeights = [...]int64{1_000_000, 750_000, 562_500, 421_875, 316_406, 237_305}

// hourIndex numbers the hours since 1970. They begin as those of UTC do, which
// everywhere is on the hour or at half or quarter past.
func hourIndex(t time.Time) int64 { return t.UnixMilli() / hourMS }

func hourStart(i int64) time.Time { return time.UnixMilli(i * hourMS) }

// profile is what a class needs of a lane by hour of the week: the largest of the
// weeks that are kept, older ones counting less. Hours of the week are those of
// the clock on the wall, since habits follow it: what the switch back from summer
// time repeats counts by the larger hour, and what the switch to it leaves out
// that week is known from other weeks, or taken to be as the hour before.
type profile struct {
	zone  *time.Location
	first int64 // hour of its first use; -1 when there was none
	last  int64 // hour that is known last
	slots [weekSize]hourUse
	seen  [weekSize]bool
}

// slot is the hour of the week, on the wall, in which an hour begins.
func (p *profile) slot(hour int64) int {
	t := hourStart(hour).In(p.zone)
	return int(t.Weekday())*24 + t.Hour()
}

// newProfile learns from the hours up to last; those that uses lacks were idle.
func newProfile(zone *time.Location, last int64, uses map[int64]hourUse) *profile {
	p := &profile{zone: zone, first: -1, last: last}
	for h := range uses {
		if p.first < 0 || h < p.first {
			p.first = h
		}
	}
	for h := p.first; p.first >= 0 && h <= last; h++ {
		week := min((last-h)/weekSize, int64(len(weekWeights)-1))
		s := p.slot(h)
		p.slots[s], p.seen[s] = p.slots[s].orLarger(uses[h], weekWeights[week]), true
	}
	return p
}

// orLarger takes what is larger in another hour, of which a part counts.
func (h hourUse) orLarger(o hourUse, weight int64) hourUse {
	for u := range h.sum {
		h.sum[u] = max(h.sum[u], weighted(o.sum[u], weight))
		h.peak[u] = max(h.peak[u], weighted(o.peak[u], weight))
	}
	h.ten = max(h.ten, weighted(o.ten, weight))
	return h
}

// weighted is ppm of an amount, rounded up: what was used is never nothing.
func weighted(n, ppm int64) int64 {
	return n/million*ppm + (n%million*ppm+million-1)/million
}

// known tells whether a whole week has been seen since the first use.
func (p *profile) known() bool { return p.first >= 0 && p.last-p.first+1 >= weekSize }

// at gives what is learned of the hour that t is in.
func (p *profile) at(t time.Time) hourUse {
	s := p.slot(hourIndex(t))
	for i := range weekSize {
		if at := (s - i + weekSize) % weekSize; p.seen[at] {
			return p.slots[at]
		}
	}
	return hourUse{}
}

// most is the largest use of a sliding window in that hour; false where the
// meter does not count what the limit does.
func (h hourUse) most(u limiter.Unit, w limiter.Window) (int64, bool) {
	switch w {
	case limiter.TenMinutes:
		return h.ten, u == limiter.MicroUSD
	case limiter.Minute:
		return h.peak[u], u <= limiter.TotalTokens || u == limiter.MicroUSD
	}
	return 0, false
}

// rest is what is learned to be used from now until then.
func (p *profile) rest(u limiter.Unit, from, until time.Time) int64 {
	var sum float64
	for t := from; t.Before(until); {
		next := hourStart(hourIndex(t) + 1)
		if next.After(until) {
			next = until
		}
		sum += float64(p.at(t).sum[u]) * next.Sub(t).Hours()
		t = next
	}
	return int64(sum)
}
