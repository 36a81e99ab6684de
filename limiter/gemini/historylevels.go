package gemini

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// The fields of a limit's series. Means are kept as sums and how often was looked, so
// that blocks add up.
const (
	levelSeen = fieldLevels + iota
	levelLimit
	levelEffective
	levelUsed
	levelLent
	levelBorrowed
	levelRevoked
)

// ofAll are the series of all lanes together: of a hundred lanes, one in a hundred.
func (b *block) ofAll() *block {
	out := newBlock(b.begin, b.step, b.n)
	out.until = b.until
	for name, cols := range b.series {
		if strings.HasPrefix(name, "|") {
			out.series[name] = cols
		}
	}
	return out
}

// levelBlocks reads limits and loans: all lanes' together from a view of their own, or
// from that by lane where an older historian has made no other.
func (r *historyReader) levelBlocks(ctx context.Context, t historyTier, first, last int64, from time.Time) error {
	if r.q.Model != "" {
		return r.some(ctx, t, viewLevels, first, last, from, r.takeLevels)
	}
	var keys, byLane []string
	for i := first; i <= last; i++ {
		keys = append(keys, r.keys.block(t, i, viewLimits))
	}
	away, err := r.atKeys(ctx, keys, from, r.takeLevels)
	if err != nil || len(away) == 0 {
		return err
	}
	for _, i := range away {
		byLane = append(byLane, r.keys.block(t, first+int64(i), viewLevels))
	}
	_, err = r.atKeys(ctx, byLane, from, r.takeLevels)
	return err
}

// takeLevels adds a block's limits and loans up: of one model, or of all together.
func (r *historyReader) takeLevels(p packedBlock, from time.Time) error {
	names := map[string]string{}
	return p.each(func(series string) bool {
		parts := strings.Split(series, "|")
		if len(parts) != 3 || parts[1] != "" && r.q.Class != "" && parts[1] != r.q.Class {
			return false
		}
		_, model, _ := strings.Cut(parts[0], "/") // "" in the series of all lanes
		if !strings.EqualFold(model, r.q.Model) {
			return false
		}
		names[series] = seriesName(parts[1], parts[2])
		return true
	}, func(series string, field, step int, n int64) {
		at := p.begin.Add(time.Duration(step) * p.step)
		if !at.Before(from) && !at.Before(r.q.From) {
			r.loans.add(names[series], int(at.Sub(r.q.From)/r.step), field, n)
		}
	})
}

// levels makes series of what was read.
func (r *historyReader) levels() (out []LevelSeries) {
	for name, cols := range r.loans.series {
		class, limit, _ := strings.Cut(name, "|")
		s := LevelSeries{Model: r.q.Model, Class: class, Limit: limit, Points: make([]Level, r.n)}
		looks := r.looks(limit)
		for i := range s.Points {
			s.Points[i] = cols.level(i, looks[i])
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b LevelSeries) int {
		return cmp.Or(strings.Compare(a.Limit, b.Limit), strings.Compare(a.Class, b.Class))
	})
	return out
}

// looks is how often each point was looked at. A class is only noted when it has
// something; the lane's own series tells how often that could have been.
func (r *historyReader) looks(limit string) []int64 {
	out := make([]int64, r.n)
	if cols := r.loans.series[seriesName("", limit)]; cols != nil {
		copy(out, cols[levelSeen])
	}
	return out
}

func (c columns) level(i int, looks int64) Level {
	at := func(field int) int64 {
		if ns := c[field]; ns != nil && looks > 0 {
			return ns[i] / looks
		}
		return 0
	}
	l := Level{Limit: at(levelLimit), Effective: at(levelEffective), Used: at(levelUsed), Lent: at(levelLent), Borrowed: at(levelBorrowed)}
	if ns := c[levelRevoked]; ns != nil {
		l.Revoked = ns[i]
	}
	return l
}
