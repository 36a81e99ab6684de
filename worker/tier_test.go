package worker

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

func byTier(tier string) func(*jobs.Spec) {
	return func(s *jobs.Spec) { s.Steer.ServiceTier = tier }
}

// notingGate keeps the events' texts.
type notingGate struct {
	*testGate
	mu    sync.Mutex
	texts []string
}

func (g *notingGate) Note(_ context.Context, e limiter.Event) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.texts = append(g.texts, e.Text)
	return nil
}

// tiers are how many rows were served by which tier.
func (r *rig) tiers(run jobs.Run) map[string]int {
	out := map[string]int{}
	for _, res := range r.results(run) {
		out[res.Tier]++
	}
	return out
}

// faults are the calls that a fault hit.
func (r *rig) faults() (n int) {
	for _, c := range r.sim.Calls() {
		if c.Fault != "" {
			n++
		}
	}
	return n
}

// TestTierIsAskedForAndKept: what a run asks for is what is sent, and what served stands
// in its results, with the price.
func TestTierIsAskedForAndKept(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		_, _ = r.start(r.config())
		cost := map[string]int64{}
		for _, tier := range []string{"", "standard", "flex", "priority", "auto"} {
			run := r.enqueue(1, spec(byTier(tier), func(s *jobs.Spec) { s.Name = "by" + tier; s.Attempts = 2 }))
			r.await(run, time.Minute)
			want := tier
			if tier == "" {
				want = "standard"
			}
			if tier == "auto" {
				want = "flex"
			}
			res := r.results(run)["r0"]
			if res.Tier != want || res.MicroUSD == nil {
				t.Fatalf("asked for %q: served by %q, %+v", tier, res.Tier, res)
			}
			cost[tier] = *res.MicroUSD
		}
		if 2*cost["flex"] < cost["standard"] || 2*cost["flex"] > cost["standard"]+2 || cost["priority"] <= cost["standard"] || cost[""] != cost["standard"] || cost["auto"] != cost["flex"] {
			t.Errorf("costs by tier: %v", cost)
		}
	})
}

// TestFlexIsLeft: while flex sheds calls rows go by standard, at no cost of their attempts.
func TestFlexIsLeft(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t, geminitest.Fault{Kind: geminitest.Fault503, Tier: "flex"})
		gate := &notingGate{testGate: r.gate}
		cfg := r.config()
		cfg.Gate, cfg.Client = gate, r.clientOver(gate)
		w, _ := r.start(cfg)
		run := r.enqueue(30, spec(byTier("flex"), func(s *jobs.Spec) { s.Attempts = 1 }))
		if got := tally(r.await(run, 10*time.Minute)); got != "done 30" {
			t.Fatalf("rows are %s\n%s", got, r.log.text())
		}
		if got := r.tiers(run); got["standard"] != 30 {
			t.Errorf("served by %v", got)
		}
		if shed := r.faults(); shed < flexShed || shed > flexShed+4*flexOwn {
			t.Errorf("%d calls were shed before flex was left", shed)
		}
		if s, err := Flex(t.Context(), r.rdb, testLane); err != nil || !s.Escaped() || s.Until.Sub(s.Since) != flexHold {
			t.Errorf("flex is %+v, %v", s, err)
		}
		if f := w.Info().Lanes[0].Failing; f != nil {
			t.Errorf("the provider is said to fail: %+v", f)
		}
		gate.mu.Lock()
		defer gate.mu.Unlock()
		if n := len(gate.texts); n != 1 || !strings.Contains(gate.texts[0], "no capacity") {
			t.Errorf("events: %q", gate.texts)
		}
	})
}

// TestFlexIsTriedAgain: one look at a time finds out that flex serves again, after twice
// the time when it was shed.
func TestFlexIsTriedAgain(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		call := func(op string, arg any) string {
			what, _, err := flexCall(t.Context(), r.rdb, testLane, op, arg)
			if err != nil {
				t.Fatal(err)
			}
			return what
		}
		want := func(step, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %q, want %q", step, got, want)
			}
		}
		for i := range flexOf { // well served, with some shed
			op := "served"
			if i%3 == 0 {
				op = "shed"
			}
			want("a third is shed", call(op, 0), "")
		}
		want("a third is shed", call("look", ""), "flex")
		for call("shed", 0) != "escaped" {
		}
		want("left", call("look", ""), "standard")
		want("no look before its time", call("probe", 60_000), "0")
		want("one that went out before", call("served", 0), "")
		want("left", call("look", ""), "standard")
		pass(flexHold)
		want("time for a look", call("look", ""), "due")
		want("the look", call("probe", 60_000), "1")
		want("one look at a time", call("probe", 60_000), "0")
		want("while it is out", call("look", ""), "standard")
		call("leave", "")
		want("it was not sent", call("look", ""), "due")
		want("another look", call("probe", 60_000), "1")
		call("shed", 1)
		pass(flexHold)
		want("twice the time", call("look", ""), "standard")
		pass(flexHold)
		want("twice the time", call("probe", 60_000), "1")
		pass(time.Minute) // whoever looked is dead
		want("a lost look", call("probe", 60_000), "1")
		want("served", call("served", 1), "back")
		want("served", call("look", ""), "flex")
		for range flexShed - 1 {
			want("it begins anew", call("shed", 0), "")
		}
	})
}

// TestFlexRunsDry: few calls go by flex, and none of them was served for long.
func TestFlexRunsDry(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		for i, want := range []string{"", "", "escaped"} {
			if got, _, err := flexCall(t.Context(), r.rdb, testLane, "shed", 0); err != nil || got != want {
				t.Errorf("shed call %d: %q, %v; want %q", i, got, err, want)
			}
			pass(flexDry / 2)
		}
	})
}

// TestRowShedTwiceGoesByStandard: however well flex serves the others.
func TestRowShedTwiceGoesByStandard(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t, geminitest.Fault{Kind: geminitest.Fault503, Tier: "flex", Text: "id: r3 "})
		_, _ = r.start(r.config())
		run := r.enqueue(12, spec(byTier("flex"), func(s *jobs.Spec) { s.Attempts = 1 }))
		if got := tally(r.await(run, 5*time.Minute)); got != "done 12" {
			t.Fatalf("rows are %s\n%s", got, r.log.text())
		}
		if got := r.tiers(run); got["standard"] != 1 || got["flex"] != 11 || r.results(run)["r3"].Tier != "standard" {
			t.Errorf("served by %v", got)
		}
		if n := r.faults(); n != flexOwn {
			t.Errorf("the row was shed %d times, want %d", n, flexOwn)
		}
		if a := r.results(run)["r3"].Attempts; a != 1 {
			t.Errorf("it took %d attempts", a)
		}
	})
}

// TestFlexTakesItsTime: a call by flex may last longer than another one, and its permit
// holds that long.
func TestFlexTakesItsTime(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.sim = geminitest.MustNew(geminitest.Config{Latency: geminitest.Latency{Base: 40 * time.Second}})
		cfg := r.config()
		cfg.Client, cfg.CallTimeout, cfg.FlexTimeout = r.client(), 20*time.Second, time.Minute
		_, _ = r.start(cfg)
		run := r.enqueue(1, spec(byTier("flex"), func(s *jobs.Spec) { s.Attempts = 1 }))
		if got := tally(r.await(run, 2*time.Minute)); got != "done 1" {
			t.Fatalf("rows are %s\n%s", got, r.log.text())
		}
		lease := func(q limiter.Request) bool { return q.Lease > time.Minute }
		r.gate.set(func(g *testGate) {
			if !slices.ContainsFunc(g.requests, lease) {
				t.Errorf("permits were asked for %+v", g.requests)
			}
		})
	})
}

// TestAutoMindsTheDeadline: near it nothing is risked.
func TestAutoMindsTheDeadline(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		_, _ = r.start(r.config())
		near := func(d time.Duration) func(*jobs.Spec) {
			return func(s *jobs.Spec) {
				s.Name, s.Steer.ServiceTier, s.Steer.Deadline = d.String(), "auto", time.Now().Add(d)
			}
		}
		for d, want := range map[time.Duration]string{20 * time.Minute: "standard", 2 * time.Hour: "flex"} {
			run := r.enqueue(2, spec(near(d)))
			r.await(run, time.Minute)
			if got := r.tiers(run); got[want] != 2 {
				t.Errorf("%s before the deadline rows are served by %v", d, got)
			}
		}
		// a deadline that is moved counts from the next row on
		run := r.enqueue(1, spec(near(3*time.Hour)))
		r.await(run, time.Minute)
		moved, err := r.store.Steer(t.Context(), run.ID, func(s *jobs.Steering) error { s.Deadline = time.Now().Add(time.Minute); return nil })
		if err != nil || moved.Stamp() == run.Stamp() {
			t.Errorf("workers do not see that the deadline moved: %q, %v", moved.Stamp(), err)
		}
	})
}
