package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"nightshift/limiter"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// subject is something whose decisions are measured; settle may be nil.
type subject struct {
	name   string
	bar    float64 // most that a decision may cost, in decisions of redis_rate; 0: none
	askers int     // how many ask at once
	decide func(ctx context.Context, i int) error
	settle func(ctx context.Context, i int) error
}

// costRow is Redis's own time for a subject, in µs a decision: medians of
// alternating rounds.
type costRow struct {
	subject
	decision, settlement float64
	ratio                float64 // of decisions to the first subject's, in the same round
}

var evalsha = regexp.MustCompile(`cmdstat_evalsha:calls=\d+,usec=(\d+)`)

// usec is the time that Redis spent in scripts while f took n decisions, as INFO
// commandstats counts it, for each of them.
func usec(ctx context.Context, rdb *redis.Client, n int, f func() error) (float64, error) {
	if err := rdb.ConfigResetStat(ctx).Err(); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	info, err := rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	m := evalsha.FindStringSubmatch(info)
	if m == nil {
		return 0, fmt.Errorf("no scripts in %q", info)
	}
	total, err := strconv.ParseFloat(m[1], 64)
	return total / float64(n), err
}

// ask runs f for the numbers from, from+1 and so on, n of them, by several at once.
func ask(ctx context.Context, rdb *redis.Client, f func(context.Context, int) error, from, n, askers int) (float64, error) {
	return usec(ctx, rdb, n, func() error {
		var wg sync.WaitGroup
		fails := make([]error, askers)
		for w := range askers {
			wg.Go(func() {
				for i := w; i < n && fails[w] == nil; i += askers {
					fails[w] = f(ctx, from+i)
				}
			})
		}
		wg.Wait()
		return errors.Join(fails...)
	})
}

// costs measures the subjects by turns, calls decisions in each round, after a
// round that does not count.
func costs(ctx context.Context, rdb *redis.Client, subjects []subject, rounds, calls int) ([]costRow, error) {
	decisions, settled := make([][]float64, len(subjects)), make([][]float64, len(subjects))
	for round := range rounds + 1 {
		for i, s := range subjects {
			d, err := ask(ctx, rdb, s.decide, round*calls, calls, s.askers)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			var e float64
			if s.settle != nil {
				if e, err = ask(ctx, rdb, s.settle, round*calls, calls, s.askers); err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
			}
			if round > 0 {
				decisions[i], settled[i] = append(decisions[i], d), append(settled[i], e)
			}
		}
	}
	var rows []costRow
	for i, s := range subjects {
		rows = append(rows, costRow{s, median(decisions[i]), median(settled[i]), median(ratios(decisions[i], decisions[0]))})
	}
	return rows, nil
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}

var fiveClasses = []limiter.Class{
	{Name: "interactive", GuaranteePPM: 300_000},
	{Name: "agent", GuaranteePPM: 100_000},
	{Name: "bulk", Smooth: true, Tickets: true, TricklePPM: 10_000},
	{Name: "evaluation", Smooth: true, Tickets: true},
	{Name: "background", Smooth: true, Tickets: true},
}

var (
	wideThree = limiter.Limits{RPM: 60_000_000, InputTPM: 60_000_000_000, Concurrency: 1_000_000}
	wideFive  = limiter.Limits{RPM: 60_000_000, InputTPM: 60_000_000_000, OutputTPM: 60_000_000_000, RPD: 1_000_000_000_000, Concurrency: 1_000_000}
)

// calls is a subject that takes permits of ours and settles them a little lower,
// as so many processes.
func (h *harness) calls(name string, p lanePlan, processes int) (subject, error) {
	r, lane, err := h.lane(p)
	fleet := []*limiter.Redis{r}
	for len(fleet) < processes {
		fleet = append(fleet, limiter.NewRedis(h.rdb, lane.Scope(), limiter.RedisOptions{Now: p.now}))
	}
	id := func(i int) string { return "p" + strconv.Itoa(i) }
	path := limiter.Path{Organization: "acme", Tenant: "shop"}
	return subject{name: name,
		decide: func(ctx context.Context, i int) error {
			_, err := fleet[i%processes].Acquire(ctx, limiter.Request{ID: id(i), Lane: lane, Class: p.classes[0].Name, Path: path, Feature: "chat", Amounts: limiter.Amounts{1, 500, 200}})
			return err
		},
		settle: func(ctx context.Context, i int) error {
			return fleet[i%processes].Settle(ctx, limiter.Settlement{ID: id(i), Lane: lane, Outcome: limiter.Settled, Used: limiter.Amounts{1, 400, 150}})
		},
	}, err
}

// rateSubject is redis_rate on one hot key that always has room.
func (h *harness) rateSubject() subject {
	l := redis_rate.NewLimiter(h.rdb)
	return subject{name: "redis_rate, 1 dimension", askers: 16, decide: func(ctx context.Context, _ int) error {
		r, err := l.Allow(ctx, "hot", redis_rate.PerSecond(1_000_000))
		if err == nil && r.Allowed == 0 {
			return fmt.Errorf("refused: the hot key should have room")
		}
		return err
	}}
}

var (
	threePlan  = lanePlan{limits: wideThree, classes: fiveClasses[:1]}
	levelsPlan = lanePlan{limits: wideFive, classes: fiveClasses, nodes: map[string]limiter.Limits{"organization/acme": wideFive, "tenant/*": wideFive}}
)

// cost compares Redis's time per decision with redis_rate's, on a key that 16 ask
// at once so that Redis is kept busy: each in a process of its own, where every
// decision is a call, and all in one, where those that wait share the next call.
func (h *harness) cost(ctx context.Context, rounds, calls int) ([]costRow, error) {
	subjects := []subject{h.rateSubject()}
	for _, x := range []struct {
		name              string
		bar               float64
		plan              lanePlan
		askers, processes int
	}{
		{"3 dimensions in a lane, 16 processes", 2.5, threePlan, 16, 16},
		{"3 dimensions in a lane, 16 callers in one", 2.5, threePlan, 16, 1},
		{"3 dimensions in a lane, 64 callers in one", 2.5, threePlan, 64, 1},
		{"5 dimensions × 3 levels, 5 classes, 16 processes", 6, levelsPlan, 16, 16},
		{"5 dimensions × 3 levels, 5 classes, 16 callers in one", 6, levelsPlan, 16, 1},
		{"5 dimensions × 3 levels, 5 classes, 64 callers in one", 6, levelsPlan, 64, 1},
	} {
		s, err := h.calls(x.name, x.plan, x.processes)
		if err != nil {
			return nil, err
		}
		s.bar, s.askers = x.bar, x.askers
		subjects = append(subjects, s)
	}
	return costs(ctx, h.rdb, subjects, rounds, calls)
}

func printCosts(t *table, rows []costRow) {
	t.head("Redis's time per decision (µs in scripts, medians of alternating rounds)", "who", "decision", "settlement", "÷ redis_rate", "bar")
	for _, r := range rows {
		bar, settlement := "", ""
		if r.bar > 0 {
			bar = fmt.Sprintf("≤ %.1f %s", r.bar, verdict(r.ratio <= r.bar))
		}
		if r.settlement > 0 {
			settlement = fmt.Sprintf("%.1f", r.settlement)
		}
		t.row(r.name, fmt.Sprintf("%.1f", r.decision), settlement, fmt.Sprintf("%.2f", r.ratio), bar)
	}
}

func verdict(ok bool) string {
	if ok {
		return "met"
	}
	return "**missed**"
}
