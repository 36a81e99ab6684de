package cli

import (
	"cmp"
	"context"
	"slices"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

const (
	// chartPoints is how many steps of time a chart has at most: one is still as wide as
	// a finger on a telephone.
	chartPoints = 96
	// mostCharts is how many limits are drawn: the fullest.
	mostCharts = 3
	// worstCalls is from how many calls on a step's p95 means something.
	worstCalls = 20
)

// reportUse reads the meter over the run's time: minutes where they are still kept,
// else hours.
func (b *backend) reportUse(ctx context.Context, r *runReport) error {
	lane, err := limiter.ParseLane(r.Run.Spec.Lane)
	if err != nil || lane.Scope() != b.conf.scope() {
		return err
	}
	conf, err := b.lim.Effective(ctx)
	if err != nil {
		return err
	}
	in := reviewInput{from: r.From, to: r.To, classes: conf.Classes}
	if in.minutes, in.hours, err = b.usageBetween(ctx, r.From, r.To, r.At); err != nil {
		return err
	}
	width := chartStep(r.From, r.To, len(in.hours) > 0)
	if in.levels, err = b.limitsThen(ctx, lane, r.From, r.To, width); err != nil {
		return err
	}
	for _, l := range conf.Lanes {
		if l.Lane == lane {
			r.Quota = in.charts(l, width)
			if err := b.reportDays(ctx, r, l, conf.Classes); err != nil {
				return err
			}
		}
	}
	r.People = peopleSeen(in, width)
	return nil
}

// limitsThen are a lane's limits as they were in each step, by their names; 0 where
// nobody looked.
func (b *backend) limitsThen(ctx context.Context, lane limiter.Lane, from, to time.Time, width time.Duration) (map[string][]int64, error) {
	d, err := gemini.NewHistory(b.rdb, b.conf.scope()).Read(ctx, gemini.HistoryQuery{
		From: from.Truncate(width), To: to.Add(width), Model: lane.Model, By: gemini.GroupClass, Step: width, Levels: true})
	if err != nil {
		return nil, err
	}
	out := map[string][]int64{}
	for _, l := range d.Levels {
		if l.Class != "" {
			continue
		}
		for _, p := range l.Points {
			out[l.Limit] = append(out[l.Limit], p.Limit)
		}
	}
	return out, nil
}

// usageBetween is what all models' callers did.
func (b *backend) usageBetween(ctx context.Context, from, to, now time.Time) (minutes, hours []gemini.UsageSample, err error) {
	from, to = from.Truncate(time.Minute), to.Add(time.Minute)
	kept := now.Add(-gemini.StepMinute.Kept()).Truncate(time.Hour).Add(time.Hour)
	if from.Before(kept) {
		if hours, err = b.usage(ctx, "", gemini.StepHour, from.Truncate(time.Hour), limiter.Earlier(kept, to)); err != nil {
			return nil, nil, err
		}
		from = kept
	}
	minutes, err = b.usage(ctx, "", gemini.StepMinute, from, to)
	return minutes, hours, err
}

// chartStep is a round length of time of which at most chartPoints fill the run's.
func chartStep(from, to time.Time, hours bool) time.Duration {
	for _, d := range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute} {
		if !hours && to.Sub(from) <= chartPoints*d {
			return d
		}
	}
	return max(time.Hour, (to.Sub(from)/chartPoints).Truncate(time.Hour)+time.Hour)
}

// charts are those of a lane's minute limits that were used, the fullest first.
func (in reviewInput) charts(l limiter.LaneConfig, width time.Duration) []reportQuota {
	out := []reportQuota{}
	for _, lim := range l.Limits.List() {
		if lim.Window != limiter.Minute || lim.Unit == limiter.Images || lim.Unit == limiter.Concurrency {
			continue
		}
		if q := in.chart(l.Lane, lim, width); q.Peak > 0 {
			out = append(out, q)
		}
	}
	slices.SortStableFunc(out, func(a, b reportQuota) int { return cmp.Compare(b.Average, a.Average) })
	for i := range out {
		if i == mostCharts || out[i].Average < out[0].Average/5 { // it can have bound nothing
			return out[:i]
		}
	}
	return out
}

func (in reviewInput) chart(lane limiter.Lane, lim limiter.Limit, width time.Duration) reportQuota {
	q := reportQuota{Model: lane.Model, Limit: lim.Name(), StepMS: width.Milliseconds()}
	first := in.from.Truncate(width)
	n := int(in.to.Sub(first)/width) + 1
	then := limitsInForce(in.levels[lim.Name()], n, lim.Amount)
	q.Amount, q.Least = slices.Max(then), slices.Min(then)
	for i := range n {
		q.Points = append(q.Points, reportPoint{At: first.Add(time.Duration(i) * width)})
	}
	pausable := in.pausable()
	part := func(i int, amount int64) float64 { return float64(amount) / (float64(then[i]) * width.Minutes()) }
	for _, s := range in.stretches(lane, lim.Unit) {
		i := int(s.at.Sub(first) / width)
		if s.at.Before(first) || i >= n {
			continue
		}
		for class, used := range s.used {
			if pausable[class] {
				q.Points[i].Bulk += part(i, used)
			} else {
				q.Points[i].People += part(i, used)
			}
		}
	}
	q.sum(in)
	return q
}

// limitsInForce gives each of n steps the limit that was seen in it, else the one seen before,
// else after it; now is what holds where none was seen at all.
func limitsInForce(seen []int64, n int, now int64) []int64 {
	out := make([]int64, n)
	copy(out, seen)
	last := int64(0)
	for i := range out {
		if out[i] == 0 {
			out[i] = last
		}
		last = out[i]
	}
	next := now
	for i := range slices.Backward(out) {
		if out[i] == 0 {
			out[i] = next
		}
		next = out[i]
	}
	return out
}

// sum weighs each step by the part of it that was the run's: others may have used the
// rest of the first and of the last.
func (q *reportQuota) sum(in reviewInput) {
	width := time.Duration(q.StepMS) * time.Millisecond
	var used, weight float64
	for _, p := range q.Points {
		if p.Bulk+p.People > q.Peak {
			q.Peak, q.PeakAt = p.Bulk+p.People, p.At
		}
		from, to := p.At, limiter.Earlier(p.At.Add(width), in.to)
		if in.from.After(from) {
			from = in.from
		}
		w := max(0, to.Sub(from).Seconds())
		used, weight = used+w*(p.Bulk+p.People), weight+w
	}
	if weight > 0 {
		q.Average = used / weight
	}
}

func (in reviewInput) pausable() map[string]bool {
	out := map[string]bool{}
	for _, c := range in.classes {
		out[c.Name] = c.Pausable
	}
	return out
}

// peopleSeen is what those who wait met, by class in the order of the configuration.
func peopleSeen(in reviewInput, width time.Duration) []reportPeople {
	pausable := in.pausable()
	sums, steps := map[string]*gemini.UsageSample{}, map[string]map[time.Time]*gemini.UsageSample{}
	for _, s := range in.samples() {
		if pausable[s.Class] {
			continue
		}
		if sums[s.Class] == nil {
			sums[s.Class], steps[s.Class] = &gemini.UsageSample{}, map[time.Time]*gemini.UsageSample{}
		}
		at := s.At.Truncate(width)
		if steps[s.Class][at] == nil {
			steps[s.Class][at] = &gemini.UsageSample{}
		}
		sums[s.Class].Merge(s)
		steps[s.Class][at].Merge(s)
	}
	out := []reportPeople{}
	for _, c := range in.classes {
		if s := sums[c.Name]; s != nil && s.Calls > 0 {
			out = append(out, seenBy(c.Name, *s, steps[c.Name]))
		}
	}
	return out
}

func seenBy(class string, s gemini.UsageSample, steps map[time.Time]*gemini.UsageSample) reportPeople {
	p := reportPeople{Class: class, Calls: s.Calls, Refused: s.RefusedShared(), OwnLimit: s.OwnLimit, Provider429: s.Provider429,
		Failed: s.ProviderFailed, P95MS: p95of(s).Milliseconds()}
	for at, step := range steps {
		ms := p95of(*step).Milliseconds()
		if step.Calls >= worstCalls && (ms > p.WorstMS || ms == p.WorstMS && at.Before(p.WorstAt)) {
			p.WorstMS, p.WorstAt = ms, at
		}
	}
	return p
}
