package cli

import (
	"nightshift/jobs"
	"nightshift/limiter"
)

// costs are what a row takes of each unit.
type costs [limiter.NumUnits]float64

// costsIn are what the rows that wait have booked on average; nothing while none
// waits.
func costsIn(leaves []limiter.LeafState) (c costs) {
	var rows float64
	for _, l := range leaves {
		if l.Waiting > 0 {
			rows += float64(l.Waiting)
			for u, n := range l.Booked {
				c[u] += float64(n)
			}
		}
	}
	for u := range c {
		c[u] /= max(rows, 1)
	}
	return c
}

// fewRows is how many rows must have come through lately to say what one takes.
const fewRows = 20

// settling are the units of which a row that waits books the most that it is allowed,
// and gives the rest back with its answer.
var settling = []limiter.Unit{limiter.OutputTokens, limiter.TotalTokens, limiter.MicroUSD}

// taken is what a row of a lane takes once it has its answer: by the rows of its open
// runs that came through lately, or else by what was expected of them. A unit of which
// nobody knows is 0, so that no limit seems to bind for the longest answer's sake.
func (o *overview) taken(model string, runs []runStatus, booked costs) costs {
	if booked == (costs{}) {
		return booked
	}
	took, rows := o.tookLately(model, runs)
	if rows < fewRows {
		took, rows = expectedOf(runs)
	}
	for _, u := range settling {
		booked[u] = took[u] / max(rows, 1)
	}
	return booked
}

// tookLately is what rows of open runs took together, those that failed included, and
// how many had their answer.
func (o *overview) tookLately(model string, runs []runStatus) (took costs, rows float64) {
	for _, s := range o.samples {
		if s.Model != model || !ofAny(runs, s.Class, s.Feature) {
			continue
		}
		rows += float64(s.Good)
		took[limiter.OutputTokens] += float64(s.OutputTokens)
		took[limiter.TotalTokens] += float64(s.TotalTokens)
		took[limiter.MicroUSD] += float64(s.MicroUSD)
	}
	return took, rows
}

func ofAny(runs []runStatus, class, feature string) bool {
	for _, r := range runs {
		if r.counts.Open() > 0 && r.Class == class && r.Feature == feature {
			return true
		}
	}
	return false
}

// expectedOf is what the runs' plans expected of so many rows. Where one knew nothing
// but the longest answer, the least is all that is sure.
func expectedOf(runs []runStatus) (took costs, rows float64) {
	for _, r := range runs {
		p := r.Planned
		if p == nil || r.counts.Open() == 0 {
			continue
		}
		rows += float64(p.Rows)
		guess := func(s jobs.Span) float64 {
			if p.Source == jobs.PlannedCap {
				return float64(s.Low)
			}
			return float64(s.Mid)
		}
		took[limiter.OutputTokens] += guess(p.Output)
		took[limiter.TotalTokens] += float64(p.Input.Mid) + guess(p.Output)
		if p.Cost != nil {
			took[limiter.MicroUSD] += guess(*p.Cost)
		}
	}
	return took, rows
}
