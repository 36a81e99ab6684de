package limiter

import (
	"errors"
	"testing"
	"time"
)

// Jobs that do not come, and places that are given back.

// Of what is released, 2 % is not heard of: the answer of the pull was lost. Such
// a job comes when it is released again, or by its own countdown.
func TestLostReleases(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000}, 1000)
	f.lost = func(*rowJob) bool { return f.rng.IntN(50) == 0 }
	f.add(15_000, Path{Run: "a", Priority: Normal}, requests)
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.3, 3)
	if use := float64(f.spent(Requests, 0, 2*time.Minute)) / 12_000; use < 0.95 {
		t.Errorf("%.3f of the limit used; want 0.95", use)
	}
}

// Of the jobs that wait, 2 % are gone and nobody gave their places back. What is
// released for them is not held for ever.
func TestJobsThatNeverCome(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000}, 1000)
	js := f.add(15_000, Path{Run: "a", Priority: Normal}, requests)
	gone := map[*rowJob]bool{}
	for i, j := range js {
		gone[j] = i%50 == 7
	}
	f.lost = func(j *rowJob) bool { return gone[j] }
	f.never = gone
	for f.done < 14_700 && f.since() < 10*time.Minute {
		f.run(time.Second, nil)
	}
	f.wantReschedules(1.3, 3)
	t.Logf("%d jobs in %s", f.done, f.since())
	if use := float64(f.done) / (6000 * f.since().Minutes()); use < 0.95 {
		t.Errorf("%.3f of the limit used; want 0.95", use)
	}
	f.run(3*time.Minute, nil)
	if l := f.state().Limits[0]; l.Booked+l.Released > 0 {
		t.Errorf("%d are booked and %d released for nobody", l.Booked, l.Released)
	}
}

// A ticket that was released a dozen times and never came is forgotten, and what was
// set aside for it is free; its job, if it comes after all, is new.
func TestTicketIsForgotten(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		q := b.request("bulk", Amounts{1})
		q.Ticket, q.Full = "gone", true
		b.refused(q, ReasonSlots)
		for range 12 {
			b.wantPulled(2, "gone")
			if n := b.state().Limits[0].Released; n != 1 {
				b.Fatalf("%d released; want 1", n)
			}
			b.wait(10 * time.Second)
		}
		b.wantPulled(2)
		if _, err := b.Ticket(b.Context(), b.lane, "gone"); !errors.Is(err, ErrNoTicket) {
			b.Fatalf("the ticket after a dozen releases: %v", err)
		}
		if l := b.state().Limits[0]; l.Released != 0 || l.Booked != 0 {
			b.Fatalf("%d released and %d booked for nobody", l.Released, l.Booked)
		}
		q.ID = "again"
		if d := b.refused(q, ReasonSlots); d.Position != 1 || d.Ticket != "gone" {
			b.Fatalf("%+v", d)
		}
	})
}

// Half of the jobs of one run are cancelled while they wait, then all of the
// other run's: the places are given back, and the rest moves up.
func TestCancelsGiveTheirPlacesBack(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000}, 1000)
	a := f.add(8000, Path{Run: "a", Priority: Normal}, requests)
	b := f.add(8000, Path{Run: "b", Priority: Normal}, requests)
	f.run(15*time.Second, nil)
	for i, j := range a {
		if !j.gone && i%2 == 0 {
			f.cancel(j)
		}
	}
	f.must(f.DropLeaf(f.Context(), f.lane, b[0].path.Leaf()))
	for _, j := range b {
		if !j.gone {
			f.cancel(j)
		}
	}
	var rest int64
	for _, j := range a {
		if !j.gone && j.sleeping {
			rest++
		}
	}
	if s := f.state(); s.Limits[0].Booked != rest {
		t.Errorf("%d are booked; %d jobs wait", s.Limits[0].Booked, rest)
	}
	from := f.since()
	f.run(30*time.Second, nil)
	if n := f.between(from, from+30*time.Second); n < 2850 {
		t.Errorf("%d jobs in the half minute after the cancels; want 2850 of 3000", n)
	}
	f.run(time.Hour, nil)
	f.wantReschedules(1.3, 3)
	f.wait(time.Second)
	f.pull()
	if s := f.state(); len(s.Leaves) != 0 || s.Limits[0].Released != 0 {
		t.Errorf("something waits: %+v", s)
	}
}

// cancel takes a job out of the line and out of the queue.
func (f *fleet) cancel(j *rowJob) {
	f.must(f.Drop(f.Context(), f.lane, j.ticket))
	j.gone, j.sleeping = true, false
	f.done++
}
