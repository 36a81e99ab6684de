package limiter

import (
	"fmt"
	"slices"
	"strings"
)

// know adds what only the configuration and the list of holds know.
func (v *laneView) know(c Config, pauses []Pause, throttles []Throttle) {
	for _, l := range c.Lanes {
		if l.Lane.String() == v.plan.lane.String() {
			v.lend = l.Lend
		}
	}
	v.plan.classes = slices.Clone(v.plan.classes)
	for i, x := range v.plan.classes {
		at := slices.IndexFunc(c.Classes, func(k Class) bool { return k.Name == x.Name })
		if at >= 0 {
			v.plan.classes[i] = c.Classes[at]
		}
	}
	v.throttles, v.pauses = throttles, []Pause{}
	for _, p := range pauses {
		if p.concerns(v.plan.lane) {
			v.pauses = append(v.pauses, p)
		}
	}
}

// explain fills in where a class's part of a limit comes from.
func (v laneView) explain(d, i int, c *ClassUse) {
	p, n := v.plan.dims[d], len(v.plan.classes)
	s, peak := p.shares[i], v.peaks[d*n+i]
	c.Floor, c.Forecast = v.low(d, i), p.forecast(peak)
	var why []string
	if i+1 < n {
		why = append(why, v.protection(d, i, *c, peak)...)
	}
	least := v.least(c.Class)
	if s.soft > 0 {
		why = append(why, "stops at "+roughly(s.soft, p.limit)+" of the cap")
	}
	if s.cap > 0 {
		c.Cap = s.cap
		why = append(why, "at most "+percent(v.plan.classes[i].CapPPM))
	}
	if least.Class != "" && p.window.sliding() {
		share := least.share(v.now)
		if slowed := part(p.inside, share); s.cap == 0 || slowed < s.cap {
			c.Cap = slowed
		}
		why = append(why, fmt.Sprintf("at most %s now: %s", Share(share), least.says()))
	}
	if s.cap > 0 || (least.Class != "" && p.window.sliding()) {
		c.Room = min(c.Room, max(0, c.Cap-c.Used))
	}
	c.Why = strings.Join(why, "; ")
}

// protection says which of the terms of Protected counts.
func (v laneView) protection(d, i int, c ClassUse, peak int64) []string {
	p := v.plan.dims[d]
	switch s := p.shares[i]; {
	case c.Protected == 0:
		return nil
	case c.Protected > c.Floor && c.Protected == s.guarantee:
		return []string{fmt.Sprintf("guarantee %s, the most that is kept", percent(v.plan.classes[i].GuaranteePPM))}
	case c.Protected > c.Floor:
		most := (peak + 8) / 16 // kept in sixteenths
		f := fmt.Sprintf("short forecast of its largest use of late: 1.5 x %d", most)
		if p.unit == Requests {
			f += fmt.Sprintf(" + 2 x sqrt(%d)", most)
		}
		return []string{f}
	}
	if f, ok := v.learnedFloor(d, i); ok {
		return []string{f}
	}
	return []string{v.floor(p, v.plan.classes[i])}
}

// floor says where a class's floor comes from.
func (v laneView) floor(d dim, c Class) string {
	ppm := c.IdleFloorPPM(v.lend)
	switch {
	case d.unit == OutputTokens && c.OutputFloorPPM > ppm:
		return "output floor " + percent(c.OutputFloorPPM)
	case ppm == c.FloorPPM:
		return "floor " + percent(ppm)
	case v.lend == "never":
		return "guarantee " + percent(ppm) + ", never lent"
	case v.lend == "now" || ppm == c.GuaranteePPM:
		return "floor " + percent(ppm) + " of lend " + lendName(v.lend)
	case c.Smooth && d.window != Day:
		return "floor " + percent(ppm) + ": it is smoothed, so its short forecast is in time"
	}
	return fmt.Sprintf("floor %s until a week of %s traffic is known", percent(ppm), c.Name)
}

func lendName(lend string) string {
	if lend == "" {
		return "auto"
	}
	return lend
}

// least is the throttle that leaves a class the least; the zero Throttle when none
// leaves it less than all.
func (v laneView) least(class string) (least Throttle) {
	share := int64(million)
	for _, t := range v.throttles {
		if p := t.share(v.now); t.Class == class && !ended(t.ends(), v.now) && p < share {
			least, share = t, p
		}
	}
	return least
}
