package scheduler

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"

	"github.com/hibiken/asynq"
)

// TestPauseClass: a class is closed in the limiter and its queues in asynq, the
// effect says so, and only what was paused is resumed.
func TestPauseClass(t *testing.T) {
	r := newRig(t, realRedis(t))
	run := enqueued(t, r.store)
	ctx := t.Context()
	if _, err := r.store.Begin(ctx, jobs.Task{Run: run.ID}); err != nil {
		t.Fatal(err)
	}
	e, err := r.c.Pause(ctx, PauseRequest{Target: Target{Class: "bulk"}, Owner: "alice", Detail: "a freeze"})
	r.must(err)
	all := []string{"bulk-high.test.m", "bulk-normal.test.m", "bulk-low.test.m"}
	if !slices.Equal(e.Closed, all) || e.InFlight != 1 || e.EndsWithin.Duration() != 2*time.Minute || len(e.Still) != 0 {
		t.Errorf("effect %+v, want the three queues closed and one call in flight for 2m at most", e)
	}
	r.wantStarts("bulk", false)
	r.wantStarts("interactive", true)
	r.wantStarts("evaluation", true)
	info, err := asynq.NewInspectorFromRedisClient(r.rdb).GetQueueInfo(testQueue)
	r.must(err)
	if !info.Paused {
		t.Error("asynq does not take the queue for paused")
	}
	p, ours := ParseQueuePause(r.pauseValue(testQueue))
	if !ours || !slices.Equal(p.Reasons, []string{"operator alice: a freeze"}) || !p.Until.IsZero() || p.Since.IsZero() {
		t.Errorf("value %q reads as %+v", r.pauseValue(testQueue), p)
	}
	if ttl := r.rdb.PTTL(ctx, pausedKey(testQueue)).Val(); ttl >= 0 {
		t.Errorf("a pause without end lapses in %v", ttl)
	}

	e, err = r.c.Resume(ctx, Target{Class: "bulk"}, ResumeRequest{By: "bob"})
	r.must(err)
	if !slices.Equal(e.Opened, all) || e.Lifted != 1 || r.pauseValue(testQueue) != "" {
		t.Errorf("resume: %+v, key %q, want the three queues open", e, r.pauseValue(testQueue))
	}
	r.wantStarts("bulk", true)
	if e, err = r.c.Resume(ctx, Target{Class: "bulk"}, ResumeRequest{By: "bob"}); err != nil || e.Lifted != 0 {
		t.Errorf("resuming what is not paused: %+v, err %v, want nothing to do", e, err)
	}
	if got := append(r.events(limiter.EventPause), r.events(limiter.EventResume)...); len(got) != 2 ||
		!strings.Contains(got[0], "class bulk is paused for reason operator: a freeze") || got[1] != "class bulk is resumed" {
		t.Errorf("events %q", got)
	}
}

// TestPauseUntil: the end of a pause is that of the queue's key too.
func TestPauseUntil(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	until := time.Now().Add(time.Hour)
	_, err := r.c.Pause(t.Context(), PauseRequest{Target: Target{Class: "bulk"}, Owner: "alice", Until: until})
	r.must(err)
	if ttl := r.rdb.PTTL(t.Context(), pausedKey(testQueue)).Val(); ttl < 55*time.Minute || ttl > time.Hour {
		t.Errorf("the queue's pause ends in %v, want an hour", ttl)
	}
}

// TestQueueFollowsItsUsers: a queue that two classes use is closed when both are
// paused.
func TestQueueFollowsItsUsers(t *testing.T) {
	bulk := limiter.Pause{Class: "bulk", Reason: ReasonOperator}
	evaluation := limiter.Pause{Class: "evaluation", Reason: ReasonHealth}
	q := Target{Lane: testLane, Priority: jobs.Normal}
	own := q.pause()
	own.Reason = ReasonOperator
	lane := limiter.Pause{Lane: testLane, Reason: ReasonBudget}
	mirror := own
	mirror.Owner = ownerAsynqmon
	elsewhere := limiter.Pause{Lane: testLane, Priority: limiter.High, Reason: ReasonOperator}
	for name, c := range map[string]struct {
		pauses []limiter.Pause
		users  []string
		want   int
	}{
		"no run, bulk paused":            {[]limiter.Pause{bulk}, nil, 1},
		"no run, evaluation paused":      {[]limiter.Pause{evaluation}, nil, 0},
		"both use it, one paused":        {[]limiter.Pause{bulk}, []string{"bulk", "evaluation"}, 0},
		"both use it, both paused":       {[]limiter.Pause{bulk, evaluation}, []string{"bulk", "evaluation"}, 2},
		"evaluation alone, bulk paused":  {[]limiter.Pause{bulk}, []string{"evaluation"}, 0},
		"paused itself":                  {[]limiter.Pause{own}, []string{"evaluation"}, 1},
		"another queue":                  {[]limiter.Pause{elsewhere}, nil, 0},
		"the whole lane":                 {[]limiter.Pause{lane}, nil, 1},
		"a mirror of what asynq has":     {[]limiter.Pause{mirror}, nil, 0},
		"paused itself, and its classes": {[]limiter.Pause{own, bulk}, []string{"bulk"}, 2},
	} {
		if got := closing(q, c.pauses, c.users); len(got) != c.want {
			t.Errorf("%s: closed by %v, want %d reasons", name, got, c.want)
		}
	}
}

// TestPauseRunAndQueue: a run's pause leaves other runs alone and closes no queue;
// a queue's pause closes that queue only.
func TestPauseRunAndQueue(t *testing.T) {
	r := newRig(t, realRedis(t))
	run := enqueued(t, r.store)
	ctx := t.Context()
	e, err := r.c.Pause(ctx, PauseRequest{Target: Target{Run: run.ID}, Owner: "alice"})
	r.must(err)
	if len(e.Closed) != 0 || r.pauseValue(testQueue) != "" {
		t.Errorf("a run's pause closed %v", e.Closed)
	}
	if why, ok := r.starts("bulk", limiter.Path{Run: run.ID, Priority: limiter.Normal}); ok || why != limiter.ReasonPaused {
		t.Errorf("a call of the run starts: %v (%s)", ok, why)
	}
	if why, ok := r.starts("bulk", limiter.Path{Run: "other", Priority: limiter.Normal}); !ok {
		t.Errorf("a call of another run is refused: %s", why)
	}
	_, err = r.c.Resume(ctx, Target{Run: run.ID}, ResumeRequest{By: "alice"})
	r.must(err)

	queue := Target{Lane: testLane, Priority: jobs.Normal}
	e, err = r.c.Pause(ctx, PauseRequest{Target: queue, Owner: "alice"})
	r.must(err)
	if !slices.Equal(e.Closed, []string{testQueue}) || r.pauseValue("bulk-high.test.m") != "" {
		t.Errorf("a queue's pause closed %v", e.Closed)
	}
	if why, ok := r.starts("bulk", limiter.Path{Run: run.ID, Priority: limiter.Normal}); ok || why != limiter.ReasonPaused {
		t.Errorf("a call of the queue starts: %v (%s)", ok, why)
	}
	if why, ok := r.starts("bulk", limiter.Path{Run: run.ID, Priority: limiter.High}); !ok {
		t.Errorf("a call of another queue is refused: %s", why)
	}
	// a run behind a paused queue says what holds it
	e, err = r.c.Resume(ctx, Target{Run: run.ID}, ResumeRequest{By: "alice"})
	var held *HeldError
	if !errors.As(err, &held) || held.Reason != ReasonOperator || len(e.Still) != 1 {
		t.Errorf("resuming the run behind the paused queue: %+v, err %v", e, err)
	}
}

// TestParseTarget: classes, queues and runs by what people type.
func TestParseTarget(t *testing.T) {
	r := newRig(t, realRedis(t))
	run := enqueued(t, r.store)
	for name, want := range map[string]Target{
		"bulk":             {Class: "bulk"},
		"evaluation":       {Class: "evaluation"},
		"bulk-high.test.m": {Lane: testLane, Priority: jobs.High},
		testQueue:          {Lane: testLane, Priority: jobs.Normal},
		run.ID:             {Run: run.ID},
		run.ID[:9]:         {Run: run.ID},
	} {
		got, err := r.c.ParseTarget(t.Context(), name)
		if err != nil || got != want {
			t.Errorf("%q: %+v, err %v, want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "chat", "bulk-high.test.other", "bulk-urgent.test.m"} {
		_, err := r.c.ParseTarget(t.Context(), name)
		var none *NoTargetError
		if !errors.As(err, &none) || none.Target != name || !strings.Contains(err.Error(), "bulk, evaluation") {
			t.Errorf("%q: %v, want it named as nothing that can be paused", name, err)
		}
	}
}

// TestPauseProblems: what cannot be is refused by a typed error, and changes
// nothing.
func TestPauseProblems(t *testing.T) {
	r := newRig(t, realRedis(t))
	for _, c := range []struct {
		q    PauseRequest
		want error
	}{
		{PauseRequest{Target: Target{Class: "chat"}}, &NoTargetError{}},
		{PauseRequest{Target: Target{Run: "k3f9x2"}}, &NoTargetError{}},
		{PauseRequest{Target: Target{Lane: testLane, Priority: jobs.High}}, &NoTargetError{}}, // it never had jobs
		{PauseRequest{}, &NoTargetError{}},
		{PauseRequest{Target: Target{Class: "interactive"}}, &NotPausableError{}},
		{PauseRequest{Target: Target{Class: "bulk"}, Reason: ReasonHealth}, &ConfigError{}},
		{PauseRequest{Target: Target{Class: "bulk"}, Reason: "lunch"}, &ConfigError{}},
		{PauseRequest{Target: Target{Class: "bulk"}, Until: time.Now().Add(-time.Minute)}, &PastError{}},
	} {
		_, err := r.c.Pause(t.Context(), c.q)
		if reflect.TypeOf(err) != reflect.TypeOf(c.want) {
			t.Errorf("%+v: %T %v, want %T", c.q, err, err, c.want)
			continue
		}
		if name := cmp.Or(c.q.Reason, c.q.Target.String()); !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %q", err, name)
		}
	}
	if got := r.pauses(); len(got) != 0 || len(r.events(limiter.EventPause)) != 0 {
		t.Errorf("refused pauses hold: %v", got)
	}
}
