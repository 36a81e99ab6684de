package scheduler

import (
	"testing"
	"time"

	"nightshift/limiter"
)

// TestPeaks: what one scheduler learned anybody can read.
func TestPeaks(t *testing.T) {
	r, source, now := learnerRig(t)
	none, err := r.c.Peaks(t.Context(), time.Time{})
	r.must(err)
	if len(none) != 0 {
		t.Errorf("nothing was learned: %v", none)
	}
	r.must((&Learner{Control: r.c, Source: source, Owner: "one"}).Look(t.Context()))
	since := now.Add(-3 * time.Hour)
	got, err := r.c.Peaks(t.Context(), since)
	r.must(err)
	if len(got) != 2 || got[0].At.Before(since) || !got[0].At.Before(got[1].At) {
		t.Fatalf("peaks since %s: %+v", since, got)
	}
	if p := got[0]; p.Model != "m" || p.Region != "global" || p.Class != "interactive" || p.Peak[limiter.Requests] != 80 {
		t.Errorf("%+v", p)
	}
}
