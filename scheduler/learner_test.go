package scheduler

import (
	"context"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// evenUse is interactive traffic of so many calls a minute since a time.
type evenUse struct {
	since     time.Time
	perMinute int64
	reads     map[gemini.Step]int
}

func (s *evenUse) Usage(_ context.Context, step gemini.Step, from, to time.Time) (out []gemini.UsageSample, err error) {
	s.reads[step]++
	for at := from; at.Before(to); at = at.Add(step.Width()) {
		if !at.Before(s.since) {
			n := s.perMinute * int64(step.Width()/time.Minute)
			out = append(out, gemini.UsageSample{At: at, Region: "global", Model: "m", Class: "interactive", Feature: "chat", Sent: n, Requests: n})
		}
	}
	return out, nil
}

// learnerRig lends "auto" and knows nothing yet.
func learnerRig(t *testing.T) (r *rig, source *evenUse, now *time.Time) {
	r = newRig(t, realRedis(t))
	r.lend("auto")
	at := time.Now().Truncate(time.Hour).Add(90 * time.Minute) // Redis has its own clock, and floors must last by it
	r.c.Now = func() time.Time { return at }
	return r, &evenUse{since: at.Add(-10 * 24 * time.Hour).Truncate(time.Hour), perMinute: 80, reads: map[gemini.Step]int{}}, &at
}

func (r *rig) lend(how string) {
	r.Helper()
	lane, err := limiter.ParseLane(testLane)
	r.must(err)
	r.must(r.lim.Configure(r.ctx(), limiter.Config{Scope: testScope, Classes: testClasses,
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: 1000, RPD: 1_000_000}, Lend: how}}}))
}

// TestLearnerCatchesUp: what is kept is learned once, by minutes where these are
// still there; another process goes on from it and tells nothing twice.
func TestLearnerCatchesUp(t *testing.T) {
	r, source, now := learnerRig(t)
	l := &Learner{Control: r.c, Source: source, Owner: "one"}
	r.must(l.Look(t.Context()))
	if h, m := source.reads[gemini.StepHour], source.reads[gemini.StepMinute]; h != 1 || m != 48 {
		t.Errorf("%d reads of hours and %d of minutes; want all hours at once and the last 48 by their minutes", h, m)
	}
	hours := l.hours.of(useKey{"global/m", "interactive"})
	if n := len(hours); n != 240 {
		t.Errorf("%d hours are learned; want ten days", n)
	}
	last := hourIndex(*now) - 1
	if got, old := hours[last].peak[limiter.Requests], hours[last-100].peak[limiter.Requests]; got != 80 || old != 240 {
		t.Errorf("largest minutes %d and, guessed from the hour's sum, %d; want 80 and three times as much", got, old)
	}
	*now = now.Add(time.Hour)
	r.must(l.Look(t.Context()))
	other := &Learner{Control: r.c, Source: source, Owner: "two"}
	r.must(other.Look(t.Context()))
	if h, m := source.reads[gemini.StepHour], source.reads[gemini.StepMinute]; h != 1 || m != 49 {
		t.Errorf("%d reads of hours and %d of minutes after an hour more; want one more", h, m)
	}
	if n := len(other.hours.of(useKey{"global/m", "interactive"})); n != 241 {
		t.Errorf("another process knows %d hours; want 241", n)
	}
	told := r.events(limiter.EventLimits)
	n := 0
	for _, text := range told {
		if strings.HasPrefix(text, "a week of interactive traffic is known on m:") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("events %q; want it told once that a week is known", told)
	}
}

// TestLearnerForgets: an hour is kept as long as the meter keeps it.
func TestLearnerForgets(t *testing.T) {
	r, source, now := learnerRig(t)
	l := &Learner{Control: r.c, Source: source, Owner: "one"}
	r.must(l.Look(t.Context()))
	*now = now.Add(35 * 24 * time.Hour)
	source.since = now.Add(time.Hour)
	r.must(l.Look(t.Context()))
	if n := len(l.hours.of(useKey{"global/m", "interactive"})); n != 24 {
		t.Errorf("%d hours are known 35 days later; want the last 24 of then", n)
	}
	all, err := r.rdb.HKeys(r.ctx(), scopeKey(testScope, "hours")).Result()
	r.must(err)
	if len(all) != 24+2 {
		t.Errorf("%d fields are stored; want 24 hours and two marks", len(all))
	}
}

// TestLearnedFloorsAreSet: on the lane that lends "auto", as State shows it to
// every process; not while a week is not known, and not where it lends otherwise.
func TestLearnedFloorsAreSet(t *testing.T) {
	r, source, now := learnerRig(t)
	l := &Learner{Control: r.c, Source: source, Owner: "one"}
	floor := func(limit int) limiter.ClassUse {
		t.Helper()
		r.must(l.Look(t.Context()))
		lane, err := limiter.ParseLane(testLane)
		r.must(err)
		s, err := r.as(t, r.rdb).lim.State(r.ctx(), lane)
		r.must(err)
		return s.Limits[limit].Classes[0]
	}
	all := source.since
	source.since = now.Add(-6 * 24 * time.Hour)
	if f := floor(0); f.Floor != 100 || !strings.Contains(f.Why, "until a week of interactive traffic is known") {
		t.Errorf("after six days: %+v", f)
	}
	r.must(r.rdb.Del(r.ctx(), scopeKey(testScope, "hours")).Err())
	source.since = all
	*now = now.Add(time.Second)
	hour := now.UTC().Truncate(time.Hour).Format("Mon 15:04 MST")
	// The days before yesterday are known by their sums, so by three times the mean.
	if f := floor(0); f.Floor != 300 || f.Why != "floor 30 %: "+hour+" learned need 360 rpm, no more than its guarantee" {
		t.Errorf("%+v", f)
	}
	if f := floor(1); f.Floor < 20_000 || !strings.Contains(f.Why, "0 requests used of the day, learned need ") {
		t.Errorf("of the day: %+v", f)
	}
	for lend, want := range map[string]int64{"now": 20, "never": 300} {
		r.lend(lend)
		if f := floor(0); f.Floor != want {
			t.Errorf("lend %s: floor %d; want %d", lend, f.Floor, want)
		}
	}
}
