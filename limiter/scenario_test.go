package limiter

import (
	"testing"
	"time"
)

// TestSteadyUse: bulk alone, nothing left outside.
func TestSteadyUse(t *testing.T) {
	t.Parallel()
	f := newFleet(t, LaneConfig{Limits: Limits{RPM: 6000}, Lend: "never"}, 1000)
	bulkAlone(f)
	f.add(45_000, Path{Run: "a", Priority: Normal}, requests)
	f.run(9*time.Minute, nil)
	use := float64(f.between(time.Minute, 6*time.Minute)) / (5 * 6000)
	mean, p99 := f.reschedules()
	for i := range 7 {
		t.Log(i, f.between(time.Duration(i)*time.Minute, time.Duration(i+1)*time.Minute))
	}
	t.Logf("use %.3f, reschedules mean %.2f p99 %d, done %d of %d in %s", use, mean, p99, f.done, len(f.byTicket), f.since())
}

func bulkAlone(f *fleet) {
	f.must(f.Configure(f.Context(), Config{Scope: f.scope, Classes: []Class{{Name: "bulk", Smooth: true, Tickets: true}},
		Lanes: []LaneConfig{{Lane: f.lane, Limits: f.state().limits()}}}))
}

func (s LaneState) limits() Limits {
	var l Limits
	for _, x := range s.Limits {
		for _, h := range shorthands {
			if h.name == x.Name {
				*h.field(&l) = x.Amount
			}
		}
	}
	return l
}

func TestBigJobs(t *testing.T) {
	f := newFleet(t, LaneConfig{Limits: Limits{RPM: 6000, InputTPM: 1000000}, Lend: "never"}, 1000)
	bulkAlone(f)
	f.add(20_000, Path{Run: "a", Priority: Normal}, func(i int) Amounts {
		if i%50 == 7 {
			return Amounts{1, 15000}
		}
		return Amounts{1, 300}
	})
	f.run(16*time.Minute, nil)
	tok := int64(0)
	var small, big []time.Duration
	for _, j := range f.byTicket {
		if j.gone && j.granted >= time.Minute && j.granted < 6*time.Minute {
			tok += j.amounts[1]
		}
		if j.gone {
			if j.amounts[1] > 300 {
				big = append(big, j.granted)
			} else {
				small = append(small, j.granted)
			}
		}
	}
	mean, p99 := f.reschedules()
	t.Logf("use %.3f, reschedules mean %.2f p99 %d, done %d of %d in %s", float64(tok)/5e6, mean, p99, f.done, len(f.byTicket), f.since())
}

func TestTenants(t *testing.T) {
	f := newFleet(t, LaneConfig{Limits: Limits{RPM: 6000}, Lend: "never"}, 1000)
	bulkAlone(f)
	f.add(50_000, Path{Tenant: "a", Run: "a", Priority: Normal}, requests)
	b := f.add(100, Path{Tenant: "b", Run: "b", Priority: Normal}, requests)
	hi := f.add(1000, Path{Tenant: "a", Run: "h", Priority: High}, requests)
	f.run(60*time.Second, nil)
	first := time.Hour
	n := 0
	for _, j := range b {
		if j.gone {
			n++
			first = min(first, j.granted)
		}
	}
	h := 0
	for _, j := range hi {
		if j.gone {
			h++
		}
	}
	t.Log(first, n, h, f.done)
	for _, j := range b[:5] {
		t.Log(j.tries, j.granted, j.due.Sub(f.start), f.between(j.granted-5*time.Second, j.granted), f.between(24*time.Second, 25*time.Second))
	}
	f.run(15*time.Minute, nil)
	mean, p99 := f.reschedules()
	t.Logf("reschedules mean %.2f p99 %d, done %d of %d in %s", mean, p99, f.done, len(f.byTicket), f.since())
}

func TestSlotsOnly(t *testing.T) {
	f := newFleet(t, LaneConfig{Limits: Limits{RPM: 60000}, Lend: "never"}, 50)
	f.latency = 500 * time.Millisecond
	bulkAlone(f)
	f.add(20_000, Path{Tenant: "a", Run: "a", Priority: Normal}, requests)
	f.run(15*time.Minute, nil)
	mean, p99 := f.reschedules()
	t.Logf("reschedules mean %.2f p99 %d, done %d of %d in %s; ideal %s", mean, p99, f.done, len(f.byTicket), f.since(), time.Duration(20000/50)*500*time.Millisecond)
}
