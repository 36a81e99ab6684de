package worker

import (
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

// TestRowsThatMetTheEndGoOnToo: a row that heard of the day's end stands in line like
// those that did not, and goes on with them when somebody knows better.
func TestRowsThatMetTheEndGoOnToo(t *testing.T) {
	for _, kind := range []geminitest.FaultKind{geminitest.Fault429RPD, geminitest.Fault429Month, geminitest.Fault429LimitZero} {
		t.Run(string(kind), func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				r := newRig(t, geminitest.Fault{Kind: kind, First: 10})
				gate := limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
				configure(t, gate, limiter.Limits{RPM: 600})
				run := r.enqueue(40, spec())
				r.process(gate, "a", func() string { return "key" })
				r.until(run, time.Minute, "the end is met", func(c jobs.Counts) bool { return c[jobs.Done] >= 9 && c[jobs.Waiting] > 0 })
				pass(2 * time.Minute)
				r.sim.ClearFaults()
				if _, err := gate.LookAgain(t.Context()); err != nil {
					t.Fatal(err)
				}
				if c := r.await(run, 2*time.Minute); c[jobs.Done] != 40 {
					t.Errorf("rows are %s", tally(c))
				}
			})
		})
	}
}

// TestCapBelowARow: rows that may cost more than a cap ever gives wait until it does.
func TestCapBelowARow(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		gate := limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
		configure(t, gate, limiter.Limits{RPM: 600, USDPerMonth: 100})
		run := r.enqueue(20, spec())
		r.process(gate, "a", func() string { return "key" })
		pass(time.Minute)
		c, err := r.store.Counts(t.Context(), run.ID)
		if err != nil || c[jobs.Waiting] != 20 {
			t.Fatalf("rows are %s (%v), want all to wait", tally(c), err)
		}
		configure(t, gate, limiter.Limits{RPM: 600, USDPerMonth: 900_000_000})
		if c := r.await(run, holdSpread+2*time.Minute); c[jobs.Done] != 20 {
			t.Errorf("rows are %s", tally(c))
		}
	})
}
