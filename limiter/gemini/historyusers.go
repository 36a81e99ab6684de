package gemini

import (
	"context"
	"strings"
	"time"

	"nightshift/limiter"
)

// users adds a block up by class and feature over all lanes, in steps of a minute: what
// a ranking of those who used the quota reads, however many lanes there are.
func (b *block) users() *block {
	wide := max(b.step, time.Minute)
	by := int(wide / b.step)
	out := newBlock(b.begin, wide, (b.n+by-1)/by)
	out.until = b.until
	kept := b.largestUsers()
	for series, cols := range b.series {
		p := strings.Split(series, "|")
		if kept != nil && !kept[p[2]] {
			p[2] = OtherFeature
		}
		out.merge(seriesName("", p[1], p[2]), cols.widened(by))
	}
	return out
}

// largestUsers are the features that are told apart; nil is all.
func (b *block) largestUsers() map[string]bool {
	weights := map[string]float64{}
	requests, tokens := b.whole()
	for series, cols := range b.series {
		weights[strings.Split(series, "|")[2]] += cols.weight(requests, tokens)
	}
	if len(weights) <= mostUsers {
		return nil
	}
	return heaviest(weights, mostUsers)
}

// widened are the columns with each so many steps added up to one.
func (c columns) widened(by int) columns {
	out := columns{}
	for field, ns := range c {
		wide := make([]int64, (len(ns)+by-1)/by)
		for i, n := range ns {
			wide[i/by] += n
		}
		out[field] = wide
	}
	return out
}

// usersReader gathers what each feature used as each class, in minutes.
type usersReader struct {
	historyReader
	packedReader
}

// users gives what was used by class and feature over all lanes, in whole minutes. What is
// in no block, as before the first historian, comes from the meter's own minutes; it is
// not whole where blocks end within one. What a meter could only count when its block was
// final is not in it.
func (h *History) users(ctx context.Context, from, to, now time.Time) (samples []UsageSample, whole bool, err error) {
	from, to = from.Truncate(time.Minute), to.Add(time.Minute-1).Truncate(time.Minute)
	r := usersReader{historyReader{History: h, now: now, view: viewUsers}, packedReader{step: time.Minute, at: map[packedKey]int{}}}
	r.q.From, r.q.To, r.known = from, to, from
	done, err := h.done(ctx, tierMinute)
	if err != nil {
		return nil, false, err
	}
	end := limiter.Earlier(to, tierMinute.begin(done+1))
	if err := r.part(ctx, tierMinute, from, end); err != nil {
		return nil, false, err
	}
	from = limiter.Later(from, end)
	if err := r.part(ctx, tierFine, from, limiter.Earlier(to, tierFine.begin(tierFine.index(now)+1))); err != nil {
		return nil, false, err
	}
	if err := r.fresh(ctx); err != nil {
		return nil, false, err
	}
	whole, err = r.gaps(ctx, limiter.Earlier(to, now))
	return r.out, whole, err
}

// gaps reads from the meter what no block has.
func (r *usersReader) gaps(ctx context.Context, to time.Time) (whole bool, err error) {
	for _, gap := range missing(r.q.From, to, r.found) {
		if gap.From != gap.From.Truncate(time.Minute) || gap.To != gap.To.Truncate(time.Minute) {
			return false, nil
		}
		samples, err := ReadMeter(ctx, r.rdb, r.scope, StepMinute, gap.From, gap.To)
		if err != nil {
			return false, err
		}
		for _, s := range samples {
			s.Region, s.Model = "", ""
			r.merge(s, seriesName("", s.Class, s.Feature))
		}
	}
	return true, nil
}

// part reads a tier's blocks of a stretch.
func (r *usersReader) part(ctx context.Context, t historyTier, from, to time.Time) error {
	if !from.Before(to) {
		return nil
	}
	r.from, r.to = from, to
	for first, end := t.index(from), t.index(to.Add(-1)); first <= end; first += historyBlocks {
		if err := r.some(ctx, t, viewUsers, first, min(end, first+historyBlocks-1), from, r.takeUsers); err != nil {
			return err
		}
	}
	return nil
}

func (r *usersReader) takeUsers(p packedBlock, from time.Time) error {
	r.known = limiter.Later(r.known, p.until)
	r.found = append(r.found, Interval{limiter.Later(p.begin, from), limiter.Earlier(p.begin.Add(time.Duration(p.n)*p.step), p.until)})
	return r.take(p, from)
}

// fresh adds what no block has yet, of the last seconds.
func (r *usersReader) fresh(ctx context.Context) error {
	from := limiter.Later(r.known, r.now.Add(-tenantKept)).Truncate(tierFine.step)
	to := limiter.Earlier(r.q.To, r.now.Truncate(tierFine.step).Add(tierFine.step))
	n := int((to.Sub(from) + tierFine.step - 1) / tierFine.step)
	if n <= 0 {
		return nil
	}
	d, err := newDetailReader(r.rdb, r.scope).fineUse(ctx, from, n)
	if err != nil {
		return err
	}
	r.found = append(r.found, Interval{from, to})
	for series, cols := range d.use.series {
		key, _ := parseUsageKey(series)
		for step := range d.use.n {
			at := from.Add(time.Duration(step) * d.use.step)
			r.sample(at.Truncate(time.Minute), seriesName("", key.class, key.feature), cols, step)
		}
	}
	return nil
}
