package gemini

import (
	"context"
	"time"
)

// coarse writes the hours in steps of five minutes that have become final.
func (h *Historian) coarse(ctx context.Context, now time.Time) error {
	return h.eachFinal(ctx, tierCoarse, now, func(index int64) error {
		begin := tierCoarse.begin(index)
		d := newDetail(begin, tierCoarse.step, tierCoarse.steps())
		samples, err := readMeter(ctx, h.rdb, h.raw.keys, StepMinute, begin, begin.Add(tierCoarse.block))
		if err != nil {
			return err
		}
		d.take(samples)
		if err := h.join(ctx, viewTenants, d.tenants); err != nil {
			return err
		}
		views := d.views()
		levels := newBlock(begin, tierCoarse.step, tierCoarse.steps())
		if err := h.join(ctx, viewLevels, levels); err != nil {
			return err
		}
		views[viewLevels], views[viewLimits] = levels, levels.ofAll()
		for _, b := range views {
			b.until = begin.Add(tierCoarse.block)
		}
		return h.put(ctx, tierCoarse, index, true, views)
	})
}

// join adds up the fine blocks of a coarse one.
func (h *Historian) join(ctx context.Context, v historyView, into *block) error {
	r := historyReader{History: h.History}
	first := tierFine.index(into.begin)
	last := first + int64(tierCoarse.block/tierFine.block) - 1
	return r.some(ctx, tierFine, v, first, last, into.begin, func(p packedBlock, _ time.Time) error {
		return p.each(func(string) bool { return true }, func(series string, field, step int, n int64) {
			into.add(series, int(p.begin.Add(time.Duration(step)*p.step).Sub(into.begin)/into.step), field, n)
		})
	})
}

// mostAtOnce bounds what one step catches up with.
const mostAtOnce = 4

// eachFinal calls for the blocks of a tier that have become final since the last one.
// Where nobody has written any, it begins with those of which the meter still has all.
func (h *Historian) eachFinal(ctx context.Context, t historyTier, now time.Time, write func(index int64) error) error {
	done, err := h.done(ctx, t)
	if err != nil {
		return err
	}
	oldest := t.index(now.Add(-steps[StepMinute].kept)) + 1
	if t == tierHour {
		oldest = t.index(now.Add(-steps[StepHour].kept)) + 1
	}
	index := max(done+1, oldest)
	for range mostAtOnce {
		if !t.final(index, now) {
			return nil
		}
		if err := write(index); err != nil {
			return err
		}
		index++
	}
	return nil
}

// packMinutes packs the meter's own minutes.
func (h *Historian) packMinutes(ctx context.Context, now time.Time) error {
	return h.packStep(ctx, tierMinute, StepMinute, now, viewUsers)
}

// packHours packs the meter's own hours.
func (h *Historian) packHours(ctx context.Context, now time.Time) error {
	return h.packStep(ctx, tierHour, StepHour, now)
}

// packStep puts blocks in the place of buckets. What is counted later makes a bucket
// anew, which a reader adds.
// A block is made for each of the views besides.
func (h *Historian) packStep(ctx context.Context, t historyTier, step Step, now time.Time, besides ...historyView) error {
	return h.eachFinal(ctx, t, now, func(index int64) error {
		begin := t.begin(index)
		d := newDetail(begin, t.step, t.steps())
		samples, err := readBuckets(ctx, h.rdb, h.raw.keys, step, begin, begin.Add(t.block))
		if err != nil {
			return err
		}
		d.take(samples)
		d.use.until = begin.Add(t.block)
		var instead []string
		for i := range int64(t.steps()) {
			instead = append(instead, h.raw.keys.bucket(step, begin.UnixMilli()/t.step.Milliseconds()+i))
		}
		views := map[historyView]*block{viewUse: d.use.without(ofRows)}
		for _, v := range besides {
			views[v] = d.view(v)
		}
		return h.put(ctx, t, index, true, views, instead...)
	})
}
