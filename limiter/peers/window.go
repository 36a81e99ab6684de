package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const perMinute = 6000

// arrival is a call that comes, the same for every peer.
type arrival struct {
	at   time.Time
	cost int64
}

// arrivals offers four times the limit for a span, with idle minutes in
// which a bucket saves up, when idle is set. One call in twenty is large.
func arrivals(seed uint64, span time.Duration, idle bool) []arrival {
	rng := rand.New(rand.NewPCG(seed, 11))
	var out []arrival
	for at := noon; at.Before(noon.Add(span)); {
		at = at.Add(time.Duration(rng.ExpFloat64() * 150 * float64(time.Millisecond)))
		if idle && rng.IntN(600) == 0 {
			at = at.Add(time.Minute + time.Duration(rng.IntN(60_000))*time.Millisecond)
		}
		cost := 1 + rng.Int64N(80)
		if rng.IntN(20) == 0 {
			cost *= 12
		}
		out = append(out, arrival{at, cost})
	}
	return out
}

// admit offers the arrivals and gives those that were admitted.
func admit(ctx context.Context, p peer, in []arrival) ([]arrival, error) {
	var out []arrival
	for _, a := range in {
		g, err := p.take(ctx, a.at, a.cost)
		if err != nil {
			return nil, err
		}
		if !g.ok {
			continue
		}
		out = append(out, a)
		if g.id == "" {
			continue
		}
		if err := p.correct(ctx, a.at, g, a.cost); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// largest is the most that was admitted in any minute, however it lies.
func largest(admitted []arrival) int64 {
	var sum, most int64
	first := 0
	for _, a := range admitted {
		sum += a.cost
		for !admitted[first].at.After(a.at.Add(-time.Minute)) {
			sum -= admitted[first].cost
			first++
		}
		most = max(most, sum)
	}
	return most
}

// windowRow is a line of the table of windows.
type windowRow struct {
	name   string
	factor float64 // largest sum in any minute ÷ limit
	use    float64 // admitted ÷ limit under constant demand
}

// windows plays the same arrivals to everybody: with idle minutes for the factor,
// without for the use.
func (h *harness) windows(ctx context.Context, seeds int, span time.Duration) ([]windowRow, error) {
	var rows []windowRow
	for _, e := range h.field() {
		row := windowRow{name: e.name}
		for seed := range uint64(seeds) {
			got, err := h.play(ctx, e, arrivals(seed, span, true))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			row.factor = max(row.factor, float64(largest(got))/perMinute)
		}
		got, err := h.play(ctx, e, arrivals(99, 12*time.Minute, false))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		row.use = used(got, noon.Add(2*time.Minute), noon.Add(12*time.Minute))
		rows = append(rows, row)
	}
	return rows, nil
}

func (h *harness) play(ctx context.Context, e entrant, in []arrival) ([]arrival, error) {
	p, err := e.make(perMinute)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return admit(ctx, p, in)
}

// used is the share of the limit that was admitted between two moments; what was
// saved up before is over by then.
func used(admitted []arrival, from, to time.Time) float64 {
	var sum int64
	for _, a := range admitted {
		if !a.at.Before(from) && a.at.Before(to) {
			sum += a.cost
		}
	}
	return float64(sum) / (perMinute * to.Sub(from).Minutes())
}

func printWindows(t *table, rows []windowRow) {
	t.head("Largest sum admitted in any 60 s ÷ limit; use under constant demand", "limiter", "any window", "use")
	for _, r := range rows {
		t.row(r.name, fmt.Sprintf("%.3f", r.factor), fmt.Sprintf("%.3f", r.use))
	}
}
