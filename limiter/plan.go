package limiter

import (
	"encoding/json"
	"fmt"
	"slices"
)

const million = 1_000_000

// How far an estimate is usually off, in ppm of itself: what the margin for
// unsettled permits is made of until it is learned. Requests and images are known.
var spreadPPM = [NumUnits]int64{InputTokens: 100_000, OutputTokens: 300_000, TotalTokens: 200_000, MicroUSD: 300_000}

// dim is one limit of a lane, as both the scripts and the Model compute with it.
type dim struct {
	unit   Unit
	window Window
	limit  int64
	inside int64 // limit less outside
	spread int64 // ppm
	shadow bool  // decides and reports, refuses nothing
	shares []share
}

// share is a class's part of a dim, in amounts; cap 0 is none.
type share struct {
	floor, guarantee, trickle, cap int64

	soft  int64 // of a soft limit: what all may use for this class to go on; negated where that is only told
	least int64 // a learned floor is at least this; -1: what is learned does not count
}

// plan is a lane's or a node's part of a Config, worked out.
type plan struct {
	lane    Lane
	node    string // "" of a lane
	dims    []dim
	classes []Class
}

// newPlan works one out; soft is the part of a cap for pausable classes, in ppm.
func newPlan(l LaneConfig, shadow []string, classes []Class, soft int64) plan {
	p := plan{lane: l.Lane, classes: classes}
	for _, lim := range l.Limits.List() {
		d := dim{unit: lim.Unit, window: lim.Window, limit: lim.Amount, inside: lim.Amount, shadow: slices.Contains(shadow, lim.Name())}
		if lim.Window != Held && !lim.isCap() {
			d.inside -= part(lim.Amount, l.OutsidePPM)
		}
		if lim.Window == Minute || lim.Window == TenMinutes {
			d.spread = spreadPPM[lim.Unit]
		}
		for _, c := range classes {
			s := c.share(l.Lend, lim)
			s.soften(c, lim, soft)
			d.shares = append(d.shares, s)
		}
		p.dims = append(p.dims, d)
	}
	return p
}

// part is ppm of an amount, rounded down. Both factors stay below 2^53 when
// multiplied in float64 only up to 9e9, so the amount is split.
func part(amount, ppm int64) int64 {
	return amount/million*ppm + amount%million*ppm/million
}

// Floors of a class that has a guarantee, by how its lane lends: auto knows no
// week of traffic yet, now trusts the short forecast alone. A smoothed class has
// the smaller one in any case: it never comes as a burst, so its forecast is in
// time, and what is held for callers who may not exist is lost to the night.
const (
	autoFloorPPM = 100_000
	nowFloorPPM  = 20_000
)

// IdleFloorPPM is what the classes below leave to this one while it is idle, by
// how the lane lends: the larger of its own floor and what its guarantee asks.
func (c Class) IdleFloorPPM(lend string) int64 {
	switch lend {
	case "never":
		return max(c.FloorPPM, c.GuaranteePPM)
	case "now":
		return max(c.FloorPPM, min(nowFloorPPM, c.GuaranteePPM))
	}
	if c.Smooth {
		return max(c.FloorPPM, min(nowFloorPPM, c.GuaranteePPM))
	}
	return max(c.FloorPPM, min(autoFloorPPM, c.GuaranteePPM))
}

// share works out what a class may count on in a limit.
func (c Class) share(lend string, l Limit) share {
	floor := c.IdleFloorPPM(lend)
	if l.Unit == OutputTokens {
		floor = max(floor, c.OutputFloorPPM)
	}
	s := share{floor: part(l.Amount, floor), guarantee: part(l.Amount, c.GuaranteePPM), trickle: part(l.Amount, c.TricklePPM)}
	s.least = c.least(lend, l, s.guarantee)
	if c.CapPPM > 0 && l.Window.sliding() {
		s.cap = max(1, part(l.Amount, c.CapPPM)) // a cap slows, it never shuts out
	}
	return s
}

// least is the smallest floor that may be learned, -1 where none may: a lane that
// lends otherwise, or a class whose guarantee is no more than that.
func (c Class) least(lend string, l Limit, guarantee int64) int64 {
	ppm := c.IdleFloorPPM("now")
	if l.Unit == OutputTokens {
		ppm = max(ppm, c.OutputFloorPPM)
	}
	least := part(l.Amount, ppm)
	if lendName(lend) != "auto" || guarantee <= least {
		return -1
	}
	return least
}

func (c Class) flags() int64 {
	var f int64
	if c.Smooth {
		f |= 1
	}
	if c.Tickets {
		f |= 2
	}
	if c.CapPPM > 0 {
		f |= 4
	}
	return f
}

// inShadow tells whether a limit of the plan refuses nothing.
func (p plan) inShadow() bool {
	return slices.ContainsFunc(p.dims, func(d dim) bool { return d.shadow })
}

// fields are cfg, cfg2 and names of lua/base.lua.
func (p plan) fields() (cfg, cfg2, names string) {
	head := []int64{int64(len(p.classes)), int64(len(p.dims))}
	var shares []int64
	for _, d := range p.dims {
		head = append(head, int64(d.unit), int64(d.window), d.limit, d.inside, d.spread, bit(d.shadow))
		for _, s := range d.shares {
			shares = append(shares, s.floor, s.guarantee, s.trickle, s.cap+s.soft) // one of them is 0
		}
	}
	var list []string
	for _, c := range p.classes {
		head, list = append(head, c.flags()|bit(p.inShadow())<<3|bit(p.soft())<<4), append(list, c.Name)
	}
	return jsonOf(head), jsonOf(shares), jsonOf(list)
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("limiter: %v", err)) // only numbers, strings and our own types get here
	}
	return string(b)
}

// leasts is least of lua/base.lua.
func (p plan) leasts() string {
	out := []int64{}
	for _, d := range p.dims {
		for _, s := range d.shares {
			out = append(out, s.least)
		}
	}
	return jsonOf(out)
}
