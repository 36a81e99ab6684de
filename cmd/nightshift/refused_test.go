package main

import (
	"context"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/scheduler"
)

// refusedChat: ten people a minute ask, and the provider refuses each of
// them. That is too few for a percentile, and bulk is paused within 90 s all the
// same.
func refusedChat(t *testing.T) {
	n := newNight(t, 600, "")
	control := &scheduler.Control{Redis: n.rdb, Limiter: n.limits, Store: n.store, Scope: n.scope}
	n.scheduler("scheduler")
	n.startWorkers(1)
	n.enqueue("rows", 2000, jobs.Normal, func(int) string { return "one lamp" })
	n.await("bulk runs", time.Minute, func() bool { return len(of(n.calls(), "rows")) > 0 })
	n.simulate("faults", map[string]any{"faults": []string{"429-capacity~chat-"}, "replace": true})

	ctx, cancel := context.WithCancel(context.Background())
	chat := n.people(n.client("interactive", "chat"))
	ended := background(func() {
		for ctx.Err() == nil {
			chat.ask(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(6 * time.Second):
			}
		}
	})
	t.Cleanup(func() { cancel(); <-ended })
	took := n.await("bulk is paused", 90*time.Second, func() bool { return n.phase(control) == scheduler.Paused })
	t.Logf("paused %v after the first refusal, with %d calls", took.Round(time.Second), len(chat.answers()))
	if bad := failed(chat.answers()); len(bad) != len(chat.answers()) {
		t.Errorf("%d of %d were refused, want all", len(bad), len(chat.answers()))
	}
}
