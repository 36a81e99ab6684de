package limiter

import (
	"context"
	"slices"
)

// lua/lower.lua and feedback.lua.

// place finds a limit; -1 when there is none.
func (n *modelLane) place(u Unit, w Window) int {
	return slices.IndexFunc(n.plan.dims, func(d dim) bool { return d.unit == u && d.window == w })
}

func (n *modelLane) everybody(d int) (used int64) {
	for _, u := range n.use[d] {
		used += u
	}
	return used
}

// ease lets limits come back. A limit that was changed is not lowered any more.
func (n *modelLane) ease(t int64) {
	n.inside = nil
	var kept []lowered
	for _, x := range n.lowered {
		d := n.place(x.unit, x.window)
		if d < 0 || n.plan.dims[d].limit != x.limit {
			continue
		}
		if x.at > t {
			x.at, x.cut = t, t
		}
		if x.window == Held && t-x.at >= ceilingEvery && n.everybody(d)*10 >= x.value*6 {
			x.value, x.at = x.value+1, t
		}
		if n.inside == nil {
			n.inside = make([]int64, len(n.plan.dims))
		}
		n.inside[d] = x.inside
		left, ok := x.left(t)
		if !ok {
			left = x.inside
		} else {
			kept = append(kept, x)
		}
		n.plan.dims[d].inside = left
	}
	n.lowered = kept
}

// configured is a limit less outside, before feedback took something off.
func (n *modelLane) configured(d int) int64 {
	if n.inside != nil && n.inside[d] > 0 {
		return n.inside[d]
	}
	return n.plan.dims[d].inside
}

// shrunk is a share of calls at once under their ceiling.
func (n *modelLane) shrunk(d int, v int64) int64 {
	if p := n.plan.dims[d]; p.window == Held && n.inside != nil && n.inside[d] > 0 {
		return v * p.inside / n.inside[d]
	}
	return v
}

// entry gives the place of dim d in low, and whether it is there by now only.
func (n *modelLane) entry(d int, t int64) (x *lowered, first bool) {
	p := n.plan.dims[d]
	for i := range n.lowered {
		if n.lowered[i].unit == p.unit && n.lowered[i].window == p.window {
			return &n.lowered[i], false
		}
	}
	n.lowered = append(n.lowered, lowered{unit: p.unit, window: p.window, limit: p.limit, inside: p.inside, at: t})
	return &n.lowered[len(n.lowered)-1], true
}

func (n *modelLane) minute(d int, t int64) []cut {
	x, _ := n.entry(d, t)
	if x.cut > 0 && t-x.cut < lowerEvery && t >= x.cut {
		return nil
	}
	off := x.off(t)
	before := x.inside - part(x.inside, off)
	x.value = min(lowerMostPPM, off+lowerByPPM)
	x.at, x.cut = t, t
	if x.value-off < lowerByPPM/2 {
		return nil
	}
	left, _ := x.left(t)
	return []cut{{x.unit, x.window, before, left, x.inside}}
}

// many tells whether enough calls of this second failed for want of capacity.
func (n *modelLane) many(inFlight, t int64) bool {
	if second := t / 1000; n.short[0] == second {
		n.short[1]++
	} else {
		n.short = [2]int64{second, 1}
	}
	return n.short[1] > inFlight/20
}

// fewCalls at once are left in any case: so few say nothing of the provider's room.
const fewCalls = 4

func (n *modelLane) capacity(d int, t int64) []cut {
	inFlight := n.everybody(d) + 1
	if n.plan.dims[d].limit == unboundCalls { // it may have come when most of them were under way
		inFlight = max(inFlight, int64(len(n.permits)))
	}
	if !n.many(inFlight, t) {
		return nil
	}
	peak := int64(0)
	for _, p := range n.peaks[d] {
		peak += p / 16
	}
	x, first := n.entry(d, t)
	if !first && t-x.cut < ceilingEvery && t >= x.cut {
		return nil
	}
	before := n.plan.dims[d].inside
	x.value = min(before, max(fewCalls, min(before, max(inFlight, peak))*7/10))
	x.at, x.cut = t, t
	if !first {
		return nil
	}
	return []cut{{x.unit, x.window, before, x.value, x.inside}}
}

// Report is Redis.Report on the Model's clock.
func (m *Model) Report(ctx context.Context, f Feedback) error {
	return report(ctx, m, f)
}

func (m *Model) effective(context.Context) (Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.config, nil
}

func (m *Model) lower(_ context.Context, f Feedback) ([]cut, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, t, err := m.enter(f.Lane)
	if err != nil {
		return nil, false, err
	}
	var out []cut
	if f.Kind == Capacity {
		d := n.place(Concurrency, Held)
		if d >= 0 {
			out = n.capacity(d, t)
		}
		n.ease(t)
		return out, d < 0, nil
	}
	one := n.place(f.unit(), Minute)
	for d, p := range n.plan.dims {
		if d == one || one < 0 && p.window == Minute {
			out = append(out, n.minute(d, t)...)
		}
	}
	n.ease(t)
	return out, false, nil
}
