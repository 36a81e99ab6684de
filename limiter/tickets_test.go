package limiter

import (
	"testing"
	"time"
)

// What tickets are for: jobs that are seldom told to come back, and a room that
// is used up all the same.

// took compares, by limit, what a class had in use with what it could have had:
// the integrals of both over the time in which jobs of it waited.
type took struct {
	class     string
	had, room [4]float64
}

// look adds one tick of the lane's state. What is in use above the room, while
// others take it back, counts up to the room only.
func (k *took) look(s LaneState) {
	for d, l := range s.Limits {
		room, had := l.Effective, int64(0)
		for _, u := range l.Classes {
			if u.Class == k.class {
				had = u.Used
			} else {
				room -= max(u.Used, u.Protected)
			}
		}
		k.had[d] += float64(max(0, min(had, room)))
		k.room[d] += float64(max(0, room))
	}
}

// most is the largest part of a limit's room that was had.
func (k *took) most() (most float64) {
	for d, room := range k.room {
		if room > 0 {
			most = max(most, k.had[d]/room)
		}
	}
	return most
}

// waits is how many tickets of a class wait.
func waits(s LaneState, class string) (n int64) {
	for _, f := range s.Leaves {
		if f.Class == class {
			n += f.Waiting
		}
	}
	return n
}

// mixed are small jobs, and one in fifty that is fifty times larger.
func mixed(i int) Amounts {
	if i%50 == 7 {
		return Amounts{1, 15_000}
	}
	return Amounts{1, 300}
}

// People go from nothing to half of the limit and away again, above 20,000 jobs
// of which 2 % are fifty times larger.
func TestTicketsBesidePeople(t *testing.T) {
	t.Parallel()
	s := streetOn(newFleet(t, LaneConfig{Limits: Limits{RPM: 6000, InputTPM: 2_000_000}, Lend: "now"}, 1000))
	s.tokens = func() int64 { return 600 }
	s.come = func(at time.Duration) int {
		if at < 2*time.Minute || at > 6*time.Minute {
			return 0
		}
		return s.poisson(1666 * tick.Minutes())
	}
	s.add(20_000, Path{Run: "a", Priority: Normal}, mixed)
	bulk := took{class: "bulk"}
	s.run(time.Hour, func() {
		s.ask()
		if st := s.state(); s.since() >= time.Minute && waits(st, "bulk") > 0 {
			bulk.look(st)
		}
	})
	s.wantDone()
	s.wantReschedules(1.3, 3)
	s.wantTook(bulk, 0.96)
}

func (f *fleet) wantTook(k took, least float64) {
	f.Helper()
	f.Logf("%s had %.3f of what it could have had", k.class, k.most())
	if k.most() < least {
		f.Errorf("%s had %.3f of what it could have had; want %.2f", k.class, k.most(), least)
	}
}
