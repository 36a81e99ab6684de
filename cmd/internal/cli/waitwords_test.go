package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

func TestWaitsLine(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]jobs.Waits{
		"":                                  {jobs.WaitTurn: 900 * time.Millisecond},
		"2h10m: quota 1h50m, window 20m00s": {jobs.WaitWindow: 20 * time.Minute, jobs.WaitQuota: 110 * time.Minute, jobs.WaitTurn: 30 * time.Millisecond},
		"1m30s: turn 1m00s, errors 30s":     {jobs.WaitErrors: 30 * time.Second, jobs.WaitTurn: time.Minute},
		"1s":                                {jobs.WaitErrors: 500 * time.Millisecond, jobs.WaitTurn: 500 * time.Millisecond},
		"10h01m: quota 10h00m":              {jobs.WaitQuota: 10 * time.Hour, jobs.WaitTurn: time.Minute},
		"3d00h: paused 2d12h, queue 12h00m": {jobs.WaitQueue: 12 * time.Hour, jobs.WaitPaused: 60 * time.Hour},
	} {
		if got := waitsLine(w); got != want {
			t.Errorf("waitsLine(%v) = %q, want %q", w, got, want)
		}
	}
}

// TestWaitsAreSaid: status says what the rows of a run waited for, a row on average,
// and why what a row did, while it waits and when it has ended.
func TestWaitsAreSaid(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	s.run.Spec.Class = "bulk"
	start := time.Now()
	s.redis.SetTime(start)
	waits := map[int64]jobs.Waits{0: {jobs.WaitQuota: 3 * time.Hour, jobs.WaitTurn: time.Hour}, 1: {jobs.WaitQuota: time.Hour}}
	for row, w := range waits {
		task := jobs.Task{Run: s.run.ID, Index: row}
		_, err := s.be.store.Begin(t.Context(), task)
		s.check(err)
		_, err = s.be.store.Finish(t.Context(), task, jobs.Result{Row: "r" + string(rune('0'+row)), Status: "done", Output: "x", WaitsMS: w.Millis()})
		s.check(err)
	}
	open := jobs.Task{Run: s.run.ID, Index: 2}
	_, err := s.be.store.Begin(t.Context(), open)
	s.check(err)
	s.check(s.be.store.Wait(t.Context(), open, jobs.WaitWindow, jobs.Waits{jobs.WaitQuota: 110 * time.Minute}))
	s.redis.SetTime(start.Add(20 * time.Minute))

	status := func(ctx context.Context) error { return (&statusOptions{factory: s.f, Ref: "night"}).one(ctx, s.be) }
	if got, want := s.said(status), "2h30m: quota 2h00m, turn 30m00s (a row that has ended, on average)"; !strings.Contains(got, want) {
		t.Errorf("status: %q is not in\n%s", want, got)
	}
	s.f.opts.output = "json"
	var st runStatus
	s.check(json.Unmarshal([]byte(s.said(status)), &st))
	if st.Waits["quota"] != (4*time.Hour).Milliseconds() || st.Waits["turn"] != time.Hour.Milliseconds() {
		t.Errorf("status --output json: %v", st.Waits)
	}
	for row, want := range map[string]string{
		"r0": "It waited 4h00m: quota 3h00m, turn 1h00m.\n",
		"r2": "It has waited 2h10m: quota 1h50m, window 20m00s.\n",
		"r3": "It has waited 20m0", // since it was enqueued, a moment before
	} {
		got := s.said(func(ctx context.Context) error {
			info, err := s.be.store.Row(ctx, s.run.ID, row)
			s.check(err)
			return (&whyOptions{factory: s.f}).row(ctx, s.be, s.run, info)
		})
		if !strings.Contains(got, want) {
			t.Errorf("why %s: %q is not in\n%s", row, want, got)
		}
	}
}
