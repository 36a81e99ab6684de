package cli

import (
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// priced is a change of the model's prices: how many rows are called before it, and
// how many from it on until the next.
type priced struct {
	At      time.Time `json:"at"`
	Expired bool      `json:"unknown,omitempty"` // from then on no price is known: the dearest is counted
	Before  int64     `json:"rows_before,omitempty"`
	After   int64     `json:"rows_after,omitempty"`
}

// byDate counts rows at the prices of the time at which they are called, where those
// change before the end; where no end is known it notes the next change.
func (r *planReport) byDate(l *loaded, p prospect, b *batch, e evidence) {
	until := p.now.Add(horizon)
	if r.Known {
		until = r.Done
	}
	for _, c := range l.priceChanges(b.Spec.Model, p.now, until) {
		if r.Known {
			c.Before, _ = p.rowsBy(c.At)
		}
		r.Dates = append(r.Dates, c)
	}
	if !r.Known && len(r.Dates) > 1 {
		r.Dates = r.Dates[:1]
	}
	if r.Known && len(r.Dates) > 0 {
		r.price(l, b, e, p.now)
	}
}

// price adds up the parts.
func (r *planReport) price(l *loaded, b *batch, e evidence, now time.Time) {
	parts := []priced{{At: now, After: r.Dates[0].Before}}
	for i, c := range r.Dates {
		end := r.need.Rows
		if i+1 < len(r.Dates) {
			end = r.Dates[i+1].Before
		}
		r.Dates[i].After = end - c.Before
		parts = append(parts, r.Dates[i])
	}
	var sum []tierCost
	for _, part := range parts {
		share := float64(part.After) / float64(max(r.need.Rows, 1))
		for i, t := range l.tiers(b, e, r.need, part.At) {
			if t.Cost = partOf(t.Cost, share); len(sum) <= i {
				sum = append(sum, t)
				continue
			}
			was := sum[i].Cost
			sum[i].Cost = jobs.Span{Low: was.Low + t.Cost.Low, Mid: was.Mid + t.Cost.Mid, High: was.High + t.Cost.High}
		}
	}
	r.Tiers = sum
}

// priceChanges are the times at which other prices of a model begin to hold, after one
// and before another.
func (l *loaded) priceChanges(model string, from, to time.Time) (out []priced) {
	name := l.priceOf(model)
	if name == "" {
		return nil
	}
	q, _ := l.prices().Quote(name, math.MaxInt64, "", from)
	for !q.Until.IsZero() && !q.Expired {
		at := gemini.NextPacificMidnight(q.Until.Start())
		if !at.Before(to) {
			break
		}
		next, _ := l.prices().Quote(name, math.MaxInt64, "", at)
		if next.Price != q.Price {
			out = append(out, priced{At: at, Expired: next.Expired})
		}
		q = next
	}
	return out
}

// priceRows say which prices were counted.
func (r planReport) priceRows(t *dataTable, now time.Time) {
	for _, c := range r.Dates {
		words := "prices change " + r.clock(c.At, now)
		if c.Expired {
			words = "no price is known from " + r.clock(c.At, now) + " on, the dearest is counted"
		}
		if r.Known {
			words += fmt.Sprintf(": %s rows before, %s after", humanize.Comma(c.Before), humanize.Comma(c.After))
		} else {
			words += "; these are today's, since nobody knows how many rows come after"
		}
		t.row("", words)
	}
}
