package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// windowsOf makes the windows of class bulk, over a clock that tests move.
func windowsOf(r *rig, text string, now *time.Time) *Windows {
	w, err := ParseWindow("windows.bulk", text, time.UTC)
	r.must(err)
	r.c.Now = func() time.Time { return *now }
	return &Windows{Control: r.c, Of: map[string]Window{"bulk": w}, Owner: "sched", Ramp: -1}
}

func clockText(t time.Time) string { return t.UTC().Format("15:04") }

// TestWindowsApply: closed, then a share, then everything, as the day goes on,
// with an event at each change; without its window the class is free.
func TestWindowsApply(t *testing.T) {
	r := newRig(t, realRedis(t))
	enqueued(t, r.store)
	now := time.Now() // leases end by Redis's own clock, so the windows are put around it
	text := clockText(now) + "-" + clockText(now.Add(10*time.Minute)) + "@0%, " +
		clockText(now.Add(10*time.Minute)) + "-" + clockText(now.Add(20*time.Minute)) + "@25%, else @100%"
	w := windowsOf(r, text, &now)

	r.must(w.Apply(t.Context()))
	r.reconcile()
	r.wantStarts("bulk", false)
	r.wantStarts("evaluation", true)
	ps, err := r.lim.Pauses(t.Context())
	r.must(err)
	if len(ps) != 1 || ps[0].Reason != ReasonWindow || ps[0].Until.Sub(now) != PauseLease || !strings.Contains(ps[0].Detail, "changes at "+clockText(now.Add(10*time.Minute))) {
		t.Errorf("pauses %+v, want a leased one that says until when", ps)
	}
	if r.pauseValue(testQueue) == "" {
		t.Error("the queue is open outside its window")
	}
	_, err = r.c.Resume(t.Context(), Target{Class: "bulk"}, ResumeRequest{By: "alice"})
	var held *HeldError
	if !errors.As(err, &held) || held.Reason != ReasonWindow || held.Hint() != "" {
		t.Errorf("resume outside the window: %v", err)
	}
	if _, err = r.c.Resume(t.Context(), Target{Class: "bulk"}, ResumeRequest{By: "alice", Override: time.Hour}); !errors.As(err, &held) {
		t.Errorf("override of a work window: %v, want it refused", err)
	}
	if s, err := r.c.Status(t.Context()); err != nil || s.Hold != nil {
		t.Errorf("a refused override holds the monitor: %+v, %v", s.Hold, err)
	}
	other := windowsOf(r, text, &now)
	r.must(other.Apply(t.Context()))
	if got := r.events(limiter.EventPause); len(got) != 1 || !strings.Contains(got[0], "closed by its work window") {
		t.Errorf("events %q, want one that the window closed, and none of the leader that took it over", got)
	}
	since := ps[0].Since
	now = now.Add(25 * time.Second)
	r.must(w.Apply(t.Context()))
	if ps, _ = r.lim.Pauses(t.Context()); len(ps) != 1 || !ps[0].Since.Equal(since) {
		t.Errorf("renewed: %+v, want it to begin when it began", ps)
	}

	now = now.Add(10 * time.Minute)
	r.must(w.Apply(t.Context()))
	ts, err := r.lim.Throttles(t.Context())
	r.must(err)
	if ps, _ = r.lim.Pauses(t.Context()); len(ps) != 0 || len(ts) != 1 || ts[0].ToPPM != 250_000 || ts[0].Reason != ReasonWindow {
		t.Errorf("in the second stretch: pauses %v, throttles %+v, want a quarter", ps, ts)
	}
	now = now.Add(10 * time.Minute)
	r.must(w.Apply(t.Context()))
	if ts, _ = r.lim.Throttles(t.Context()); len(ts) != 0 {
		t.Errorf("after both: throttles %+v, want none", ts)
	}
	if th, re := r.events(limiter.EventThrottle), r.events(limiter.EventResume); len(th) != 1 || !strings.Contains(th[0], "25 %") || len(re) != 1 {
		t.Errorf("events %q and %q, want one each", th, re)
	}

	now = now.Add(-20 * time.Minute)
	r.must(w.Apply(t.Context()))
	w.Of = nil
	r.must(w.Apply(t.Context()))
	r.wantStarts("bulk", true)
}

// TestWindowsOpenByARamp: a window opens little by little from the share before
// it, whichever leader applies it, and closes at once.
func TestWindowsOpenByARamp(t *testing.T) {
	r := newRig(t, realRedis(t))
	opens := time.Now().Truncate(time.Minute).Add(10 * time.Minute) // leases end by Redis's own clock
	closes := opens.Add(10 * time.Minute)
	now := opens.Add(-time.Second)
	w := windowsOf(r, clockText(opens)+"-"+clockText(closes)+"@80%, else @0%", &now)
	w.Ramp = 0
	apply := func(w *Windows) limiter.Throttle {
		t.Helper()
		r.must(w.Apply(t.Context()))
		ts, err := r.lim.Throttles(t.Context())
		r.must(err)
		if len(ts) > 1 {
			t.Fatalf("throttles %+v", ts)
		}
		return append(ts, limiter.Throttle{})[0]
	}
	apply(w)
	for _, c := range []struct {
		after time.Duration
		ppm   int64
	}{{0, 0}, {30 * time.Second, 200_000}, {time.Minute, 400_000}, {119 * time.Second, 793_333}, {2 * time.Minute, 800_000}, {5 * time.Minute, 800_000}} {
		now = opens.Add(c.after)
		leader := &Windows{Control: r.c, Of: w.Of, Owner: "another"}
		if got := apply(leader).SharePPM(now); got != c.ppm {
			t.Errorf("after %s bulk has %d ppm, want %d", c.after, got, c.ppm)
		}
	}
	if got := r.events(limiter.EventThrottle); len(got) == 0 || !strings.Contains(got[0], "little by little until") {
		t.Errorf("events %q", got)
	}
	now = closes
	if got := apply(w); got.Class != "" {
		t.Errorf("after the end: %+v, want it closed at once", got)
	}
	r.wantStarts("bulk", false)
}

// TestWindowsCheck: a class that does not exist, or that people wait for.
func TestWindowsCheck(t *testing.T) {
	for _, name := range []string{"chat", "interactive"} {
		w := &Windows{Control: &Control{Classes: testClasses}, Of: map[string]Window{name: {}}}
		var e *ConfigError
		if err := w.Check(); !errors.As(err, &e) || e.Field != "windows."+name {
			t.Errorf("%s: %v", name, err)
		}
	}
}
