package limiter

import "math"

// lua/slots.lua.

const (
	span   = 122 // slots until a slot has left its window
	ring   = 128
	slack  = 500 // ms by which a class may be before or behind its pace
	jump   = 5000
	lapsed = 3_600_000 // ms that a lapsed permit waits for a late settle
)

// width is a slot of a sliding window, in ms.
func (w Window) width() int64 {
	if w == TenMinutes {
		return 5000
	}
	return 500
}

func (w Window) sliding() bool { return w == Minute || w == TenMinutes }

func square(d dim, amount int64) float64 {
	x := math.Min(math.Floor(float64(amount)*float64(d.spread)/1000000), 10000000)
	return x * x
}

func (n *modelLane) subtract(d, i int, amount int64) {
	n.use[d][i] = max(0, n.use[d][i]-amount)
}

// step is how long an amount lasts at 1.1 times the even use of the class's
// room, in microseconds.
func (n *modelLane) step(c *modelClass, d int, amount int64) int64 {
	return int64(math.Min(61000000, math.Floor(float64(amount)*55454545/float64(n.room(c, d)))))
}

// leave hands the slots from..to of a class to take.
func (c *modelClass) leave(win Window, from, to int64, take func(slot []int64)) {
	for m := from; m <= to; m++ {
		if v := c.slots[win][m%ring]; v != nil {
			take(v)
		}
	}
}

// turn moves one class's sums of a sliding window from slot prev to slot now.
func (n *modelLane) turn(win Window, prev, now int64, c *modelClass) {
	open, any, used := make([]int64, len(n.plan.dims)), false, false
	mine := func(each func(d int)) {
		for d, p := range n.plan.dims {
			if p.window == win {
				each(d)
			}
		}
	}
	mine(func(d int) {
		open[d] = c.open[d]
		any = any || c.open[d] > 0
		used = used || n.use[d][c.index] > 0
	})
	if any {
		c.slots[win][prev%ring] = open
	}
	if used {
		to := min(prev, now-span)
		c.leave(win, prev-span+1, to, func(slot []int64) {
			mine(func(d int) { n.subtract(d, c.index, slot[d]) })
		})
		for m := prev - span + 1; m <= to; m++ {
			c.slots[win][m%ring] = nil
		}
	}
	mine(func(d int) { c.open[d] = 0 })
}

func decay(p, slots int64) int64 {
	for ; slots >= 240 && p > 0; slots -= 240 {
		p /= 2
	}
	for ; slots >= 16 && p > 0; slots -= 16 {
		p = int64(math.Floor(float64(p) * 3911 / 4096))
	}
	for ; slots >= 1 && p > 0; slots-- {
		p = int64(math.Floor(float64(p) * 4084 / 4096))
	}
	return p
}

// protect is what the classes below must leave to a class: its forecast between
// floor and guarantee.
func (d dim) protect(s share, peak int64) int64 {
	if d.window.counted() || s.guarantee <= s.floor {
		return s.floor
	}
	return max(s.floor, min(s.guarantee, d.forecast(peak)))
}

// forecast is what a class is expected to need: 1.5 times its peak, and 2 roots
// for requests. Days and months have none.
func (d dim) forecast(peak int64) int64 {
	if d.window.counted() {
		return 0
	}
	p := float64(peak) / 16
	f := 1.5 * p
	if d.unit == Requests {
		f += float64(2 * math.Sqrt(p))
	}
	return int64(math.Floor(f))
}

// reserves works out what each class must leave to the others, by the peaks of now
// and the floors that were learned, while they last. What is too large for good
// goes by the configured floors and limits. Shares of calls at once shrink with
// their ceiling (lower.lua), or nobody else would have any of it.
func (n *modelLane) reserves() {
	dims, classes := len(n.plan.dims), len(n.classes)
	for i, c := range n.classes {
		c.reserve, c.largest = make([]int64, dims*classes), make([]int64, dims)
		for d, p := range n.plan.dims {
			largest := n.configured(d)
			for j, s := range p.shares {
				v := s.trickle
				if j < i {
					v = p.protect(n.low(d, j, s), n.peaks[d][j])
					largest -= s.floor
				} else if j > i {
					largest -= v
				}
				c.reserve[d*classes+j] = n.shrunk(d, v)
			}
			if most := p.shares[i].cap + max(0, p.shares[i].soft); most > 0 {
				largest = min(largest, most)
			}
			c.largest[d] = largest
		}
	}
}

// period gives start and end of the day or month that t is in.
func period(b []int64, t int64) (start, end int64) {
	i := 0
	for i < 2 && t >= b[i+1] {
		i++
	}
	return b[i], b[i+1]
}

func (n *modelLane) calendar(t int64) {
	h := &n.header
	if t < h.dayEnd && t < h.monthEnd && t >= h.day && t >= h.month {
		return
	}
	day, month := h.day, h.month
	h.day, h.dayEnd = period(n.days[:4], t)
	h.month, h.monthEnd = period(n.days[4:], t)
	for d, p := range n.plan.dims {
		if (p.window == Day && h.day > day) || (p.window == Month && h.month > month) {
			clear(n.use[d])
		}
	}
}

// roll brings the sums to the slot of t.
func (n *modelLane) roll(t int64) {
	h := &n.header
	now, prev, now10, prev10 := t/500, h.slot, t/5000, h.slot10
	if now <= prev {
		return
	}
	for d := range n.plan.dims {
		for i, p := range n.peaks[d] {
			n.peaks[d][i] = decay(max(p, n.use[d][i]*16), now-prev)
		}
	}
	for _, c := range n.classes {
		n.turn(Minute, prev, now, c)
		if now10 > prev10 {
			n.turn(TenMinutes, prev10, now10, c)
		}
	}
	h.slot, h.slot10 = now, now10
	n.calendar(t)
	n.ease(t)
	n.reserves()
	if n.plan.node == "" {
		n.lapse(t)
	}
}

// lapse ends leases: a dead holder's permit gives back what it held, while its
// usage stays charged.
func (n *modelLane) lapse(t int64) {
	for _, m := range n.due('p', t, 500) {
		id := m[1:]
		p := n.permits[id]
		if p == nil {
			continue
		}
		if p.lapsed {
			delete(n.permits, id)
			delete(n.leases, m)
			continue
		}
		n.m.charged(n, p, func(c *modelClass, epoch int64) { c.n.give(c, p, epoch) })
		p.lapsed = true
		n.leases[m] = t + lapsed
	}
}

// since tells whether limit d was there when a permit was charged to the ledger: a
// limit that came later never counted it.
func (n *modelLane) since(d int, p *modelPermit, epoch int64) bool {
	x := n.came[d]
	if x == 0 {
		return true
	}
	if epoch == n.header.rebased {
		return x < 0 || p.granted >= x
	}
	return x < 0 && p.granted >= -x
}

// before tells whether what a permit was charged still counted when the clock was
// set back.
func (n *modelLane) before(win Window, p *modelPermit) bool {
	return p.granted/win.width() > n.was/win.width()-span
}

// give takes an ended permit out of what is held and out of the margin.
func (n *modelLane) give(c *modelClass, p *modelPermit, epoch int64) {
	for d, x := range n.plan.dims {
		amount := p.amounts[x.unit]
		if !n.since(d, p, epoch) {
			continue
		}
		if x.window == Held {
			n.subtract(d, c.index, amount)
		} else {
			n.squares[d] = math.Max(0, n.squares[d]-square(x, amount))
		}
	}
}

// rebase follows a clock that was set back: everything in the sliding windows
// counts as used now, and leases keep the time they had left.
func (n *modelLane) rebase(t int64) {
	h := &n.header
	back := t - h.last
	for _, c := range n.classes {
		c.slots = [2][ring][]int64{}
		for d, p := range n.plan.dims {
			if p.window.sliding() {
				c.open[d] = n.use[d][c.index]
			}
			c.pace[d] = 0
		}
	}
	for d := range n.came {
		n.came[d] = -max(0, n.came[d]) // twice is long ago
	}
	n.was, n.callers, n.wants = h.last, nil, nil
	for m := range n.leases {
		n.leases[m] += back
	}
	if h.cool > 0 {
		h.cool = max(0, h.cool+back)
	}
	h.last, h.slot, h.slot10, h.pulled, h.nextPull, h.rebased = t, t/500, t/5000, 0, 0, t
}
