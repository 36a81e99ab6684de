package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
	"nightshift/worker"
)

// TestPauseOutlastsDeadline: of a run whose pause ends after its deadline has ended its
// rows no end is foretold, in no place, and the command that mends it is said.
func TestPauseOutlastsDeadline(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	now := time.Now()
	paused := limiter.Pause{Run: s.run.ID, Reason: scheduler.ReasonOperator, Owner: "ada", Since: now, Until: now.Add(3 * time.Hour)}
	fleet := []worker.WorkerInfo{{Lanes: []worker.LaneInfo{{Lane: s.run.Spec.Lane, Slots: 1}}}}
	for _, c := range []struct {
		name     string
		deadline time.Duration
		onLate   string
		pauses   []limiter.Pause
		want     bool
		command  string
	}{
		{"nothing holds it", time.Hour, "", nil, false, ""},
		{"the pause ends first", 4 * time.Hour, "", []limiter.Pause{paused}, false, ""},
		{"it goes on at its deadline", time.Hour, jobs.LateContinue, []limiter.Pause{paused}, false, ""},
		{"the deadline comes first", time.Hour, "", []limiter.Pause{paused}, true, "nightshift resume night"},
		{"all of its class is paused", time.Hour, "", []limiter.Pause{{Class: "bulk", Reason: scheduler.ReasonOperator, Owner: "ada", Until: now.Add(3 * time.Hour)}}, true, "nightshift resume bulk"},
		{"a lease is renewed or not", time.Hour, "", []limiter.Pause{{Class: "bulk", Reason: scheduler.ReasonHealth, Until: now.Add(3 * time.Hour)}}, false, ""},
	} {
		run := s.run
		run.Spec.Class, run.Spec.Steer.Deadline, run.Spec.Steer.OnLate = "bulk", now.Add(c.deadline), c.onLate
		st, err := s.be.runStatus(t.Context(), run, c.pauses, fleet)
		s.check(err)
		s.check(s.be.runEnd(t.Context(), &st, now))
		if st.outlasted() != c.want || c.want && st.ETA != nil {
			t.Errorf("%s: %v, done %v", c.name, st.outlasted(), st.ETA)
		}
		if c.want && st.inTime() != c.command {
			t.Errorf("%s: %q", c.name, st.inTime())
		}
		o := &overview{At: now, Runs: []runStatus{st}}
		o.adviseRuns()
		if said := len(o.Advice) == 1 && strings.Contains(o.Advice[0].Text, "night: 10 rows end without a call at the deadline, "); said != c.want {
			t.Errorf("%s: %+v", c.name, o.Advice)
		}
	}
}

// TestAdviceOfStoppedRuns: a run that its brake or its cap has stopped is advised of once,
// with the command that lets it go on.
func TestAdviceOfStoppedRuns(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	braked, capped, done := openRun("b1", jobs.Normal, 5), openRun("c1", jobs.Normal, 1), openRun("d1", jobs.Normal, 0)
	braked.Name, capped.Name = "tags", "night"
	o := &overview{
		At: now, Runs: []runStatus{braked, capped, done}, Health: scheduler.Status{Leader: &scheduler.Member{}},
		Pauses: []limiter.Pause{
			{Run: "b1", Reason: scheduler.ReasonBrake, Since: now.Add(-time.Hour), Detail: "50 rows failed alike"},
			{Run: "c1", Reason: scheduler.ReasonBudget, Since: now.Add(-time.Hour), Detail: "$1.00 of --max-cost $1.00 is spent: nightshift set night --max-cost 1.50 goes on"},
		},
		Alerts: []scheduler.Alert{
			{Kind: scheduler.AlertPaused, Subject: "b1 brake", Text: "run tags has been paused for 1h", Command: "nightshift resume b1"},
			{Kind: scheduler.AlertPaused, Subject: "c1 budget", Text: "run night has been paused for 1h"},
			{Kind: scheduler.AlertPaused, Subject: "bulk operator", Text: "class bulk has been paused for 20h"},
		},
		Events: []limiter.Event{
			{Kind: limiter.EventAlert, Subject: "b1", At: now.Add(-time.Minute), Text: "run tags is stopped by its brake"},
			{Kind: limiter.EventAlert, Subject: "d1", At: now.Add(-time.Minute), Text: "of another run"},
		},
	}
	o.adviseRuns()
	o.adviseAlerts()
	var got []string
	for _, a := range o.Advice {
		got = append(got, strings.SplitN(a.Text, " (", 2)[0]+": "+a.Command)
	}
	want := []string{
		"tags is stopped by its brake: nightshift errors tags, mend it, then nightshift resume tags",
		"night is stopped by its cap, with 1 row open: nightshift set night --max-cost 1.50",
		"class bulk has been paused for 20h: ",
		"of another run: nightshift events --kind alert",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
