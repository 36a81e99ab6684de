package scheduler

import (
	"fmt"
	"strings"
	"time"

	"nightshift/limiter"
)

// need is 1.5 times what is learned: as the short forecast has it.
func need(n int64) int64 { return (n*3 + 1) / 2 }

// floorFor works out what the classes below should leave to a class of a limit
// now; false when nothing is learned that would say so.
func (p *profile) floorFor(c limiter.Class, l limiter.LimitState, now time.Time) (limiter.Floor, bool) {
	f := limiter.Floor{Class: c.Name, Unit: l.Unit, Window: l.Window}
	ok := false
	switch {
	case l.Window == limiter.Day:
		f.Amount, f.Why, ok = p.dayFloor(c, l, now)
	case c.Smooth:
		return f, false // it never comes as a burst: its short forecast is in time
	case l.Window == limiter.Held:
		f.Amount, f.Why, ok = p.heldFloor(c, l, now)
	default:
		f.Amount, f.Why, ok = p.windowFloor(c, l, now)
	}
	return f, ok
}

// windowFloor is for what is counted in a minute or ten: the need of this hour,
// or of the next when that is larger and begins soon.
func (p *profile) windowFloor(c limiter.Class, l limiter.LimitState, now time.Time) (int64, string, bool) {
	here, ok := p.at(now).most(l.Unit, l.Window)
	next, _ := p.at(now.Add(riseLead)).most(l.Unit, l.Window)
	at, since := hourStart(hourIndex(now)), ""
	if next > here {
		here, at = next, hourStart(hourIndex(now.Add(riseLead)))
		since = ", from " + at.Add(-riseLead).In(p.zone).Format("15:04")
	}
	amount := need(here)
	hour := p.hour(at)
	if amount <= portion(l.Amount, c.IdleFloorPPM("now")) {
		return amount, hour + " was always quiet", ok
	}
	why := fmt.Sprintf("%s learned need %s%s", hour, quantity(amount, l), since)
	if amount > portion(l.Amount, c.GuaranteePPM) {
		why += ", no more than its guarantee"
	}
	return amount, why, ok
}

// heldFloor is for calls in flight, which the meter does not count: they are no
// more than what comes in a minute, as long as calls end within one. It is never
// more than what is kept without knowing anything.
func (p *profile) heldFloor(c limiter.Class, l limiter.LimitState, now time.Time) (int64, string, bool) {
	come := max(p.at(now).peak[limiter.Requests], p.at(now.Add(riseLead)).peak[limiter.Requests])
	amount, idle := need(come), portion(l.Amount, c.IdleFloorPPM("auto"))
	if amount >= idle {
		return 0, "", false
	}
	return amount, fmt.Sprintf("%s learned need %d rpm: no more are in flight", p.hour(now), need(come)), true
}

// dayMargin is by how much a learned day is taken to be larger: who runs out of
// a day's quota waits until the next.
const dayMargin = 1.25

// dayFloor is for what is counted in a day: what is used of it already, and what
// will be needed until the reset.
func (p *profile) dayFloor(c limiter.Class, l limiter.LimitState, now time.Time) (int64, string, bool) {
	if l.NextFree.IsZero() || l.Unit == limiter.Images {
		return 0, "", false
	}
	rest := int64(dayMargin * float64(p.rest(l.Unit, now, l.NextFree)))
	used := int64(0)
	for _, x := range l.Classes {
		if x.Class == c.Name {
			used = x.Used
		}
	}
	why := fmt.Sprintf("%s used of the day, learned need %s until %s", amountOf(used, l.Unit), amountOf(rest, l.Unit), limiter.Instant(l.NextFree))
	return used + rest, why, true
}

// portion is ppm of an amount, rounded down.
func portion(n, ppm int64) int64 { return n/million*ppm + n%million*ppm/million }

// hour is an hour of the week that is learned, which is that of the profile's zone
// wherever it is read.
func (p *profile) hour(t time.Time) string {
	return hourStart(hourIndex(t)).In(p.zone).Format("Mon 15:04 MST")
}

// quantity is an amount of a limit, as people say it.
func quantity(n int64, l limiter.LimitState) string {
	if l.Unit == limiter.MicroUSD {
		return amountOf(n, l.Unit) + " in " + l.Window.String()
	}
	return fmt.Sprintf("%d %s", n, l.Name)
}

func amountOf(n int64, u limiter.Unit) string {
	if u == limiter.MicroUSD {
		return limiter.Dollars(n)
	}
	return fmt.Sprintf("%d %s", n, strings.ReplaceAll(u.String(), "_", " "))
}
