package worker

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

// process is a worker with a key of its own, over the shared limiter.
func (r *rig) process(gate *limiter.Redis, name string, key func() string) *Worker {
	r.Helper()
	tr, err := gemini.NewTransport(gemini.TransportConfig{
		Base: r.sim, Key: key, KeyFrom: "the variable KEY_OF_" + name, Process: "worker:" + name, Gate: gate, Lanes: testLanes(), Logger: r.log.logger(),
	})
	if err != nil {
		r.Fatal(err)
	}
	go tr.WatchKey(r.Context())
	cfg := r.config()
	cfg.Gate = gate
	if cfg.Client, err = gemini.NewClient(r.Context(), tr, ""); err != nil {
		r.Fatal(err)
	}
	w, _ := r.start(cfg)
	return w
}

// alerts gives the alerts that were noted.
func (r *rig) alerts(gate *limiter.Redis) (texts []string) {
	r.Helper()
	list, err := gate.Events(r.Context(), time.Time{}, 0)
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range list {
		if e.Kind == limiter.EventAlert {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// TestKeyReplaced: a key that is revoked after a hundred rows fails none of the rest.
// One alert says so, few calls look whether it works again, and within a minute of a
// new key the run goes on by itself.
func TestKeyReplaced(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const rows = 250
		r := newRig(t, geminitest.Fault{Kind: geminitest.FaultRevokeKey, First: 100, Last: 100})
		gate := limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
		configure(t, gate, limiter.Limits{RPM: 6000})
		run := r.enqueue(rows, spec())
		var key atomic.Value
		key.Store("first")
		for _, name := range []string{"a", "b"} {
			r.process(gate, name, func() string { return key.Load().(string) })
		}
		r.until(run, 10*time.Minute, "a hundred rows are done", func(c jobs.Counts) bool { return c[jobs.Done] >= 99 })
		pass(3 * time.Minute)
		c, err := r.store.Counts(t.Context(), run.ID)
		if err != nil || c.Bad() != 0 || c[jobs.RetryWait] != 0 || c[jobs.Done]+c.Open() != rows {
			t.Errorf("rows are %s (err %v), want all of the rest to wait", tally(c), err)
		}
		calls, done := int64(len(r.sim.Calls())), c[jobs.Done]
		if calls > done+8+10 { // in flight when it was revoked, and looks
			t.Errorf("%d calls for %d rows in three minutes with a revoked key", calls, done)
		}
		if list := r.alerts(gate); len(list) != 1 || !strings.Contains(list[0], "API_KEY") && !strings.Contains(list[0], "API key") {
			t.Errorf("alerts %q, want one", list)
		}
		key.Store("second")
		r.until(run, time.Minute, "the run goes on", func(c jobs.Counts) bool { return c[jobs.Done] > done })
		end := r.await(run, 10*time.Minute)
		t.Logf("rows are %s; %d calls with the revoked key; alerts %d", tally(end), calls-done, len(r.alerts(gate)))
		if end[jobs.Done] != rows {
			t.Errorf("rows are %s", tally(end))
		}
		for id, res := range r.results(run) {
			if res.Attempts != 1 {
				t.Fatalf("row %s took %d attempts", id, res.Attempts)
			}
		}
	})
}

// TestKeyOfOneWorker: a key that is refused while another process's works concerns
// that process: its rows go back, the other makes them, and the alert says which
// process, and where its key comes from.
func TestKeyOfOneWorker(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const rows = 100
		r := newRig(t)
		r.sim.RevokeKey("bad")
		gate := limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
		configure(t, gate, limiter.Limits{RPM: 6000})
		run := r.enqueue(rows, spec())
		r.process(gate, "good", func() string { return "good" })
		r.until(run, time.Minute, "the good one works", func(c jobs.Counts) bool { return c[jobs.Done] > 10 })
		pass(10 * time.Second) // its key is known to work
		w := r.process(gate, "wrong", func() string { return "bad" })
		if c := r.await(run, 20*time.Minute); c[jobs.Done] != rows {
			t.Errorf("rows are %s", tally(c))
		}
		list := r.alerts(gate)
		if len(list) != 1 || !strings.Contains(list[0], "worker:wrong") || !strings.Contains(list[0], "KEY_OF_wrong") {
			t.Errorf("alerts %q, want one that names the process and where its key comes from", list)
		}
		if open, err := gate.Breakers(t.Context()); err != nil || len(open) != 0 {
			t.Errorf("%+v is open for all (err %v)", open, err)
		}
		if l := w.Info().Lanes[0]; l.Trouble == nil || !strings.Contains(l.Trouble.Why, "api_key_invalid") {
			t.Errorf("the fleet is told %+v", l.Trouble)
		}
	})
}
