package gemini

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// packedStep is the history's tier that takes a step's older buckets.
func packedStep(s Step) (historyTier, bool) {
	switch s {
	case StepMinute:
		return tierMinute, true
	case StepHour:
		return tierHour, true
	}
	return historyTier{}, false
}

// addPacked adds what was packed of a step to what its buckets have. A ramp's meter
// has nothing packed.
func addPacked(ctx context.Context, rdb redis.UniversalClient, keys meterKeys, step Step, from, to time.Time, got []UsageSample) ([]UsageSample, error) {
	t, ok := packedStep(step)
	if !ok || !from.Before(to) {
		return got, nil
	}
	r := packedReader{step: t.step, from: from.Truncate(t.step), to: to, at: map[packedKey]int{}, out: got}
	for i, s := range got {
		r.at[r.key(s.At, seriesName(s.Region+"/"+s.Model, s.Class, s.Feature))] = i
	}
	h := historyReader{History: &History{rdb: rdb, keys: historyKeys{keys.root + ":history"}}}
	for first, end := t.index(from), t.index(to.Add(-1)); first <= end; first += historyBlocks {
		if err := h.some(ctx, t, viewUse, first, min(end, first+historyBlocks-1), from, r.take); err != nil {
			return nil, err
		}
	}
	if r.added {
		slices.SortStableFunc(r.out, func(a, b UsageSample) int {
			if c := a.At.Compare(b.At); c != 0 {
				return c
			}
			return compareSamples(a, b)
		})
	}
	return r.out, nil
}

type packedKey struct {
	at     int64
	series string
}

// packedReader makes samples of a block.
type packedReader struct {
	step     time.Duration
	from, to time.Time
	at       map[packedKey]int // where in out
	out      []UsageSample
	added    bool
}

func (r *packedReader) key(at time.Time, series string) packedKey {
	return packedKey{at.UnixMilli(), series}
}

func (r *packedReader) take(p packedBlock, _ time.Time) error {
	b := newBlock(p.begin, p.step, p.n)
	err := p.each(func(string) bool { return true }, func(series string, field, step int, n int64) {
		if at := p.begin.Add(time.Duration(step) * p.step); !at.Before(r.from) && at.Before(r.to) {
			b.add(series, step, field, n)
		}
	})
	for series, cols := range b.series {
		for step := range b.n {
			r.sample(p.begin.Add(time.Duration(step)*p.step), series, cols, step)
		}
	}
	return err
}

func (r *packedReader) sample(at time.Time, series string, cols columns, step int) {
	key, ok := parseUsageKey(series)
	if !ok || !cols.any(step) {
		return
	}
	region, model, _ := strings.Cut(key.lane, "/")
	s := UsageSample{At: at, Region: region, Model: model, Class: key.class, Feature: key.feature}
	s.fill(cols, step)
	r.merge(s, series)
}

func (r *packedReader) merge(s UsageSample, series string) {
	k := r.key(s.At, series)
	if i, ok := r.at[k]; ok {
		r.out[i].Merge(s)
		return
	}
	r.added = true
	r.at[k] = len(r.out)
	r.out = append(r.out, s)
}

// any says whether a step has anything.
func (c columns) any(step int) bool {
	for _, ns := range c {
		if ns[step] != 0 {
			return true
		}
	}
	return false
}
