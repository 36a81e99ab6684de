package worker

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

// virtual runs a test in virtual time.
func virtual(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// TestRowsBecomeResults: the plain case, with everything that a result says.
func TestRowsBecomeResults(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run := r.enqueue(6, spec())
		w, stop := r.start(r.config())
		if got := tally(r.await(run, time.Minute)); got != "done 6" {
			t.Fatalf("rows are %s\n%s", got, r.log.text())
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		res := r.results(run)["r3"]
		if res.Output == "" || res.Attempts != 1 || res.Usage == nil || res.Usage.Prompt == 0 || res.Finish != "STOP" ||
			res.TookMS < 1000 || res.Index != 3 || res.Key == "" || !strings.Contains(string(res.Fields), `"word3"`) {
			t.Errorf("result %+v", res)
		}
		if s := w.Stats(); s.Done != 6 || s.InFlight != 0 || s.Waits+s.Retries+s.Bad != 0 {
			t.Errorf("stats %+v", s)
		}
		if g := r.gate; g.granted != 6 || len(g.settled) != 6 || g.requests[0].Ticket == "" || g.requests[0].Path.Run != run.ID {
			t.Errorf("%d permits, %d settled, first request %+v", g.granted, len(g.settled), g.requests[0])
		}
		q := r.queue(jobs.Normal)
		if q.Size+q.Archived+q.Completed != 0 {
			t.Errorf("asynq still has %+v", q)
		}
	})
}

// TestLaneFoundLater: a lane that gets its first run while the worker runs is
// served within ten seconds.
func TestLaneFoundLater(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.start(r.config())
		pass(time.Minute)
		run := r.enqueue(1, spec())
		r.await(run, 10*time.Second)
	})
}

// TestRefusalsAreNoFailures: a row that was refused
// many times, before and after its last real failure but one, is neither
// archived nor charged an attempt.
func TestRefusalsAreNoFailures(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t, geminitest.Fault{Kind: geminitest.Fault500, First: 1, Last: 1})
		asked := 0
		r.gate.deny = func(limiter.Request) *limiter.Denied {
			if asked++; asked == 21 || asked > 40 { // the first call fails, the second is good
				return nil
			}
			return &limiter.Denied{Reason: limiter.ReasonQuota, Limiter: "rpm", RetryAfterMS: 2500}
		}
		run := r.enqueue(1, spec(func(s *jobs.Spec) { s.Attempts = 2 }))
		r.start(r.config())
		r.until(run, 10*time.Second, "the row waits", func(c jobs.Counts) bool { return c[jobs.Waiting] == 1 })
		task := r.task(run)
		if task.State.String() != "retry" || task.Retried != 0 || !strings.HasPrefix(task.LastErr, "waiting for quota (rpm) until ") || !strings.HasSuffix(task.LastErr, "(not a failure)") {
			t.Errorf("asynqmon shows state %v, retried %d, error %q", task.State, task.Retried, task.LastErr)
		}
		if c := r.await(run, 10*time.Minute); c[jobs.Done] != 1 {
			t.Fatalf("rows are %s, want the row done", tally(c))
		}
		if got := r.results(run)["r0"].Attempts; got != 2 {
			t.Errorf("%d attempts, want 2", got)
		}
		if q := r.queue(jobs.Normal); q.Archived != 0 || q.Failed > 1 {
			t.Errorf("archived %d, failed %d in asynqmon, want 0 and 1", q.Archived, q.Failed)
		}
	})
}

// TestComesBackNotTooEarly: asynq cuts times to whole seconds; the job must not
// come before the permit's time, nor much later.
func TestComesBackNotTooEarly(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		var at []time.Time
		r.gate.deny = func(limiter.Request) *limiter.Denied {
			if at = append(at, time.Now()); len(at) == 1 {
				return &limiter.Denied{Reason: limiter.ReasonTurn, RetryAfterMS: 7300}
			}
			return nil
		}
		run := r.enqueue(1, spec())
		r.start(r.config())
		r.await(run, time.Minute)
		if gap := at[1].Sub(at[0]); gap < 7300*time.Millisecond || gap > 10*time.Second {
			t.Errorf("came back after %v, want 7.3 s or a little more", gap)
		}
	})
}

// TestFewerAttempts: a row whose cause is worth fewer attempts than the run's ends
// with as many as it had.
func TestFewerAttempts(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t, geminitest.Fault{Kind: geminitest.FaultNoText})
		run := r.enqueue(1, spec())
		r.start(r.config())
		r.await(run, 2*time.Minute)
		want := fmt.Sprintf("(attempt %d of %d)", emptyAttempts, emptyAttempts)
		if res := r.results(run)["r0"]; res.Attempts != emptyAttempts || res.Error == nil || !strings.HasSuffix(res.Error.Message, want) {
			t.Errorf("%+v, error %+v; want %s", res, res.Error, want)
		}
	})
}

// TestRealFailures: attempts end at the run's limit, with growing pauses, and
// the row says why.
func TestRealFailures(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t, geminitest.Fault{Kind: geminitest.Fault500})
		run := r.enqueue(1, spec(func(s *jobs.Spec) { s.Attempts = 3 }))
		r.start(r.config())
		if c := r.await(run, 2*time.Minute); c[jobs.Failed] != 1 {
			t.Fatalf("rows are %s", tally(c))
		}
		res := r.results(run)["r0"]
		if calls := len(r.sim.Calls()); calls != 3 || res.Attempts != 3 || res.Error == nil || res.Error.Status != 500 || !strings.Contains(res.Error.Message, "attempt 3 of 3") {
			t.Errorf("%d calls, result %+v, error %+v", calls, res, res.Error)
		}
		calls := r.sim.Calls()
		first, second := calls[1].At.Sub(calls[0].At), calls[2].At.Sub(calls[1].At)
		if first < time.Second || second < 3*time.Second || second > 12*time.Second { // asynq cuts to whole seconds
			t.Errorf("pauses of %v and %v, want some 2 s and 4 s and no less by more than a second", first, second)
		}
		if q := r.queue(jobs.Normal); q.Size+q.Archived != 0 {
			t.Errorf("asynq still has %d tasks, %d archived", q.Size, q.Archived)
		}
	})
}

// TestEndsOfAnswers: what the model says decides the state, and only chance is
// asked again.
func TestEndsOfAnswers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t,
			geminitest.Fault{Kind: geminitest.FaultSafety, Text: "id: r0 "},
			geminitest.Fault{Kind: geminitest.FaultSafetyPrompt, Text: "id: r1 "},
			geminitest.Fault{Kind: geminitest.FaultRecitation, Text: "id: r2 "},
			geminitest.Fault{Kind: geminitest.FaultMaxTokens, Text: "id: r3 "},
			geminitest.Fault{Kind: geminitest.FaultNoText, Text: "id: r4 ", Times: 1},
			geminitest.Fault{Kind: geminitest.FaultNoText, Text: "id: r5 "},
			geminitest.Fault{Kind: geminitest.FaultHTML, Text: "id: r6 ", Times: 1},
			geminitest.Fault{Kind: geminitest.FaultEmpty, Text: "id: r7 ", Times: 1},
			geminitest.Fault{Kind: geminitest.FaultReset, Text: "id: r8 ", Times: 1},
			geminitest.Fault{Kind: geminitest.FaultCutJSON, Text: "id: r9 ", Times: 1},
		)
		run := r.enqueue(11, spec())
		r.start(r.config())
		r.await(run, 5*time.Minute)
		want := map[string]string{
			"r0": "blocked safety 1", "r1": "blocked safety 1", "r2": "failed recitation 2", "r3": "truncated truncated_by_thinking 1",
			"r4": "done 2", "r5": "failed empty 3", "r6": "done 2", "r7": "done 2", "r8": "done 2", "r9": "done 2", "r10": "done 1",
		}
		for row, res := range r.results(run) {
			got := fmt.Sprintf("%s %d", res.Status, res.Attempts)
			if res.Error != nil {
				got = fmt.Sprintf("%s %s %d", res.Status, res.Error.Cause, res.Attempts)
			}
			if got != want[row] {
				t.Errorf("%s: %s (%+v), want %s", row, got, res.Error, want[row])
			}
		}
	})
}
