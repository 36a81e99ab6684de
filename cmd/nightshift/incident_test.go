package main

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// incident: the provider becomes slow while bulk runs, with every process on
// its own. Nothing that can be paused starts later than ten seconds after the
// threshold was crossed, whichever way it comes: rows, calls through the gateway,
// calls of a library. The leader is killed, the standby holds on; that is killed
// too, and the pause lapses within 30 s. A queue that a person paused in asynqmon
// stays paused through all of it.
func incident(t *testing.T) {
	n := newNight(t, 1200, "health: {samples: 20}\n")
	ctx, cancel := context.WithCancel(context.Background())
	control := &scheduler.Control{Redis: n.rdb, Limiter: n.limits, Store: n.store, Scope: n.scope}
	leader := n.scheduler("leader")
	n.await("one leads", 30*time.Second, func() bool { return n.leads(control) != "" })
	first := n.leads(control)
	standby := n.scheduler("standby")
	n.startWorkers(1)
	n.enqueue("rows", 4000, jobs.Normal, func(int) string { return "one lamp" })
	n.must(asynq.NewInspectorFromRedisClient(n.rdb).PauseQueue(jobs.Queue(jobs.Low, n.lane())))
	n.enqueue("parked", 50, jobs.Low, func(int) string { return "one lamp" })

	chat := n.people(n.client("interactive", "chat"))
	stopped := []<-chan struct{}{
		n.library(ctx, "background", "lib", 300*time.Millisecond),
		n.repeat(ctx, n.client("evaluation", "evals"), "eval", 300*time.Millisecond),
		background(func() { chat.come(ctx, 1, func(time.Duration) float64 { return 240 }, 240, 5*time.Minute) }),
	}
	t.Cleanup(func() {
		cancel()
		for _, s := range stopped {
			<-s
		}
	})
	pausable := []string{"rows", "lib", "eval"}
	n.await("all ways are used", time.Minute, func() bool {
		calls := n.calls()
		return len(of(calls, "chat")) >= 25 && !slices.ContainsFunc(pausable, func(p string) bool { return len(of(calls, p)) < 5 })
	})

	n.simulate("slow", map[string]any{"factor": 15}) // 4.5 s instead of 0.3
	n.await("bulk is paused", time.Minute, func() bool { return n.phase(control) == scheduler.Paused })
	crossed := crossing(chat.answers(), scheduler.DefaultThresholds)
	if crossed.IsZero() {
		t.Fatal("paused although no threshold was crossed")
	}
	n.await("ten seconds and some more have passed", time.Minute, func() bool { return time.Since(crossed) > 16*time.Second })
	calls := n.calls()
	for _, way := range pausable {
		if late := last(of(calls, way)).Sub(crossed); late > 10*time.Second {
			t.Errorf("%s: a call started %v after the threshold was crossed", way, late)
		} else {
			t.Logf("%s: the last call started %v after the threshold was crossed", way, late.Round(100*time.Millisecond))
		}
	}
	if last(of(calls, "chat")).Before(crossed.Add(5 * time.Second)) {
		t.Error("chat stopped too")
	}

	n.must(leader.Process.Kill())
	killed := time.Now()
	n.await("the standby leads", 20*time.Second, func() bool { id := n.leads(control); return id != "" && id != first })
	took := n.led().Sub(killed)
	if took > 10*time.Second {
		t.Errorf("the standby took over after %v", took)
	}
	n.await("the old leader's pause would have lapsed", time.Minute, func() bool { return time.Since(killed) > scheduler.PauseLease+3*time.Second })
	if calls = n.calls(); len(after(calls, crossed.Add(10*time.Second), pausable)) > 0 {
		t.Error("calls started while the standby took over")
	}

	n.must(standby.Process.Signal(syscall.SIGKILL))
	killed = time.Now()
	lapsed := n.await("the pause lapses", scheduler.PauseLease+5*time.Second, func() bool { return len(after(n.calls(), killed, pausable)) > 0 })
	t.Logf("standby led after %v, the pause lapsed after %v", took, lapsed)
	if parked := of(n.calls(), "parked"); len(parked) > 0 {
		t.Errorf("%d rows of the queue that a person paused were called", len(parked))
	}
	if n.rdb.Exists(ctx, "asynq:{"+jobs.Queue(jobs.Low, n.lane())+"}:paused").Val() != 1 {
		t.Error("the person's pause is gone")
	}
}

// crossing is when the threshold of p95 was first crossed, by what callers saw:
// enough answers within the last minute, and more than a twentieth too slow.
func crossing(all []answer, th scheduler.Thresholds) time.Time {
	slices.SortFunc(all, func(a, b answer) int { return a.at.Add(a.took).Compare(b.at.Add(b.took)) })
	for i, a := range all {
		end := a.at.Add(a.took)
		n, slow := int64(0), int64(0)
		for _, b := range all[:i+1] {
			if end.Sub(b.at.Add(b.took)) < time.Minute {
				n++
				if b.took > th.P95 {
					slow++
				}
			}
		}
		if n >= th.Samples && slow*20 > n {
			return end
		}
	}
	return time.Time{}
}

// after gives the calls of some ways that came after a moment.
func after(calls []simCall, at time.Time, ways []string) (out []simCall) {
	for _, way := range ways {
		for _, c := range of(calls, way) {
			if c.At.After(at) {
				out = append(out, c)
			}
		}
	}
	return out
}

func background(do func()) <-chan struct{} {
	ended := make(chan struct{})
	go func() { defer close(ended); do() }()
	return ended
}

func (n *night) lane() string {
	return limiter.Lane{Provider: n.scope.Provider, Project: n.scope.Project, Region: "global", Model: benchModel}.String()
}

// leads is the leader's id; "" while none does.
func (n *night) leads(c *scheduler.Control) string {
	s, err := c.Status(context.Background())
	n.must(err)
	if s.Leader == nil {
		return ""
	}
	return s.Leader.ID
}

// led is when the present leader's term began.
func (n *night) led() time.Time {
	events, err := n.limits.Events(context.Background(), time.Time{}, 0)
	n.must(err)
	for _, e := range slices.Backward(events) {
		if e.Kind == limiter.EventLease {
			return e.At
		}
	}
	n.Fatal("nobody ever led")
	return time.Time{}
}

func (n *night) phase(c *scheduler.Control) scheduler.Phase {
	s, err := c.Status(context.Background())
	n.must(err)
	return s.Phase
}
