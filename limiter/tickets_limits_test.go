package limiter

import (
	"testing"
	"time"
)

// Limits that are not of a minute, with jobs that wait.

// The day's requests are used up ten minutes before the day turns: what is left
// is told to come afterwards, waits there without being asked again, and goes on.
func TestDayIsUsedUp(t *testing.T) {
	t.Parallel()
	f := newFleet(t, LaneConfig{Limits: Limits{RPM: 600}}, 200)
	midnight := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	f.set(midnight.Add(-10 * time.Minute))
	f.start = f.now
	l := Limits{RPM: 600, RPD: 2000}
	f.weigh(l, nil)
	js := f.add(3500, Path{Run: "a", Priority: Normal}, requests)
	f.run(2*time.Minute, nil) // not used up yet, but the last one will not get in
	f.wantPromised(js[len(js)-1], midnight.Add(2*time.Minute), 2*time.Minute)
	f.run(7*time.Minute, nil)
	if f.done != 2000 {
		t.Fatalf("%d jobs called; the day has 2000", f.done)
	}
	for _, j := range js {
		if !j.gone && j.sleeping && j.due.Before(midnight) && j.due.After(f.now) {
			t.Fatalf("told to come at %s, before the day turns", j.due)
		}
	}
	f.wantPromised(js[len(js)-1], midnight.Add(2*time.Minute), 2*time.Minute)
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.3, 3)
	if late := f.since() - 10*time.Minute; late > 165*time.Second {
		t.Errorf("1500 jobs took %s after the day turned", late)
	}
}

// wantPromised holds the time that a waiting job is told now against want.
func (f *fleet) wantPromised(j *rowJob, want time.Time, within time.Duration) {
	f.Helper()
	s, err := f.Ticket(f.Context(), f.lane, j.ticket)
	f.must(err)
	at := f.now.Add(s.ETA)
	f.Logf("promised at %s: %s", f.now.Format(time.TimeOnly), at.Format(time.TimeOnly))
	if at.Before(want.Add(-within)) || at.After(want.Add(within)) {
		f.Errorf("promised for %s; want %s, give or take %s", at, want, within)
	}
}

// Ten calls at a time, of half a minute each: the places are what waits.
func TestConcurrencyIsScarce(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 600, Concurrency: 10}, 100)
	f.latency = 30 * time.Second
	f.add(300, Path{Tenant: "a", Run: "r", Priority: Normal}, requests)
	f.add(100, Path{Tenant: "b", Run: "r", Priority: Normal}, requests)
	calls := 0
	f.run(time.Hour, func() { calls += len(f.calls) })
	f.wantDone()
	f.wantReschedules(1.8, 3) // a is told to come too early: b was not there yet
	use := float64(calls) * tick.Seconds() / f.since().Seconds() / 10
	t.Logf("%.3f of ten places used", use)
	if use < 0.95 {
		t.Errorf("%.3f of ten places used; want 0.95", use)
	}
}
