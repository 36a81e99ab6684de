package scheduler

import (
	"context"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

type refusals []gemini.Rejection

func (s refusals) Rejections(_ context.Context, since time.Time) (out []gemini.Rejection, err error) {
	for _, r := range s {
		if !r.At.Before(since) {
			out = append(out, r)
		}
	}
	return out, nil
}

// TestBypass: the provider's limit less what we used is what bypasses the gate;
// it is told of at most every ten minutes, and forgotten after an hour.
func TestBypass(t *testing.T) {
	r := newRig(t, realRedis(t))
	now := time.Now()
	r.c.Now = func() time.Time { return now }
	for range 20 {
		r.wantStarts("interactive", true)
	}
	single := &BypassWatch{Control: r.c, Source: refusals{{At: now.Add(-3 * time.Second), Lane: testLane, Limit: "rpm"}}, Owner: "sched"}
	r.must(single.Look(t.Context()))
	if got, err := r.c.Bypass(t.Context()); err != nil || len(got) != 0 || len(r.events(limiter.EventAlert)) != 0 {
		t.Fatalf("one refusal proves nothing: %+v, err %v", got, err)
	}
	source := refusals{
		{At: now.Add(-5 * time.Second), Lane: testLane, Limit: "rpm", QuotaValue: 60},
		{At: now.Add(-4 * time.Second), Lane: testLane, Limit: "rpm", QuotaValue: 60},
		{At: now.Add(-3 * time.Second), Lane: testLane, Limit: "rpd", QuotaValue: 5},
		{At: now.Add(-2 * time.Second), Lane: "gemini/test/global/unknown", Limit: "rpm", QuotaValue: 60},
		{At: now.Add(-2 * time.Second), Lane: testLane, Limit: "rpm", QuotaValue: 60},
	}
	w := &BypassWatch{Control: r.c, Source: source, Owner: "sched"}
	if err := w.Look(t.Context()); err == nil {
		t.Error("a lane without limits was passed over in silence")
	}
	got, err := r.c.Bypass(t.Context())
	if err != nil || len(got) != 1 || got[0].RPM != 40 || got[0].Used != 20 || got[0].Quota != 60 || got[0].Configured != 1000 {
		t.Fatalf("%+v, err %v, want 40 of 60 past the gate", got, err)
	}
	if alerts := r.events(limiter.EventAlert); len(alerts) != 1 || !strings.Contains(alerts[0], "about 40 rpm seem to bypass the gate") {
		t.Errorf("alerts %q", alerts)
	}
	r.must(w.Look(t.Context())) // nothing new
	again := gemini.Rejection{At: now.Add(time.Second), Lane: testLane, Limit: "rpm"}
	w.Source = refusals{again, again, again}
	now = now.Add(2 * time.Second)
	r.must(w.Look(t.Context()))
	if got, err = r.c.Bypass(t.Context()); err != nil || len(got) != 1 || got[0].RPM != 980 || len(r.events(limiter.EventAlert)) != 1 {
		t.Errorf("%+v, err %v, %d alerts: want the configured limit to stand for a quota that is not said, and no second alert", got, err, len(r.events(limiter.EventAlert)))
	}
	w.Source = refusals{{At: now.Add(11 * time.Minute), Lane: testLane, Limit: "rpm", QuotaValue: 10}}
	now = now.Add(11 * time.Minute)
	r.must(w.Look(t.Context()))
	if alerts := r.events(limiter.EventAlert); len(alerts) != 2 || !strings.Contains(alerts[1], "refuses at 10 rpm while 1000 are configured") {
		t.Errorf("alerts %q, want one about a limit that is set too high", alerts)
	}
	now = now.Add(61 * time.Minute)
	if got, err = r.c.Bypass(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("after an hour: %+v, err %v", got, err)
	}
}

// TestBypassFromTheMeter: the refusals of a real meter are found.
func TestBypassFromTheMeter(t *testing.T) {
	r := newRig(t, realRedis(t))
	m := gemini.NewMeter(r.rdb, testScope, gemini.MeterOptions{})
	m.Put(gemini.Record{Time: time.Now(), Scope: testScope.String(), Lane: testLane, Method: "generateContent", Class: "interactive", Feature: "chat",
		Decision: limiter.AdmittedThenProviderRejected, Sent: true, Status: 429, Verdict: gemini.Wait, Reason: "rpm", Limit: "rpm"})
	r.must(m.Close())
	source := MeterSource{Redis: r.rdb, Scope: testScope}
	got, err := source.Rejections(t.Context(), time.Now().Add(-time.Minute))
	if err != nil || len(got) != 1 || got[0].Lane != testLane || got[0].Limit != "rpm" {
		t.Errorf("rejections %+v, err %v", got, err)
	}
	samples, err := source.Samples(t.Context(), time.Now().Add(-time.Minute), time.Now().Add(time.Second))
	if err != nil || len(samples) != 1 || samples[0].Provider429 != 1 || samples[0].Class != "interactive" {
		t.Errorf("samples %+v, err %v", samples, err)
	}
}
