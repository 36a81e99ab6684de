package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestDeadlineWords: what follows at a deadline is said while rows are open and it is to
// come, and of an upgrade what was done and what is left.
func TestDeadlineWords(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	now := time.Now()
	open, ended := jobs.Counts{jobs.Queued: 3}, jobs.Counts{jobs.Done: 3}
	for _, c := range []struct {
		left   time.Duration
		onLate string
		counts jobs.Counts
		want   string // the end of it
		not    string
	}{
		{5 * time.Minute, "", open, "; then open rows end", ""},
		{5 * time.Minute, jobs.LateContinue, open, "; it goes on then", ""},
		{5 * time.Minute, jobs.LateUpgrade, open, "; if it falls behind: weight 4", ""},
		{-time.Minute, jobs.LateUpgrade, open, " ago; it goes on", "falls behind"},
		{5 * time.Minute, jobs.LateUpgrade, ended, "", ";"},
		{5 * time.Minute, "", ended, "", ", in "},
		{-5 * time.Minute, "", jobs.Counts{jobs.Expired: 1}, "; open rows ended then", " ago"},
	} {
		run := s.run
		run.Spec.Steer.Deadline, run.Spec.Steer.OnLate = now.Add(c.left), c.onLate
		got, err := s.be.deadlineWords(t.Context(), run, c.counts, now)
		if s.check(err); !strings.HasSuffix(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%v %q: %q, want %q at its end, and no %q", c.left, c.onLate, got, c.want, c.not)
		}
	}
	for want, x := range map[string][2][]string{
		"; raised since it is late: weight 4; if that is not enough: standard instead of flex":                     {{"weight 4"}, {"standard instead of flex"}},
		"; raised since it is late: weight 4, standard instead of flex; nothing more can be done, it goes on then": {{"weight 4", "standard instead of flex"}, nil},
		"; it goes on then, nothing more can be done before":                                                       {},
	} {
		if got := upgradeWords(x[0], x[1]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDeadlineToTheSecond: seconds that somebody typed are shown, however far away they
// are, with the day and without; a whole minute is shown as one.
func TestDeadlineToTheSecond(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]string{
		now.Add(3*time.Hour + 15*time.Second):  "23:00:15 UTC",
		now.Add(3 * time.Hour):                 "23:00 UTC",
		now.Add(5*time.Minute + 7*time.Second): "20:05:07 UTC",
		now.Add(11*time.Hour + 9*time.Second):  "Tue 1 Dec 07:00:09 UTC",
		now.Add(11 * time.Hour):                "Tue 1 Dec 07:00 UTC",
	} {
		if got := wholeClock(at, now, time.UTC); got != want {
			t.Errorf("%v is %q, want %q", at, got, want)
		}
	}
}
