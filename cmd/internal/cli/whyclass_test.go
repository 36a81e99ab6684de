package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestWhyClassTellsRefusals: of a class it is said how many of its calls were refused
// lately, by whom and for what.
func TestWhyClassTellsRefusals(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	why := func(class string) string {
		return s.said(func(ctx context.Context) error {
			_, err := (&whyOptions{factory: s.f, What: class}).class(ctx, s.be)
			return err
		})
	}
	if got := why("interactive"); !strings.Contains(got, "nothing of it asked for quota in the last 5 minutes.") {
		t.Errorf("before any call: %s", got)
	}
	meter := gemini.NewMeter(s.be.rdb, s.be.conf.scope(), gemini.MeterOptions{})
	met := func(class string, r gemini.Record) {
		r.Scope, r.Lane, r.Class, r.Feature, r.Method, r.Time = s.be.conf.scope().String(), s.run.Spec.Lane, class, "chat", "generateContent", time.Now()
		meter.Put(r)
	}
	for range 3 {
		met("interactive", gemini.Record{Refusal: limiter.ReasonPaused})
	}
	met("interactive", gemini.Record{Sent: true, Status: 200})
	met("interactive", gemini.Record{Sent: true, Status: 429, Verdict: gemini.Wait, Reason: "rpm"})
	met("bulk", gemini.Record{Sent: true, Status: 200})
	s.check(meter.Close())
	if got := why("interactive"); !strings.Contains(got, "in the last 5 minutes we refused 3 of 5 calls (paused 3); the provider refused 1 (rpm 1).") {
		t.Errorf("%s", got)
	}
	if got := why("bulk"); !strings.Contains(got, "in the last 5 minutes we refused 0 of 1 call.") {
		t.Errorf("bulk: %s", got)
	}
}
