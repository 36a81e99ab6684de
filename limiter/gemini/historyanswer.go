package gemini

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
)

// answer makes series of what was read.
func (r *historyReader) answer() *HistoryData {
	d := &HistoryData{From: r.q.From, To: r.q.To, Step: r.step, N: r.n, Known: limiter.Earlier(r.known, r.q.To)}
	whole := columns{}
	for name, cols := range r.all.series {
		s := HistorySeries{Name: r.shown(name)}
		cols.sum(&s.Sum)
		d.Groups = append(d.Groups, s)
		for field, ns := range cols {
			whole.plus(field, ns)
		}
	}
	d.Total = r.series("", whole)
	d.Groups = r.largest(d.Groups)
	r.points(d)
	d.Levels = r.levels()
	d.Missing = missing(r.q.From, limiter.Earlier(r.q.To, r.now), r.found)
	return d
}

// shown is a lane's model, for people.
func (r *historyReader) shown(name string) string {
	if r.q.By != GroupModel {
		return name
	}
	region, model, ok := strings.Cut(name, "/")
	if ok && region != "global" {
		return model + " (" + region + ")"
	}
	return cmp.Or(model, name)
}

// largest orders groups, and keeps as many as are asked for.
func (r *historyReader) largest(groups []HistorySeries) []HistorySeries {
	unit := cmp.Or(r.q.Unit, "rpm")
	slices.SortFunc(groups, func(a, b HistorySeries) int {
		return cmp.Or(cmp.Compare(b.Sum.Amount(unit), a.Sum.Amount(unit)), cmp.Compare(b.Sum.Calls, a.Sum.Calls), strings.Compare(a.Name, b.Name))
	})
	top := cmp.Or(r.q.Top, 10)
	other := HistorySeries{Name: OtherFeature}
	var out []HistorySeries
	rest := false
	for _, g := range groups {
		if g.Name != OtherFeature && len(out) < top {
			out = append(out, g)
			continue
		}
		rest = true
		other.Sum.Merge(g.Sum)
	}
	if rest {
		out = append(out, other)
	}
	return out
}

// points fills the points of the groups that are told apart.
func (r *historyReader) points(d *HistoryData) {
	at, cols := map[string]int{}, make([]columns, len(d.Groups))
	for i, g := range d.Groups {
		at[g.Name], cols[i] = i, columns{}
	}
	for name, from := range r.all.series {
		i, ok := at[r.shown(name)]
		if !ok {
			i = at[OtherFeature]
		}
		for field, ns := range from {
			cols[i].plus(field, ns)
		}
	}
	for i, g := range d.Groups {
		d.Groups[i] = r.series(g.Name, cols[i])
	}
}

func (r *historyReader) series(name string, cols columns) HistorySeries {
	s := HistorySeries{Name: name, Points: make([]UsageSample, r.n)}
	cols.sum(&s.Sum)
	counters, histograms := make([][]*int64, r.n), make([][]*Histogram, r.n)
	for i := range s.Points {
		s.Points[i].At = r.q.From.Add(time.Duration(i) * r.step)
		counters[i], histograms[i] = s.Points[i].counters(), s.Points[i].histograms()
	}
	for _, field := range slices.Sorted(maps.Keys(cols)) { // so that bins come in their order
		at := histogramOf(field)
		for i, n := range cols[field] {
			switch {
			case n == 0:
			case field < len(counters[i]):
				*counters[i][field] += n
			case at >= 0:
				h := histograms[i][at]
				h.bins = append(h.bins, bin{int64(field - histogramFields[at]), n})
			}
		}
	}
	return s
}

// sum adds all steps up.
func (c columns) sum(s *UsageSample) {
	one := columns{}
	for field, ns := range c {
		one[field] = []int64{addUp(ns)}
	}
	s.fill(one, 0)
}

func (c columns) plus(field int, ns []int64) {
	if c[field] == nil {
		c[field] = slices.Clone(ns)
		return
	}
	for i, n := range ns {
		c[field][i] += n
	}
}

// missing are the parts of an interval that were not found.
func missing(from, to time.Time, found []Interval) (out []Interval) {
	slices.SortFunc(found, func(a, b Interval) int { return a.From.Compare(b.From) })
	at := from
	for _, f := range found {
		if f.From.After(at) && at.Before(to) {
			out = append(out, Interval{at, limiter.Earlier(f.From, to)})
		}
		at = limiter.Later(at, f.To)
	}
	if at.Before(to) {
		out = append(out, Interval{at, to})
	}
	return out
}
