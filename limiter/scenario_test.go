package limiter

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// These play whole fleets in virtual time, on the Model that the histories hold
// equal to the scripts. The figures in the names of limits are per minute.

// bulkAlone configures the lane with one class, and nothing kept for others.
func bulkAlone(t *testing.T, l Limits, slots int) *fleet {
	f := newFleet(t, LaneConfig{Limits: l}, slots)
	f.weigh(l, nil)
	return f
}

func (f *fleet) weigh(l Limits, weights map[string]int64) {
	f.must(f.Configure(f.Context(), Config{Scope: f.scope, Lanes: []LaneConfig{{Lane: f.lane, Limits: l}}, Weights: weights,
		Classes: []Class{{Name: "bulk", Smooth: true, Tickets: true}}}))
}

// wantReschedules fails when a job was refused more often than that in the mean.
func (f *fleet) wantReschedules(most float64, mostP99 int) {
	f.Helper()
	mean, p99 := f.reschedules()
	f.Logf("%d of %d jobs in %s, reschedules a job %.2f, p99 %d", f.done, len(f.byTicket), f.since().Round(time.Second), mean, p99)
	if mean > most || p99 > mostP99 {
		f.Errorf("reschedules a job %.2f, p99 %d; want at most %.2f and %d", mean, p99, most, mostP99)
	}
}

func (f *fleet) wantDone() {
	f.Helper()
	if f.done < len(f.byTicket) {
		f.Errorf("%d of %d jobs done after %s", f.done, len(f.byTicket), f.since())
	}
}

// spent sums a unit over what was granted in a time since start.
func (f *fleet) spent(u Unit, from, to time.Duration) (n int64) {
	for _, j := range f.byTicket {
		if j.gone && j.granted >= from && j.granted < to {
			n += j.amounts[u]
		}
	}
	return n
}

func TestBulkAlone(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000}, 1000)
	f.add(40_000, Path{Run: "a", Priority: Normal}, requests)
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.3, 3)
	if use := float64(f.spent(Requests, time.Minute, 6*time.Minute)) / 30_000; use < 0.96 || use > 1.001 {
		t.Errorf("%.3f of the limit used; want 0.96 or more", use)
	}
}

// 2 % of the jobs are fifty times larger.
func TestLargeJobsDoNotStarve(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000, InputTPM: 1_000_000}, 1000)
	f.add(20_000, Path{Run: "a", Priority: Normal}, func(i int) Amounts {
		if i%50 == 7 {
			return Amounts{1, 15_000}
		}
		return Amounts{1, 300}
	})
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.3, 3)
	if use := float64(f.spent(InputTokens, time.Minute, 6*time.Minute)) / 5_000_000; use < 0.96 || use > 1.001 {
		t.Errorf("%.3f of the limit used; want 0.96 or more", use)
	}
	var small, large []time.Duration
	for _, j := range f.byTicket {
		if j.amounts[InputTokens] > 300 {
			large = append(large, j.granted)
		} else {
			small = append(small, j.granted)
		}
	}
	if a, b := median(small), median(large); b > a*3/2 {
		t.Errorf("large jobs wait %s in the median, small ones %s", b, a)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// A second tenant and a high-priority run come behind 50,000 waiting jobs.
func TestNewcomersBehindALongLine(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000}, 1000)
	f.add(50_000, Path{Tenant: "a", Run: "a", Priority: Low}, requests)
	second := f.add(100, Path{Tenant: "b", Run: "b", Priority: Low}, requests)
	high := f.add(5000, Path{Tenant: "a", Run: "h", Priority: High}, requests)
	f.run(30*time.Second, nil)
	first := time.Hour
	for _, j := range second {
		if j.gone {
			first = min(first, j.granted)
		}
	}
	if first > 30*time.Second {
		t.Error("no result of the second tenant within 30 s")
	}
	t.Logf("first of the second tenant after %s; the sweep alone takes 26 s", first)
	n := count(high)
	f.run(15*time.Second, nil)
	all := f.between(30*time.Second, 45*time.Second)
	if got := float64(count(high)-n) / float64(max(1, all)); got < 0.7 || all < 1000 {
		t.Errorf("the high-priority run has %.2f of %d grants; want 4/5 or so", got, all)
	}
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.3, 3)
}

func count(js []*rowJob) (n int) {
	for _, j := range js {
		if j.gone {
			n++
		}
	}
	return n
}

// Weights changed while running count from the next pull on.
func TestWeightsChange(t *testing.T) {
	t.Parallel()
	l := Limits{RPM: 6000}
	f := bulkAlone(t, l, 1000)
	a := f.add(6000, Path{Tenant: "a", Run: "r", Priority: Normal}, requests)
	b := f.add(6000, Path{Tenant: "b", Run: "r", Priority: Normal}, requests)
	f.run(20*time.Second, nil)
	f.weigh(l, map[string]int64{"tenant/b": 9})
	na, nb := count(a), count(b)
	f.run(25*time.Second, nil)
	if share := float64(count(b)-nb) / float64(count(a)-na+count(b)-nb); share < 0.85 {
		t.Errorf("b has %.2f after its weight became 9", share)
	}
}

// Interactive rises to a fifth of the limit and goes away; bulk takes the rest,
// and gives it back in time.
func TestInteractiveComesAndGoes(t *testing.T) {
	t.Parallel()
	f := newFleet(t, LaneConfig{Limits: Limits{RPM: 6000}, Lend: "now"}, 1000)
	f.add(30_000, Path{Run: "a", Priority: Normal}, requests)
	refused, asked, owed := 0, 0, 0.0
	f.run(8*time.Minute, func() {
		s := f.since() - 90*time.Second
		if s < 0 || s > 3*time.Minute {
			return
		}
		for owed += 20 * tick.Seconds() * min(1, s.Minutes()); owed >= 1; owed-- {
			asked++
			if p, _ := f.ask(f.request("interactive", Amounts{1})); p == nil {
				refused++
			}
		}
	})
	if asked < 2500 || refused > 0 {
		t.Errorf("%d of %d interactive calls refused; want none", refused, asked)
	}
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.3, 3)
}

// The limit is halved, doubled, and the class paused for ten minutes.
func TestLimitsChangeUnderLoad(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000}, 1000)
	f.add(60_000, Path{Run: "a", Priority: Normal}, requests)
	could := 0.0 // have been called by now
	limit := func(rpm int64, d time.Duration) {
		f.weigh(Limits{RPM: rpm}, nil)
		began := f.since()
		f.run(d, nil)
		could += float64(rpm) * (f.since() - began).Minutes()
	}
	limit(6000, 2*time.Minute)
	limit(3000, 3*time.Minute)
	limit(12_000, 2*time.Minute)
	f.must(f.Pause(f.Context(), Pause{Class: "bulk", Reason: "operator"}))
	before := f.done
	f.run(10*time.Minute, nil)
	if f.done != before {
		t.Errorf("%d jobs called while paused", f.done-before)
	}
	f.must(f.Resume(f.Context(), "bulk", "operator"))
	limit(12_000, time.Hour)
	f.wantDone()
	f.wantReschedules(1.3, 3)
	t.Logf("%.3f of what could have been called", float64(f.done)/could)
	if use := float64(f.done) / could; use < 0.95 {
		t.Errorf("%.3f of what could have been called; want 0.95 or more", use)
	}
}

// Nobody pulls for ten minutes: jobs come by their own countdown, none is stuck.
func TestPullAway(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000}, 1000)
	f.away = func(at time.Duration) bool { return at > time.Minute && at < 11*time.Minute }
	f.add(30_000, Path{Run: "a", Priority: Normal}, requests)
	f.run(11*time.Minute, nil)
	if n := f.between(time.Minute, 11*time.Minute); n < 12_000 {
		t.Errorf("%d jobs in the ten minutes without a pull; want a fifth of what the limit allows", n)
	}
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.5, 3)
}

// Few slots, short calls, plenty of quota: slots are what waits.
func TestSlotsAreScarce(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 60_000}, 50)
	f.latency = 500 * time.Millisecond
	f.add(20_000, Path{Run: "a", Priority: Normal}, requests)
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.3, 3)
	if ideal := 20_000 / 50 * f.latency; f.since() > ideal*115/100 {
		t.Errorf("took %s; the slots alone need %s", f.since(), ideal)
	}
}

// A release that nobody comes for goes back to the front, and a dropped job's
// place is free.
func TestLostReleaseAndDrop(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		for _, name := range []string{"a", "b", "c", "d"} {
			q := b.request("bulk", Amounts{1})
			q.Ticket, q.Full = name, true
			if d := b.refused(q, ReasonSlots); d.Ticket != name {
				b.Fatalf("ticket %q", d.Ticket)
			}
		}
		b.must(b.Drop(b.Context(), b.lane, "b"))
		b.wantPulled(2, "a", "c")
		b.wait(40 * time.Millisecond)
		b.wantPulled(2) // too soon after a pass that used up its slots
		q := b.request("bulk", Amounts{1})
		q.Ticket = "a"
		b.granted(q)
		b.wait(10 * time.Second)
		b.wantPulled(2, "c", "d") // c was lost: before d again
		q = b.request("bulk", Amounts{1})
		q.Ticket = "c"
		b.granted(q)
		b.must(b.DropLeaf(b.Context(), b.lane, Path{Run: "r", Priority: High}.Leaf()))
		if _, err := b.Ticket(b.Context(), b.lane, "d"); !errors.Is(err, ErrNoTicket) {
			b.Fatalf("ticket d after its run was dropped: %v", err)
		}
		b.wait(time.Second)
		b.wantPulled(2)
		if s := b.state(); len(s.Leaves) != 0 || s.Limits[0].Booked != 0 || s.Limits[0].Released != 0 {
			b.Fatalf("something waits: %+v", s)
		}
	})
}

func (b *bench) wantPulled(slots int, want ...string) {
	b.Helper()
	ps, err := b.Pull(b.Context(), b.lane, slots)
	b.must(err)
	var got []string
	for _, p := range ps {
		got = append(got, p.Ticket)
	}
	if !slices.Equal(got, want) {
		b.Fatalf("pulled %v; want %v", got, want)
	}
}

func TestTicketTellsWhere(t *testing.T) {
	onEach(t, func(b *bench) {
		b.configure(LaneConfig{Limits: Limits{RPM: 610}, Lend: "never"})
		for i := range 100 {
			q := b.request("bulk", Amounts{1, 10})
			q.Ticket, q.Full = "job"+itoa(i), true
			b.refused(q, ReasonSlots)
		}
		s, err := b.Ticket(b.Context(), b.lane, "job41")
		b.must(err)
		// 427 a minute are bulk's: seven a second.
		if s.Position != 42 || s.Waiting != 100 || s.Released || s.ETA < 5*time.Second || s.ETA > 7*time.Second || s.Class != "bulk" {
			b.Fatalf("%+v", s)
		}
		if ls := b.state().Leaves; len(ls) != 1 || ls[0].Waiting != 100 || ls[0].Booked[InputTokens] != 1000 || ls[0].Weight != 2 {
			b.Fatalf("%+v", ls)
		}
	})
}
