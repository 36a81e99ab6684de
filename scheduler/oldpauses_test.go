package scheduler

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// TestOldPauseIsTold: a person's pause without an end is told of after half a day,
// once a day, and stays; one with an end, or of ours, is not.
func TestOldPauseIsTold(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	old := time.Now().Add(-13 * time.Hour)
	for _, p := range []limiter.Pause{
		{Class: "bulk", Reason: ReasonOperator, Owner: "alice", Since: old},
		{Class: "evaluation", Reason: ReasonOperator, Owner: "alice", Since: old, Until: time.Now().Add(time.Hour)},
		{Class: "evaluation", Reason: ReasonBudget, Owner: "spend", Since: old},
		{Run: "k3f9x2", Reason: ReasonOperator, Owner: "bob", Since: time.Now().Add(-11 * time.Hour)},
	} {
		r.must(r.lim.Pause(t.Context(), p))
	}
	for range 2 {
		r.must(r.c.TellOld(t.Context()))
	}
	got := r.events(limiter.EventAlert)
	if len(got) != 1 || !strings.Contains(got[0], "class bulk has been paused by alice for 13h") {
		t.Errorf("alerts %q, want one about class bulk", got)
	}
	if len(r.pauses()) != 4 {
		t.Errorf("pauses %v, want all four to hold on", r.pauses())
	}
}
