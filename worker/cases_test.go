package worker

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"

	"github.com/hibiken/asynq"
)

// TestEmbeddingRows: kind embed gives vectors.
func TestEmbeddingRows(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run := r.enqueue(2, spec(func(s *jobs.Spec) {
			s.Kind, s.Model, s.Lane = jobs.Embed, "gemini-embedding-2", "gemini/test/global/gemini-embedding-2"
			s.Settings = jobs.Settings{TaskType: "RETRIEVAL_DOCUMENT", Dimensions: 128}
		}))
		r.start(r.config())
		if c := r.await(run, time.Minute); c[jobs.Done] != 2 {
			t.Fatalf("rows are %s: %+v", tally(c), r.results(run)["r0"].Error)
		}
		if res := r.results(run)["r1"]; len(res.Embedding) != 128 || res.Output != "" {
			t.Errorf("%d dimensions, output %q", len(res.Embedding), res.Output)
		}
	})
}

// TestModelOfAnotherConfiguration: a worker whose own configuration does not
// know the model serves its lane all the same; the gate has the limits.
func TestModelOfAnotherConfiguration(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.start(r.config())
		pass(time.Minute)
		run := r.enqueue(3, spec(func(s *jobs.Spec) { s.Model, s.Lane = "gemini-3.5-flash", "gemini/test/global/gemini-3.5-flash" }))
		if c := r.await(run, 10*time.Second); c[jobs.Done] != 3 {
			t.Errorf("rows are %s", tally(c))
		}
	})
}

// TestJSONRows: with a schema the result has the parsed answer; a cut one is no
// success.
func TestJSONRows(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t, geminitest.Fault{Kind: geminitest.FaultBadJSON, Text: "id: r1 "})
		run := r.enqueue(2, spec(func(s *jobs.Spec) {
			s.Settings.ResponseSchema = json.RawMessage(`{"type":"object","required":["tags"],"properties":{"tags":{"type":"array","items":{"type":"string"}}}}`)
		}))
		r.start(r.config())
		r.await(run, time.Minute)
		all := r.results(run)
		var parsed struct{ Tags []string }
		if err := json.Unmarshal(all["r0"].Parsed, &parsed); err != nil || all["r0"].Status != "done" {
			t.Errorf("r0: %s %s, err %v", all["r0"].Status, all["r0"].Parsed, err)
		}
		if bad := all["r1"]; bad.Status != "failed" || bad.Error.Cause != "schema" || bad.Output == "" || bad.Parsed != nil {
			t.Errorf("r1: %+v, error %+v", bad, bad.Error)
		}
	})
}

// TestRevokedKey: when the key is revoked in the middle of a run its
// rows wait, none is failed or charged an attempt, and one line says so.
func TestRevokedKey(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t, geminitest.Fault{Kind: geminitest.FaultRevokeKey, First: 10, Last: 10})
		gate := limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
		configure(t, gate, limiter.Limits{RPM: 6000})
		run := r.enqueue(200, spec())
		cfg := r.config()
		cfg.Gate, cfg.Client = gate, r.clientOver(gate)
		cfg.KeyRemedy = "put one into MY_KEY"
		w, _ := r.start(cfg)
		pass(30 * time.Second)
		for _, said := range []string{w.Stats().Lanes[0].Waiting, r.log.text()} {
			if !strings.Contains(said, "put one into MY_KEY") {
				t.Errorf("nothing says where a new key goes: %s", short(said))
			}
		}
		c, err := r.store.Counts(t.Context(), run.ID)
		if err != nil || c.Bad() != 0 || c[jobs.RetryWait] != 0 || c.Open() < 150 {
			t.Errorf("rows are %s (err %v), want all of the rest to wait", tally(c), err)
		}
		if calls := len(r.sim.Calls()); calls > 30 {
			t.Errorf("%d calls with a revoked key, want the few in flight", calls-9)
		}
		if n := strings.Count(r.log.text(), "no call of this lane can succeed"); n != 1 {
			t.Errorf("%d lines about it, want 1", n)
		}
	})
}

// TestProviderOutage: while nothing succeeds at all for some minutes, rows keep
// their last attempt, and all of them are done afterwards.
func TestProviderOutage(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t, geminitest.Fault{Kind: geminitest.Fault503, Until: 5 * time.Minute})
		run := r.enqueue(40, spec(func(s *jobs.Spec) { s.Attempts = 3 }))
		r.start(r.config())
		if c := r.await(run, 15*time.Minute); c[jobs.Done] < 37 {
			t.Errorf("rows are %s, want nearly all done", tally(c))
		}
	})
}

// TestTooLarge: a row that no limit can ever admit fails at once, with the limit
// named, and is not sent.
func TestTooLarge(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		gate := limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
		configure(t, gate, limiter.Limits{RPM: 600, InputTPM: 5})
		run := r.enqueue(1, spec())
		cfg := r.config()
		cfg.Gate, cfg.Client = gate, r.clientOver(gate)
		r.start(cfg)
		r.await(run, time.Minute)
		res := r.results(run)["r0"]
		if res.Status != "failed" || res.Error.Cause != "too_large" || !strings.Contains(res.Error.Message, "input_tpm") || len(r.sim.Calls()) != 0 {
			t.Errorf("%s, error %+v, %d calls", res.Status, res.Error, len(r.sim.Calls()))
		}
	})
}

// TestCancelButton: asynqmon's Cancel ends the task's context while
// the call goes on. The row is neither called twice nor charged.
func TestCancelButton(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(20 * time.Second)
		run := r.enqueue(1, spec(func(s *jobs.Spec) { s.Attempts = 1 }))
		r.start(r.config())
		r.until(run, 10*time.Second, "the call is out", func(jobs.Counts) bool { return len(r.sim.Calls()) == 1 })
		if err := asynq.NewInspectorFromRedisClient(r.rdb).CancelProcessing(r.task(run).ID); err != nil {
			t.Fatal(err)
		}
		if c := r.await(run, time.Minute); c[jobs.Done] != 1 {
			t.Errorf("rows are %s: %+v", tally(c), r.results(run)["r0"].Error)
		}
		pass(time.Minute)
		if calls, q := len(r.sim.Calls()), r.queue(jobs.Normal); calls != 1 || q.Size != 0 {
			t.Errorf("%d calls, %d tasks left; want 1 and none", calls, q.Size)
		}
	})
}

// TestNoWayOut: when the provider cannot be reached nothing was sent, and the
// row waits without an attempt being counted.
func TestNoWayOut(t *testing.T) {
	r := newRig(t)
	tr, err := gemini.NewTransport(gemini.TransportConfig{BaseURL: "http://127.0.0.1:1", APIKey: "test-key", Gate: r.gate, Lanes: testLanes()})
	if err != nil {
		t.Fatal(err)
	}
	cfg := r.config()
	if cfg.Client, err = gemini.NewClient(t.Context(), tr, ""); err != nil {
		t.Fatal(err)
	}
	run := r.enqueue(1, spec(func(s *jobs.Spec) { s.Attempts = 1 }))
	r.start(cfg)
	// asynq writes its error after the ledger has been told
	r.until(run, 10*time.Second, "the row waits", func(c jobs.Counts) bool { return c[jobs.Waiting] == 1 && r.task(run).LastErr != "" })
	if task := r.task(run); task.Retried != 0 || !strings.HasPrefix(task.LastErr, "waiting for a way to the provider") {
		t.Errorf("retried %d, error %q", task.Retried, task.LastErr)
	}
}

// TestPausedQueue: asynq's own pause holds a queue's rows back, and they go on
// when it is lifted.
func TestPausedQueue(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run := r.enqueue(3, spec())
		inspect := asynq.NewInspectorFromRedisClient(r.rdb)
		if err := inspect.PauseQueue(jobs.Queue(jobs.Normal, testLane)); err != nil {
			t.Fatal(err)
		}
		r.start(r.config())
		pass(time.Minute)
		if calls := len(r.sim.Calls()); calls != 0 {
			t.Errorf("%d calls from a paused queue", calls)
		}
		if err := inspect.UnpauseQueue(jobs.Queue(jobs.Normal, testLane)); err != nil {
			t.Fatal(err)
		}
		r.await(run, 5*time.Second)
	})
}

// spoil changes what the ledger has of a run, as an older program may have
// written it: enqueueing would refuse it.
func (r *rig) spoil(run jobs.Run, field, old, now string) {
	r.Helper()
	n := 0
	for _, key := range r.mini.Keys() {
		if !strings.Contains(key, run.ID) || r.mini.Type(key) != "hash" {
			continue
		}
		if v := r.mini.HGet(key, field); strings.Contains(v, old) {
			r.mini.HSet(key, field, strings.ReplaceAll(v, old, now))
			n++
		}
	}
	if n != 1 {
		r.Fatalf("%q is in %d fields %q of the run's keys, want 1", old, n, field)
	}
}

// TestUnusableSchema: a run whose schema is JSON but no JSON Schema fails its
// rows with the reason instead of keeping them for ever.
func TestUnusableSchema(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run := r.enqueue(1, spec(func(s *jobs.Spec) { s.Settings.ResponseSchema = json.RawMessage(`{"type":"object"}`) }))
		r.spoil(run, "record", `"type":"object"`, `"type":"objekt"`)
		r.start(r.config())
		r.await(run, 10*time.Second)
		if res := r.results(run)["r0"]; res.Error == nil || res.Error.Cause != "invalid_run" || !strings.Contains(res.Error.Message, "response schema") || len(r.sim.Calls()) != 0 {
			t.Errorf("%s, error %+v, %d calls", res.Status, res.Error, len(r.sim.Calls()))
		}
	})
}

// TestUpdateWhileRunning: after --update no row is made from the old template.
func TestUpdateWhileRunning(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run := r.enqueue(3, spec(func(s *jobs.Spec) { s.Name = "n" }))
		r.start(r.config())
		r.await(run, time.Minute)
		changed := spec(func(s *jobs.Spec) { s.Name, s.Template = "n", "id: {{.id}} translate {{.word}}" })
		r.update = true
		again := r.enqueue(3, changed)
		if c := r.await(again, time.Minute); again.ID != run.ID || c[jobs.Done] != 3 {
			t.Fatalf("run %s (was %s), rows are %s", again.ID, run.ID, tally(c))
		}
		tmpl, err := jobs.Compile(changed)
		if err != nil {
			t.Fatal(err)
		}
		for row, res := range r.results(run) {
			req, err := tmpl.Render(res.Fields)
			if err != nil || res.Key != tmpl.Key(&req) {
				t.Errorf("%s was made from another template (err %v)", row, err)
			}
		}
		if calls := len(r.sim.Calls()); calls != 6 {
			t.Errorf("%d calls, want 3 and 3 again", calls)
		}
	})
}
