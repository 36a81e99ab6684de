package limiter

import "math"

// lua/line.lua: days and months that turn before a ticket's.

const dayMS = 86_400_000

// turns gives the first and the last turn of a ledger's days and months that the
// ticket at place pos of its leaf must wait for, 0 for none, and which part of what
// is booked before it has its turn afterwards. The leaf has the share ppm of what
// is left.
func (c *modelClass) turns(f *modelLeaf, pos int64, booked Amounts, share int64) (first, last int64, rest float64) {
	rest = 1
	for d, p := range c.n.plan.dims {
		ends := c.n.header.dayEnd
		if p.window == Month {
			ends = c.n.header.monthEnd
		}
		if p.window != Day && p.window != Month || booked[p.unit] == 0 || p.shadow {
			continue
		}
		need := float64(booked[p.unit]) * float64(pos) / float64(f.waiting) * 1000000 / float64(share)
		out := c.out()
		left := max(0, c.n.room(c, d)-c.n.use[d][c.index]-out[p.unit])
		if need <= float64(left) {
			continue
		}
		more := int64(0)
		if p.window == Day {
			more = int64(math.Floor((need - float64(left)) / float64(p.inside)))
		}
		if ends+more*dayMS > last {
			first, last, rest = ends, ends+more*dayMS, (need-float64(left))/need
		}
	}
	return first, last, rest
}

// turnsBefore is turns of the lane, or of a node on the leaf's way that waits longer.
func (m *Model) turnsBefore(c *modelClass, f *modelLeaf, pos int64) (first, last int64, rest float64) {
	first, last, rest = c.turns(f, pos, f.booked, f.share)
	for _, nc := range m.along(c, f) {
		if nc.line == nil {
			continue
		}
		if a, b, r := nc.turns(f, pos, nc.line.booked, 1000000); b > last {
			first, last, rest = a, b, r
		}
	}
	return first, last, rest
}

func partOf(ms int64, part float64) int64 { return int64(math.Floor(float64(ms) * part)) }
