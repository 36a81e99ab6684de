package scheduler

import (
	"testing"
	"time"

	"nightshift/jobs"
)

// turnOf is 21:59 of the evening before the last Sunday of a month, by Berlin's clock, in
// the next year in which that is the month's last day: the night has the change of the
// clock, and the next one the end of the month. It is to come: what is kept in Redis goes
// by the clock of now.
func turnOf(t *testing.T, month time.Month) time.Time {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for year := time.Now().Year() + 1; ; year++ {
		if at := time.Date(year, month, 30, 21, 59, 0, 0, berlin); at.Weekday() == time.Saturday {
			return at
		}
	}
}

// TestRunOverTheTurns: the clock is put forward over midnight, over a night that is an
// hour longer or shorter, and over the end of the month, while a run has open rows: its
// window opens and closes by its zone's clock, and its deadline ends what is left when it
// comes, no sooner.
func TestRunOverTheTurns(t *testing.T) {
	for _, month := range []time.Month{time.March, time.October} {
		t.Run(month.String(), func(t *testing.T) {
			start := turnOf(t, month)
			at := func(day, hour, minute int) time.Time {
				return time.Date(start.Year(), month, day, hour, minute, 0, 0, start.Location())
			}
			if hours := at(31, 7, 0).Sub(at(30, 22, 0)).Hours(); hours == 9 {
				t.Fatal("the clock does not change in this night")
			}
			s := newSteered(t, func(x *jobs.Steering) {
				x.Window, x.Zone, x.Deadline = "22:00-07:00@100%, else @0%", "Europe/Berlin", at(32, 6, 30)
			})
			open := int64(3)
			for _, step := range []struct {
				name   string
				to     time.Time
				starts bool
				finish []int64
			}{
				{"before the window", start, false, nil},
				{"it opens", at(30, 22, 0), true, []int64{0}},
				{"over midnight and the change", at(31, 6, 59), true, nil},
				{"it closes", at(31, 7, 0), false, nil},
				{"over noon", at(31, 21, 59), false, nil},
				{"over the end of the month", at(32, 6, 29), true, []int64{1}},
			} {
				s.now = step.to
				s.look()
				s.must(s.EndLate(s.ctx()))
				if why, got := s.starts("bulk", PathOf(s.run)); got != step.starts {
					t.Errorf("%s, %s: a call starts: %v (%s)", step.name, s.now, got, why)
				}
				s.finish(step.finish...)
				open -= int64(len(step.finish))
				s.wantOpen(open)
			}
			s.now = at(32, 6, 31)
			s.look()
			s.must(s.EndLate(s.ctx()))
			s.wantOpen(0)
			if c, err := s.store.Counts(s.ctx(), s.run.ID); err != nil || c[jobs.Done] != 2 || c[jobs.Expired] != 1 {
				t.Errorf("after the deadline: %+v (%v)", c, err)
			}
		})
	}
}

func (s *steered) wantOpen(want int64) {
	s.Helper()
	c, err := s.store.Counts(s.ctx(), s.run.ID)
	if s.must(err); c.Open() != want {
		s.Errorf("%s: %d rows are open, want %d", s.now, c.Open(), want)
	}
}
