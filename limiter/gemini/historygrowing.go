package gemini

import (
	"context"
	"time"
)

// steadyAfter is when a step is taken to have all that will be counted in it: meters
// write each second. What a meter could only write later, because Redis was away, comes
// into the history when the block becomes final.
const steadyAfter = 30 * time.Second

// growing is a block of ten-second steps that is not final. Each round reads only the
// steps that may have changed: with a thousand tenants, all of a block would be a second
// of work in ten.
type growing struct {
	detail
	steady int // steps before this one are not read again
}

// growingBlocks are those that a historian works on, by index: its own memory, which
// another one fills anew from the meter's buckets when it takes over.
type growingBlocks map[int64]*growing

// at gives a block, and forgets those that are long past.
func (g growingBlocks) at(index int64) *growing {
	if g[index] == nil {
		g[index] = &growing{detail: newDetail(tierFine.begin(index), tierFine.step, tierFine.steps())}
		for i := range g {
			if i < index-2 {
				delete(g, i)
			}
		}
	}
	return g[index]
}

// whole tells that nothing of the block will be read again before it is final.
func (g growingBlocks) whole(index int64) bool {
	b := g[index]
	return b != nil && b.steady == b.use.n
}

// grow reads the steps that began before a time and may have changed.
func (g *growing) grow(ctx context.Context, r detailReader, until, now time.Time) error {
	begin, step := g.use.begin, g.use.step
	to := int(until.Sub(begin) / step)
	fresh, err := r.fine(ctx, begin.Add(time.Duration(g.steady)*step), to-g.steady)
	if err != nil {
		return err
	}
	g.replace(fresh, g.steady)
	g.steady = min(max(g.steady, int(now.Add(-steadyAfter).Sub(begin)/step)), to)
	return nil
}

// replace puts what was read in the place of the steps from one on.
func (d detail) replace(fresh detail, from int) {
	d.use.replace(fresh.use, from)
	d.tenants.replace(fresh.tenants, from)
}

func (b *block) replace(fresh *block, from int) {
	for _, cols := range b.series {
		for _, ns := range cols {
			clear(ns[from:])
		}
	}
	for name, cols := range fresh.series {
		for field, ns := range cols {
			for i, n := range ns {
				b.add(name, from+i, field, n)
			}
		}
	}
}
