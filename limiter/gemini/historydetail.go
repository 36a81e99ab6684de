package gemini

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// detail is all that was counted in a stretch of time: by feature with durations, by
// tenant without.
type detail struct{ use, tenants *block }

func newDetail(begin time.Time, step time.Duration, n int) detail {
	return detail{newBlock(begin, step, n), newBlock(begin, step, n)}
}

// seriesName joins what a series is told apart by.
func seriesName(parts ...string) string { return strings.Join(parts, "|") }

// take counts samples by feature.
func (d detail) take(samples []UsageSample) {
	for _, s := range samples {
		name, step := seriesName(s.Region+"/"+s.Model, s.Class, s.Feature), int(s.At.Sub(d.use.begin)/d.use.step)
		if s.At.Before(d.use.begin) {
			continue // of a bucket that began before
		}
		s.each(true, func(field int, n int64) { d.use.add(name, step, field, n) })
	}
}

// rest gives what is no tenant's a series of its own, with "" as its tenant.
func (d detail) rest() {
	rest := newBlock(d.use.begin, d.use.step, d.use.n)
	for name, cols := range d.use.series {
		rest.merge(restName(name), cols.counts())
	}
	for name, cols := range d.tenants.series {
		for field, ns := range cols {
			less := make([]int64, len(ns))
			for i, n := range ns {
				less[i] = -n
			}
			rest.merge(restName(name), columns{field: less})
		}
	}
	for name, cols := range rest.series {
		for field, ns := range cols {
			for step, n := range ns {
				d.tenants.add(name, step, field, max(0, n)) // a tenant's may have come first
			}
		}
	}
}

func restName(series string) string {
	p := strings.Split(series, "|")
	return seriesName(p[0], p[1], "")
}

// counts are the columns without durations.
func (c columns) counts() columns {
	out := columns{}
	for field, ns := range c {
		if field < fieldLatency || field >= fieldTallies {
			out[field] = ns
		}
	}
	return out
}

// detailReader reads the meter's own buckets.
type detailReader struct {
	rdb  redis.UniversalClient
	keys meterKeys
}

func newDetailReader(rdb redis.UniversalClient, scope limiter.Scope) detailReader {
	return detailReader{rdb, newMeterKeys(scope)}
}

// fine reads steps of ten seconds, as far as the meter has them: a quarter of an hour.
func (r detailReader) fine(ctx context.Context, begin time.Time, n int) (detail, error) {
	d, err := r.fineUse(ctx, begin, n)
	if err != nil {
		return d, err
	}
	if err := r.tenants(ctx, d.tenants); err != nil {
		return d, err
	}
	d.rest()
	return d, nil
}

// fineUse is fine without what tenants used: half of the work, and most readers ask for
// none of it.
func (r detailReader) fineUse(ctx context.Context, begin time.Time, n int) (detail, error) {
	d := newDetail(begin, tierFine.step, n)
	end := begin.Add(time.Duration(n) * tierFine.step)
	samples, err := readMeter(ctx, r.rdb, r.keys, Step5s, begin, end)
	if err != nil {
		return d, err
	}
	d.take(samples)
	return d, nil
}

// tenants fills a block of steps of ten seconds.
func (r detailReader) tenants(ctx context.Context, b *block) error {
	for first := 0; first < b.n; first += bucketsAtOnce {
		var keys []string
		for i := first; i < min(first+bucketsAtOnce, b.n); i++ {
			keys = append(keys, r.keys.tenants(b.begin.UnixMilli()/tenantWidth.Milliseconds()+int64(i)))
		}
		buckets, err := meterReadScript.Run(ctx, r.rdb, keys).Slice()
		if err != nil {
			return err
		}
		for i, bucket := range buckets {
			if err := b.takeBucket(first+i, bucket); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeBucket adds a bucket of the meter as one step.
func (b *block) takeBucket(step int, bucket any) error {
	flat, ok := bucket.([]any)
	if !ok {
		return fmt.Errorf("a bucket is %T", bucket)
	}
	for i := 0; i+1 < len(flat); i += 2 {
		name, _ := flat[i].(string)
		text, _ := flat[i+1].(string)
		var s UsageSample
		if _, ok := parseUsageKey(name); !ok {
			continue
		}
		if err := s.unpack(text); err != nil {
			return err
		}
		s.each(false, func(field int, n int64) { b.add(name, step, field, n) })
	}
	return nil
}

// views gives a detail as it is stored.
func (d detail) views() map[historyView]*block {
	out := map[historyView]*block{}
	for _, v := range []historyView{viewClass, viewLane, viewFeature, viewTenant, viewUse, viewTenants} {
		out[v] = d.view(v)
	}
	if d.use.step <= time.Minute {
		out[viewUsers] = d.view(viewUsers)
	}
	return out
}

func (d detail) view(v historyView) *block {
	switch v {
	case viewClass:
		return d.use.fold(func(p []string) (string, string) { return "", p[1] }, largest)
	case viewLane:
		return d.use.fold(func(p []string) (string, string) { return p[0], p[1] }, largest)
	case viewFeature:
		return d.use.fold(func(p []string) (string, string) { return p[2], p[1] }, largest)
	case viewUse:
		return d.use.without(ofRows).bounded(mostUse)
	case viewUsers:
		return d.use.without(ofRows).users()
	case viewTenant:
		return d.tenants.without(ofFeature).fold(func(p []string) (string, string) { return p[2], p[1] }, largest)
	}
	return d.tenants.without(ofFeature).bounded(mostTenants)
}

// ofTenants tells views that are made of what tenants used.
func (v historyView) ofTenants() bool { return v == viewTenant || v == viewTenants }

// estimateFields are not told apart by tenant: half of the numbers that differ, and what
// is off is the estimate of a feature.
var estimateFields = []int{
	fieldOf(func(s *UsageSample) *int64 { return &s.Measured }),
	fieldOf(func(s *UsageSample) *int64 { return &s.EstimatedInput }), fieldOf(func(s *UsageSample) *int64 { return &s.MeasuredInput }), fieldOf(func(s *UsageSample) *int64 { return &s.UnderInput }),
	fieldOf(func(s *UsageSample) *int64 { return &s.EstimatedOutput }), fieldOf(func(s *UsageSample) *int64 { return &s.MeasuredOutput }), fieldOf(func(s *UsageSample) *int64 { return &s.UnderOutput }),
}

// ofRows tells the fields of what rows waited, which are told apart by the largest lanes,
// classes and features alone: each takes more room than all else that is counted.
func ofRows(field int) bool {
	return field >= fieldTallies+tallyRows && field <= fieldTallies+tallyEnded
}

// ofFeature tells the fields that are not told apart by tenant.
func ofFeature(field int) bool { return ofRows(field) || slices.Contains(estimateFields, field) }

// without leaves out fields. The columns are the block's own.
func (b *block) without(out func(field int) bool) *block {
	less := newBlock(b.begin, b.step, b.n)
	less.until = b.until
	for name, cols := range b.series {
		kept := columns{}
		for field, ns := range cols {
			if !out(field) {
				kept[field] = ns
			}
		}
		less.series[name] = kept
	}
	return less
}

// fold adds series up by name and class. So many names are told apart, the largest.
func (b *block) fold(of func(parts []string) (name, class string), most int) *block {
	out, weights := newBlock(b.begin, b.step, b.n), map[string]float64{}
	requests, tokens := b.whole()
	for series, cols := range b.series {
		name, _ := of(strings.Split(series, "|"))
		weights[name] += cols.weight(requests, tokens)
	}
	kept := heaviest(weights, most)
	for series, cols := range b.series {
		name, class := of(strings.Split(series, "|"))
		if !kept[name] {
			name = OtherFeature
		}
		out.merge(seriesName(name, class), cols)
	}
	out.until = b.until
	return out
}

// bounded is the block without durations, and with so many series at most: the
// smallest of a lane and class are one.
func (b *block) bounded(most int) *block {
	out, weights := newBlock(b.begin, b.step, b.n), map[string]float64{}
	requests, tokens := b.whole()
	for series, cols := range b.series {
		weights[series] = cols.weight(requests, tokens)
	}
	kept := heaviest(weights, most)
	for series, cols := range b.series {
		if p := strings.Split(series, "|"); !kept[series] {
			series = seriesName(p[0], p[1], OtherFeature)
		}
		out.merge(series, cols.counts())
	}
	out.until = b.until
	return out
}

// heaviest are the names that weigh most.
func heaviest(weights map[string]float64, most int) map[string]bool {
	names := make([]string, 0, len(weights))
	for name := range weights {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), strings.Compare(a, b))
	})
	kept := map[string]bool{}
	for _, name := range names[:min(most, len(names))] {
		kept[name] = true
	}
	return kept
}

var fieldRequests, fieldInput = fieldOf(func(s *UsageSample) *int64 { return &s.Requests }), fieldOf(func(s *UsageSample) *int64 { return &s.InputTokens })

// fieldOf finds a counter's field.
func fieldOf(counter func(*UsageSample) *int64) int {
	var s UsageSample
	return slices.Index(s.counters(), counter(&s))
}

func (b *block) whole() (requests, tokens int64) {
	for _, cols := range b.series {
		requests, tokens = requests+addUp(cols[fieldRequests]), tokens+addUp(cols[fieldInput])
	}
	return requests, tokens
}

// weight is a series' part of the requests and of the tokens. One that only met
// refusals weighs hardly anything, but is not nothing.
func (c columns) weight(requests, tokens int64) float64 {
	return float64(addUp(c[fieldRequests]))/float64(max(1, requests)) + float64(addUp(c[fieldInput]))/float64(max(1, tokens)) + 1e-9*float64(addUp(c[0]))
}
