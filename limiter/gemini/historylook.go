package gemini

import (
	"context"
	"maps"
	"time"

	"nightshift/limiter"
)

// LookEvery is how often limits and loans are looked at: between looks a Level's points
// are zero. Each look is a script of Redis for each lane.
const LookEvery = 30 * time.Second

// levelLog has what was seen of limits in the blocks that still grow. It is the
// historian's own.
type levelLog struct {
	blocks map[int64]*block
	lent   map[string]int64 // by series, at the last look
}

// at gives a block of the log: a new one where this process has none.
func (l *levelLog) at(index int64) *block {
	if l.blocks == nil {
		l.blocks, l.lent = map[int64]*block{}, map[string]int64{}
	}
	if l.blocks[index] == nil {
		l.blocks[index] = newBlock(tierFine.begin(index), tierFine.step, tierFine.steps())
		maps.DeleteFunc(l.blocks, func(i int64, _ *block) bool { return i < index-2 })
	}
	return l.blocks[index]
}

// block is what is written: what this process has seen, and what is written already of
// what another one has.
func (l *levelLog) block(ctx context.Context, h *History, index int64) (*block, error) {
	out := newBlock(tierFine.begin(index), tierFine.step, tierFine.steps())
	own := l.at(index)
	for series, cols := range own.series {
		out.merge(series, cols)
	}
	r := historyReader{History: h}
	err := r.some(ctx, tierFine, viewLevels, index, index, out.begin, func(p packedBlock, _ time.Time) error {
		return p.each(func(string) bool { return true }, func(series string, field, step int, n int64) {
			if cols := own.series[series]; cols == nil || cols[levelSeen] == nil || cols[levelSeen][step] == 0 {
				out.add(series, step, field, n)
			}
		})
	})
	return out, err
}

// look notes limits and loans of all lanes, if it is time.
func (h *Historian) look(ctx context.Context, now time.Time) error {
	if h.opts.Lanes == nil || now.Sub(h.looked) < LookEvery {
		return nil
	}
	h.looked = now
	lanes, err := h.opts.Lanes.Lanes(ctx)
	if err != nil {
		return err
	}
	b := h.levels.at(tierFine.index(now))
	look := levelLook{log: &h.levels, block: b, step: int(now.Sub(b.begin) / b.step), counted: map[string]bool{}}
	var some []limiter.Lane
	for _, lc := range lanes[:min(len(lanes), mostLanes)] {
		some = append(some, lc.Lane)
	}
	states, err := h.opts.Lanes.States(ctx, some)
	if err != nil {
		return err
	}
	for _, s := range states {
		look.note(s)
	}
	return nil
}

// levelLook is one look at all lanes. What it sees of each is also added up to series
// without a lane, so that a reader of all need not.
type levelLook struct {
	log     *levelLog
	block   *block
	step    int
	counted map[string]bool // limits that the look is counted with already
}

// note keeps what was seen of a lane.
func (l levelLook) note(s limiter.LaneState) {
	lane := laneKey(s.Lane.String())
	for _, limit := range s.Limits {
		if limit.Amount <= 0 || limit.Amount > limiter.Unlimited/2 {
			continue
		}
		l.add(lane, "", limit.Name, levels{levelLimit: limit.Amount, levelEffective: limit.Effective, levelUsed: limit.Used})
		for i := range limit.Classes {
			l.class(lane, limit, i)
		}
	}
}

// class notes a class's part of a limit, if it has any.
func (l levelLook) class(lane string, limit limiter.LimitState, i int) {
	c := limit.Classes[i]
	name := seriesName(lane, c.Class, limit.Name)
	back := max(0, l.log.lent[name]-c.Lent)
	l.log.lent[name] = c.Lent
	if borrowed := borrowedBy(limit, i); c.Used+c.Lent+borrowed+back > 0 {
		l.add(lane, c.Class, limit.Name, levels{levelUsed: c.Used, levelLent: c.Lent, levelBorrowed: borrowed, levelRevoked: back})
	}
}

// levels are numbers by field.
type levels map[int]int64

func (l levelLook) add(lane, class, limit string, ns levels) {
	own, all := seriesName(lane, class, limit), seriesName("", class, limit)
	for field, n := range ns {
		l.block.add(own, l.step, field, n)
		l.block.add(all, l.step, field, n)
	}
	l.block.add(own, l.step, levelSeen, 1)
	if !l.counted[all] {
		l.counted[all] = true
		l.block.add(all, l.step, levelSeen, 1)
	}
}

// borrowedBy is what a class uses beyond what would be left to it if the classes above
// lent nothing of their guarantees.
func borrowedBy(limit limiter.LimitState, i int) int64 {
	left, above := limit.Effective, int64(0)
	for j, c := range limit.Classes {
		switch {
		case j < i:
			left -= max(c.Used, c.Protected+c.Lent)
			above += c.Lent + c.Protected
		case j > i:
			left -= c.Used
		}
	}
	return min(above, max(0, limit.Classes[i].Used-max(0, left)))
}
