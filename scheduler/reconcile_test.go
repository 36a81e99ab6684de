package scheduler

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"

	"github.com/hibiken/asynq"
)

var normal = Target{Lane: testLane, Priority: jobs.Normal}

func (r *rig) reconcile() Reconciled {
	r.Helper()
	got, err := r.c.Reconcile(r.ctx())
	r.must(err)
	return got
}

// healthPause closes all pausable classes as the monitor does.
func (r *rig) healthPause() {
	r.Helper()
	now, err := r.c.now(r.ctx())
	r.must(err)
	like := limiter.Pause{Reason: ReasonHealth, Owner: "sched", Since: now, Until: now.Add(PauseLease), Detail: "slow"}
	ps, err := r.c.healthPauses(r.ctx(), like, now)
	r.must(err)
	r.must(r.c.enforce(r.ctx(), ReasonHealth, ps, nil))
	r.reconcile()
}

// TestOperatorInAsynqmon: a queue paused by asynq's own means stays paused
// through all that we do, is known as an operator's, and passed over in the line;
// when a person lifts it there, it is open here.
func TestOperatorInAsynqmon(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	asynqmon := asynq.NewInspectorFromRedisClient(r.rdb)
	r.must(asynqmon.PauseQueue(testQueue))
	theirs := r.pauseValue(testQueue)
	r.reconcile()
	r.reconcile()
	if got := r.pauses(); !slices.Equal(got, []string{testQueue + "/operator/asynqmon"}) {
		t.Fatalf("pauses %v, want the mirror", got)
	}
	if got := r.events(limiter.EventPause); len(got) != 1 || !strings.Contains(got[0], "asynqmon") {
		t.Errorf("events %q, want one", got)
	}
	if why, ok := r.starts("bulk", limiter.Path{Priority: limiter.Normal}); ok || why != limiter.ReasonPaused {
		t.Errorf("what is in the queue starts: %v (%s)", ok, why)
	}

	r.healthPause() // comes and goes
	if got := r.pauseValue(testQueue); got != theirs {
		t.Errorf("the monitor's pause replaced %q by %q", theirs, got)
	}
	_, err := r.c.Pause(t.Context(), PauseRequest{Target: Target{Class: "bulk"}, Owner: "alice"})
	r.must(err)
	_, err = r.c.Resume(t.Context(), Target{Class: "bulk"}, ResumeRequest{By: "alice", Override: time.Minute})
	r.must(err)
	if got := r.pauseValue(testQueue); got != theirs {
		t.Errorf("resuming the class changed the operator's pause from %q to %q", theirs, got)
	}

	r.must(asynqmon.UnpauseQueue(testQueue))
	r.reconcile()
	if got := r.pauses(); len(got) != 0 {
		t.Errorf("pauses after the operator's resume: %v", got)
	}
	if _, ok := r.starts("bulk", limiter.Path{Priority: limiter.Normal}); !ok {
		t.Error("what is in the queue does not start after the operator's resume")
	}
}

// TestMirrorLapses: a mirror holds for a lease only, so that a resume in asynqmon
// counts while no scheduler runs.
func TestMirrorLapses(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	r.must(asynq.NewInspectorFromRedisClient(r.rdb).PauseQueue(testQueue))
	got := r.reconcile().Holding[testQueue]
	if len(got) != 1 || time.Until(got[0].Until) > PauseLease || time.Until(got[0].Until) < PauseLease/2 {
		t.Errorf("mirror %+v, want a lease of %v", got, PauseLease)
	}
	if age := time.Since(got[0].Since); age > time.Minute {
		t.Errorf("mirror is %v old, want asynq's own time", age)
	}
}

// TestResumeByName: an operator's pause made in asynqmon can be lifted by our
// command for exactly that queue.
func TestResumeByName(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	r.must(asynq.NewInspectorFromRedisClient(r.rdb).PauseQueue(testQueue))
	r.reconcile()
	e, err := r.c.Resume(t.Context(), normal, ResumeRequest{By: "alice"})
	if err != nil || e.Lifted != 1 || r.pauseValue(testQueue) != "" || len(r.pauses()) != 0 {
		t.Errorf("%+v, err %v, key %q, pauses %v: want it lifted", e, err, r.pauseValue(testQueue), r.pauses())
	}
}

// TestHealthPauseLapses: without renewal both the limiter's and asynq's end.
func TestHealthPauseLapses(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	r.healthPause()
	ttl := r.rdb.PTTL(t.Context(), pausedKey(testQueue)).Val()
	if ttl < PauseLease/2 || ttl > PauseLease {
		t.Errorf("the queue's pause lapses in %v, want %v", ttl, PauseLease)
	}
	for _, p := range r.reconcile().Pauses {
		if left := time.Until(p.Until); left <= 0 || left > PauseLease {
			t.Errorf("%+v holds for %v", p, left)
		}
	}
	p, _ := ParseQueuePause(r.pauseValue(testQueue))
	if !slices.Equal(p.Reasons, []string{"health sched: slow"}) {
		t.Errorf("reasons %q", p.Reasons)
	}
}

// TestResumeOverHealth: refused with the reason unless overridden; overridden,
// everything opens and the monitor is held.
func TestResumeOverHealth(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	r.healthPause()
	_, err := r.c.Resume(t.Context(), Target{Class: "bulk"}, ResumeRequest{By: "alice"})
	var held *HeldError
	if !errors.As(err, &held) || held.Reason != ReasonHealth || !strings.Contains(err.Error(), "--override") ||
		held.Hint() != "nightshift resume bulk --override 30m" {
		t.Fatalf("resume over a health pause: %v", err)
	}
	r.wantStarts("bulk", false)
	e, err := r.c.Resume(t.Context(), Target{Class: "bulk"}, ResumeRequest{By: "alice", Override: 30 * time.Minute})
	r.must(err)
	if len(e.Opened) != 3 || e.Lifted == 0 || time.Until(e.Until) < 29*time.Minute {
		t.Errorf("override: %+v", e)
	}
	r.wantStarts("bulk", true)
	r.wantStarts("evaluation", true)
	hold, err := r.c.readHold(t.Context())
	if err != nil || !hold.Open || hold.By != "alice" || !hold.Until.Equal(e.Until) {
		t.Errorf("hold %+v, err %v", hold, err)
	}
	if _, err := r.c.Resume(t.Context(), Target{Class: "bulk"}, ResumeRequest{Override: -time.Minute}); err == nil {
		t.Error("a negative override was taken")
	}
	// an override ahead of time holds the monitor too, and is told of
	told := len(r.events(limiter.EventResume))
	e, err = r.c.Resume(t.Context(), Target{Class: "bulk"}, ResumeRequest{By: "bob", Override: time.Hour})
	if hold, _ := r.c.readHold(t.Context()); err != nil || e.Lifted != 0 || hold.By != "bob" || len(r.events(limiter.EventResume)) != told+1 {
		t.Errorf("override while nothing is paused: %+v, err %v, hold %+v", e, err, hold)
	}
}

// TestOverrideOneQueue: by our command, too, one queue can be opened over a health
// pause, and the monitor goes on.
func TestOverrideOneQueue(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	r.healthPause()
	e, err := r.c.Resume(t.Context(), normal, ResumeRequest{By: "alice", Override: 10 * time.Minute})
	if err != nil || !slices.Equal(e.Opened, []string{testQueue}) || len(e.Still) != 0 {
		t.Errorf("%+v, err %v: want that queue open", e, err)
	}
	r.healthPause()
	if _, ok := r.starts("bulk", limiter.Path{Priority: limiter.Normal}); !ok || r.pauseValue(testQueue) != "" {
		t.Error("the queue was closed again")
	}
	if _, ok := r.starts("bulk", limiter.Path{Priority: limiter.Low}); ok {
		t.Error("another queue is open")
	}
	// a leader that looked before the override closes the class once more
	r.must(r.lim.Pause(t.Context(), limiter.Pause{Class: "bulk", Reason: ReasonHealth, Until: time.Now().Add(PauseLease)}))
	if r.reconcile(); r.pauseValue(testQueue) != "" || r.pauseValue("bulk-low.test.m") == "" {
		t.Errorf("keys %q and %q: want the overridden queue open", r.pauseValue(testQueue), r.pauseValue("bulk-low.test.m"))
	}
	if hold, err := r.c.readHold(t.Context()); err != nil || hold.holds(time.Now()) {
		t.Errorf("the monitor is held: %+v, err %v", hold, err)
	}
}

// TestResumeBothReasons: the operator's reason goes, the monitor's stays and is told.
func TestResumeBothReasons(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	_, err := r.c.Pause(t.Context(), PauseRequest{Target: Target{Class: "bulk"}, Owner: "alice"})
	r.must(err)
	r.healthPause()
	if ttl := r.rdb.PTTL(t.Context(), pausedKey(testQueue)).Val(); ttl >= 0 {
		t.Errorf("with an operator's reason the queue's pause lapses in %v", ttl)
	}
	e, err := r.c.Resume(t.Context(), Target{Class: "bulk"}, ResumeRequest{By: "alice"})
	if err != nil || e.Lifted != 1 || len(e.Still) != 1 || e.Still[0].Reason != ReasonHealth || len(e.Opened) != 0 {
		t.Errorf("%+v, err %v: want health to hold on", e, err)
	}
	r.wantStarts("bulk", false)
	if ttl := r.rdb.PTTL(t.Context(), pausedKey(testQueue)).Val(); ttl <= 0 {
		t.Error("with the monitor's reason alone the queue's pause never lapses")
	}
}

// TestResumedInAsynqmon: whoever presses resume during a health pause is
// respected for that queue, and for that queue alone.
func TestResumedInAsynqmon(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	r.healthPause()
	r.must(asynq.NewInspectorFromRedisClient(r.rdb).UnpauseQueue(testQueue))
	r.reconcile()
	for range 2 {
		r.healthPause() // the monitor goes on
		if r.pauseValue(testQueue) != "" || r.pauseValue("bulk-high.test.m") == "" {
			t.Fatalf("normal %q, high %q: want only the resumed queue open", r.pauseValue(testQueue), r.pauseValue("bulk-high.test.m"))
		}
		if why, ok := r.starts("bulk", limiter.Path{Priority: limiter.Normal}); !ok {
			t.Errorf("what is in the resumed queue does not start: %s", why)
		}
		if _, ok := r.starts("bulk", limiter.Path{Priority: limiter.High}); ok {
			t.Error("what is in another queue starts")
		}
	}
	var held *HeldError
	if _, err := r.c.Resume(t.Context(), Target{Class: "bulk"}, ResumeRequest{By: "alice"}); !errors.As(err, &held) || held.Reason != ReasonHealth {
		t.Errorf("resuming the class whose other queues are closed: %v", err)
	}
	s, err := r.c.Status(t.Context())
	r.must(err)
	if left := time.Until(s.Overrides[testQueue]); left < QueueOverride-time.Minute || left > QueueOverride {
		t.Errorf("override ends in %v, want %v", left, QueueOverride)
	}
	if got := r.events(limiter.EventResume); len(got) != 1 || !strings.Contains(got[0], "30m") {
		t.Errorf("events %q", got)
	}
	// when the override ends the queue is closed like the others
	r.must(r.c.overrideQueue(t.Context(), testQueue, time.Now().Add(-time.Second)))
	r.healthPause()
	if _, ok := r.starts("bulk", limiter.Path{Priority: limiter.Normal}); ok || r.pauseValue(testQueue) == "" {
		t.Error("the queue is open after its override ended")
	}
}

// TestResumedInAsynqmonOverOperator: a person's pause of that queue is lifted by
// it; one of the whole class is not.
func TestResumedInAsynqmonOverOperator(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	asynqmon := asynq.NewInspectorFromRedisClient(r.rdb)
	_, err := r.c.Pause(t.Context(), PauseRequest{Target: normal, Owner: "alice"})
	r.must(err)
	r.must(asynqmon.UnpauseQueue(testQueue))
	if r.reconcile(); len(r.pauses()) != 0 || r.pauseValue(testQueue) != "" {
		t.Errorf("pauses %v, key %q: want the queue's pause lifted", r.pauses(), r.pauseValue(testQueue))
	}
	_, err = r.c.Pause(t.Context(), PauseRequest{Target: Target{Class: "bulk"}, Owner: "alice"})
	r.must(err)
	r.must(asynqmon.UnpauseQueue(testQueue))
	if r.reconcile(); r.pauseValue(testQueue) == "" {
		t.Error("a paused class's queue stays open")
	}
	if got := r.events(limiter.EventResume); len(got) != 2 || !strings.Contains(got[1], "closed again: operator alice") {
		t.Errorf("events %q", got)
	}
}

// TestForeignValueIsLeftAlone: between our look and our write an operator's value
// may come; opening and closing both leave it.
func TestForeignValueIsLeftAlone(t *testing.T) {
	r := newRig(t, realRedis(t))
	now := time.Now()
	r.must(r.rdb.Set(t.Context(), pausedKey("q"), "1764455000", 0).Err())
	for _, p := range []*QueuePause{nil, {By: queuePauseBy, Reasons: []string{"health"}, Since: now, Until: now.Add(time.Minute)}} {
		for _, again := range []bool{false, true} {
			what, found, err := r.c.setQueue(t.Context(), "q", p, now, again)
			if err != nil || what != queueTheirs || found != "1764455000" || r.pauseValue("q") != "1764455000" {
				t.Errorf("%+v: %s %q, err %v, key %q", p, what, found, err, r.pauseValue("q"))
			}
		}
	}
}

// TestLapsedIsNotTaken: a pause of ours that ran out by itself is no resume.
func TestLapsedIsNotTaken(t *testing.T) {
	r := newRig(t, realRedis(t))
	now := time.Now()
	p := &QueuePause{By: queuePauseBy, Since: now, Until: now.Add(time.Minute)}
	if what, _, err := r.c.setQueue(t.Context(), "q", p, now, false); err != nil || what != queueClosed {
		t.Fatal(what, err)
	}
	r.must(r.rdb.Del(t.Context(), pausedKey("q"), closedKey("q")).Err()) // as their common expiry does
	if what, _, err := r.c.setQueue(t.Context(), "q", p, now, false); err != nil || what != queueClosed {
		t.Errorf("after it ran out: %s, err %v, want it closed anew", what, err)
	}
	r.must(r.rdb.Del(t.Context(), pausedKey("q")).Err())
	if what, _, err := r.c.setQueue(t.Context(), "q", p, now, false); err != nil || what != queueTaken || r.pauseValue("q") != "" {
		t.Errorf("after it was deleted: %s, err %v, want it taken for a resume", what, err)
	}
	if got := r.rdb.Exists(t.Context(), closedKey("q")).Val(); got != 1 {
		t.Error("a resume that nobody dealt with yet is forgotten")
	}
}

// TestDashboardButtons: pause and resume of a queue, and a resume that cannot be.
func TestDashboardButtons(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	ctx := t.Context()
	r.must(r.c.PauseQueue(ctx, testQueue, "dashboard"))
	if got := r.pauses(); !slices.Equal(got, []string{testQueue + "/operator/dashboard"}) || r.pauseValue(testQueue) == "" {
		t.Errorf("pauses %v", got)
	}
	r.healthPause()
	var held *HeldError
	if err := r.c.ResumeQueue(ctx, testQueue, "dashboard"); !errors.As(err, &held) || held.Reason != ReasonHealth {
		t.Errorf("resume under a health pause: %v", err)
	}
	if got := r.pauses(); slices.Contains(got, testQueue+"/operator/dashboard") {
		t.Errorf("the operator's own reason is still there: %v", got)
	}
	r.must(r.c.enforce(ctx, ReasonHealth, nil, nil))
	if r.reconcile(); r.pauseValue(testQueue) != "" {
		t.Error("the queue is closed for no reason")
	}
	for _, do := range []func() error{
		func() error { return r.c.PauseQueue(ctx, "bulk-high.test.none", "dashboard") },
		func() error { return r.c.ResumeQueue(ctx, "bulk-high.test.none", "dashboard") },
	} {
		var none *NoTargetError
		if err := do(); !errors.As(err, &none) {
			t.Errorf("a queue that does not exist: %v", err)
		}
	}
}
