package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/worker"
)

// TestFlexLeftIsSaid: status and why of a run that asks for flex say since when its rows
// go by standard, and when flex is tried; of another run of the lane they say nothing.
func TestFlexLeftIsSaid(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	since := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	until := since.Add(10 * time.Minute)
	s.check(s.be.rdb.HSet(t.Context(), "nightshift:{flex:"+s.run.Spec.Lane+"}", "since", since.UnixMilli(), "until", until.UnixMilli()).Err())
	s.fleet(nil)
	words := "flex has no capacity since " + clock(since, time.Now()) + ", rows go by standard at its price; flex is tried again at " + clock(until, time.Now())
	for tier, want := range map[string]bool{"": false, "flex": true, "auto": true} {
		var err error
		s.run, err = s.be.store.Steer(t.Context(), s.run.ID, func(x *jobs.Steering) error { x.ServiceTier = tier; return nil })
		s.check(err)
		s.run.Spec.Class = "bulk"
		for name, do := range map[string]func(context.Context) error{
			"status": func(ctx context.Context) error { return (&statusOptions{factory: s.f, Ref: "night"}).one(ctx, s.be) },
			"why":    func(ctx context.Context) error { return (&whyOptions{factory: s.f}).run(ctx, s.be, s.run) },
		} {
			if got := s.said(do); strings.Contains(got, words) != want {
				t.Errorf("%s of a run by %q: %v that %q is in\n%s", name, tier, want, words, got)
			}
		}
	}
	if got := flexWords(worker.FlexState{Since: since, Until: until}, until); !strings.HasSuffix(got, "; the next row tries flex") {
		t.Error(got)
	}
}
