package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nightshift/limiter"
)

// flatBar is the most that a decision's cost may grow.
const flatBar = 1.20

// flatRow is a decision's cost where there is little and where there is much.
type flatRow struct {
	name        string
	least, most float64
	growth      float64
}

func (h *harness) flat(ctx context.Context, rounds, calls int) ([]flatRow, error) {
	var rows []flatRow
	for _, f := range []func(context.Context, int, int) ([]flatRow, error){h.byTickets, h.byTenants, h.byHours} {
		r, err := f(ctx, rounds, calls)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

// pair compares two subjects in alternating rounds; the first is the one with little.
func (h *harness) pair(ctx context.Context, name string, a, b subject, rounds, calls int) (flatRow, error) {
	rows, err := costs(ctx, h.rdb, []subject{a, b}, rounds, calls)
	if err != nil {
		return flatRow{}, err
	}
	return flatRow{name, rows[0].decision, rows[1].decision, rows[1].ratio}, nil
}

// asks is a subject of one limiter: what build makes is asked for, and whatever
// the rules answer is an answer.
func asks(r *limiter.Redis, lane limiter.Lane, build func(i int) limiter.Request) subject {
	return subject{
		name: "nightshift", askers: 1, // whose calls are not shared
		decide: func(ctx context.Context, i int) error {
			_, err := r.Acquire(ctx, build(i))
			if d, ok := errors.AsType[*limiter.Denied](err); ok && d.Reason != limiter.ReasonUnavailable {
				return nil
			}
			return err
		},
		settle: func(ctx context.Context, i int) error {
			q := build(i)
			return r.Settle(ctx, limiter.Settlement{ID: q.ID, Lane: lane, Outcome: limiter.Settled, Used: q.Amounts})
		},
	}
}

func person(lane limiter.Lane, i int, path limiter.Path) limiter.Request {
	return limiter.Request{ID: fmt.Sprint("p", i), Lane: lane, Class: "interactive", Path: path, Amounts: limiter.Amounts{1, 500, 200}}
}

func job(lane limiter.Lane, i int, path limiter.Path) limiter.Request {
	return limiter.Request{ID: fmt.Sprint("j", i), Lane: lane, Class: "bulk", Path: path, Ticket: fmt.Sprintf("k3f9x2:%08d:0", i), Full: true, Amounts: limiter.Amounts{1, 500, 200}}
}

// byTickets compares lanes where nobody waits with lanes where 50,000 jobs do: a
// person's call, and one more job that gets its place.
func (h *harness) byTickets(ctx context.Context, rounds, calls int) ([]flatRow, error) {
	path := limiter.Path{Run: "k3f9x2", Priority: limiter.Normal}
	var people, jobs [2]subject
	for i, waiting := range []int{0, 50_000} {
		r, lane, err := h.lane(lanePlan{limits: wideThree, classes: fiveClasses})
		if err != nil {
			return nil, err
		}
		if err := book(ctx, r, lane, path, waiting); err != nil {
			return nil, err
		}
		people[i] = asks(r, lane, func(i int) limiter.Request { return person(lane, i, limiter.Path{}) })
		// the line without jobs is one of a few hundred: each of these takes a place
		jobs[i] = asks(r, lane, func(i int) limiter.Request { return job(lane, 1_000_000+i, path) })
		jobs[i].settle = nil
	}
	one, err := h.pair(ctx, "0 → 50,000 tickets: a person's call", people[0], people[1], rounds, calls)
	if err != nil {
		return nil, err
	}
	two, err := h.pair(ctx, "0 → 50,000 tickets: one more job takes its place", jobs[0], jobs[1], rounds, min(calls, 200))
	return []flatRow{one, two}, err
}

// book gives n jobs a place.
func book(ctx context.Context, r *limiter.Redis, lane limiter.Lane, path limiter.Path, n int) error {
	var wg sync.WaitGroup
	fails := make(chan error, 32)
	for w := range 32 {
		wg.Go(func() {
			for i := w; i < n; i += 32 {
				_, err := r.Acquire(ctx, job(lane, i, path))
				if d, ok := errors.AsType[*limiter.Denied](err); !ok || d.Position == 0 {
					fails <- fmt.Errorf("no place for job %d: %w", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-fails:
		return err
	default:
		return nil
	}
}

var tenantLimits = map[string]limiter.Limits{"tenant/*": wideThree}

func tenant(i int) limiter.Path { return limiter.Path{Tenant: fmt.Sprint("t", i)} }

// byTenants compares one tenant with 64 that are active of a thousand that were seen.
func (h *harness) byTenants(ctx context.Context, rounds, calls int) ([]flatRow, error) {
	var s [2]subject
	for i, seen := range []int{1, 1000} {
		r, lane, err := h.lane(lanePlan{limits: wideThree, nodes: tenantLimits, classes: fiveClasses})
		if err != nil {
			return nil, err
		}
		s[i] = asks(r, lane, func(i int) limiter.Request { return person(lane, i, tenant(i%min(64, seen))) })
		for j := range seen {
			q := person(lane, -1-j, tenant(j))
			if _, err := r.Acquire(ctx, q); err != nil {
				return nil, err
			}
		}
	}
	row, err := h.pair(ctx, "1 → 1,000 tenants seen, 64 of them active", s[0], s[1], rounds, calls)
	return []flatRow{row}, err
}

// byHours plays a day on a turned clock, its hours alike, and compares hours 22 to
// 24 with hours 2 to 4. Every twentieth permit is never settled.
func (h *harness) byHours(ctx context.Context, _, calls int) ([]flatRow, error) {
	now := noon
	r, lane, err := h.lane(lanePlan{limits: wideThree, nodes: tenantLimits, classes: fiveClasses, now: func() time.Time { return now }})
	if err != nil {
		return nil, err
	}
	n, hours := 0, []float64{}
	s := asks(r, lane, func(i int) limiter.Request { return person(lane, i, tenant(i*7919%1000%(64+i%3))) })
	step := time.Hour / time.Duration(calls)
	for range 24 {
		from := n
		cost, err := ask(ctx, h.rdb, func(ctx context.Context, i int) error {
			now = now.Add(step)
			return s.decide(ctx, i)
		}, from, calls, 1)
		if err != nil {
			return nil, err
		}
		hours = append(hours, cost)
		for n < from+calls {
			if n%20 != 0 {
				if err := s.settle(ctx, n); err != nil {
					return nil, err
				}
			}
			n++
		}
	}
	early, late := median(hours[1:4]), median(hours[21:])
	return []flatRow{{"24 hours, hours 2-4 → hours 22-24", early, late, late / early}}, nil
}

func printFlat(t *table, rows []flatRow) {
	t.head("Cost per decision where there is little, and where there is much (µs in scripts)", "what grows", "little", "much", "growth", "bar")
	for _, r := range rows {
		t.row(r.name, fmt.Sprintf("%.1f", r.least), fmt.Sprintf("%.1f", r.most), fmt.Sprintf("%.2f", r.growth), fmt.Sprintf("≤ %.2f %s", flatBar, verdict(r.growth <= flatBar)))
	}
}
