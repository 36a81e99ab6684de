package worker

import (
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"google.golang.org/genai"
)

const otherModel = "gemini-2.5-flash-lite"

// otherClient goes over a transport that may ask another model for rows that
// would wait five minutes.
func (r *rig) otherClient() *genai.Client {
	r.Helper()
	lanes, err := gemini.NewLaneMap("test", "", gemini.Model{Name: testModel}, gemini.Model{Name: otherModel})
	if err != nil {
		r.Fatal(err)
	}
	f, err := gemini.NewFallbacks(gemini.FallbacksConfig{
		Lanes:  lanes,
		Rules:  []gemini.FallbackRule{{Class: "bulk", Named: true, After: 5 * time.Minute, Causes: []gemini.DegradeCause{gemini.CauseSpend, gemini.CauseQuota}, Try: []gemini.DegradeKind{gemini.DegradedModel}}},
		Models: []gemini.ModelPair{{From: testModel, To: otherModel, Residency: true}},
	})
	if err != nil {
		r.Fatal(err)
	}
	tr, err := gemini.NewTransport(gemini.TransportConfig{Base: r.sim, APIKey: "test-key", Gate: r.gate, Lanes: lanes, Degrade: f})
	if err != nil {
		r.Fatal(err)
	}
	c, err := gemini.NewClient(r.Context(), tr, "")
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// refuseModel refuses one model for a reason and time.
func (g *testGate) refuseModel(why limiter.Reason, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deny = func(q limiter.Request) *limiter.Denied {
		if q.Lane.Model != testModel {
			return nil
		}
		return &limiter.Denied{Reason: why, RetryAfterMS: d.Milliseconds(), Ticket: q.Ticket, Decision: limiter.Queued}
	}
}

// TestOtherModel: rows of a run that allows it are answered by the other model
// when theirs is out for long, and say so; all else waits.
func TestOtherModel(t *testing.T) {
	for name, c := range map[string]struct {
		other string
		why   limiter.Reason
		wait  time.Duration
		done  int64
	}{
		"allowed, no money for long":  {otherModel, limiter.ReasonSpend, 10 * time.Hour, 4},
		"allowed, no quota for a bit": {otherModel, limiter.ReasonQuota, time.Minute, 0},
		"allowed, but paused":         {otherModel, limiter.ReasonPaused, 10 * time.Hour, 0},
		"not allowed":                 {"", limiter.ReasonSpend, 10 * time.Hour, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.gate.refuseModel(c.why, c.wait)
			run := r.enqueue(4, spec(func(s *jobs.Spec) { s.OtherModel = c.other }))
			cfg := r.config()
			cfg.Client = r.otherClient()
			_, stop := r.start(cfg)
			counts := r.until(run, 30*time.Second, name, func(k jobs.Counts) bool { return k[jobs.Done]+k[jobs.Waiting] == 4 })
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if counts[jobs.Done] != c.done {
				t.Fatalf("%s: %v", name, counts)
			}
			if c.done == 0 {
				if n := len(r.sim.Calls()); n != 0 {
					t.Errorf("%s: %d calls", name, n)
				}
				return
			}
			for row, res := range r.results(run) {
				if res.Instead != testModel || res.Output == "" || res.Attempts != 1 {
					t.Errorf("%s: %s: %+v", name, row, res)
				}
			}
			for _, call := range r.sim.Calls() {
				if call.Model != otherModel {
					t.Errorf("%s: a call of %s", name, call.Model)
				}
			}
			if r.gate.mu.Lock(); len(r.gate.dropped) != 4 {
				t.Errorf("%s: %d places in the line are given back, want 4", name, len(r.gate.dropped))
			}
			r.gate.mu.Unlock()
		})
	}
}
