package limiter

import (
	"slices"
	"testing"
	"time"
)

// promises compares what jobs were promised when they were booked with what
// became of it: the ratio of the promised to the real wait.
type promises map[*rowJob]promise

type promise struct{ at, eta time.Duration }

// watch notes what each 20th job is promised.
func (f *fleet) watch() promises {
	ps, n := promises{}, 0
	f.booked = func(j *rowJob) {
		if n++; n%20 != 0 {
			return
		}
		s, err := f.Ticket(f.Context(), f.lane, j.ticket)
		f.must(err)
		ps[j] = promise{f.since(), s.ETA}
	}
	return ps
}

// wantKept fails when the median promise is off by more than half.
func (ps promises) wantKept(t *testing.T) {
	t.Helper()
	var ratios []float64
	for j, p := range ps {
		if waited := j.granted - p.at; j.gone && waited > 5*time.Second {
			ratios = append(ratios, float64(p.eta)/float64(waited))
		}
	}
	if len(ratios) < 50 {
		t.Fatalf("%d promises only", len(ratios))
	}
	slices.Sort(ratios)
	at := func(q float64) float64 { return ratios[int(q*float64(len(ratios)))] }
	t.Logf("promised ÷ real wait of %d jobs: p10 %.2f, median %.2f, p90 %.2f", len(ratios), at(0.1), at(0.5), at(0.9))
	if m := at(0.5); m < 1/1.5 || m > 1.5 {
		t.Errorf("the median job was promised %.2f of what it waited", m)
	}
}

func TestPromisesAreKept(t *testing.T) {
	for name, play := range map[string]func(t *testing.T) (*fleet, promises){
		"one run": func(t *testing.T) (*fleet, promises) {
			f := bulkAlone(t, Limits{RPM: 6000}, 1000)
			ps := f.watch()
			f.add(12_000, Path{Run: "a", Priority: Normal}, requests)
			return f, ps
		},
		"two sizes": func(t *testing.T) (*fleet, promises) {
			f := bulkAlone(t, Limits{RPM: 6000, InputTPM: 2_000_000}, 1000)
			ps := f.watch()
			f.add(8000, Path{Run: "a", Priority: Normal}, mixed)
			return f, ps
		},
		"four weights": func(t *testing.T) (*fleet, promises) {
			l := Limits{RPM: 6000}
			f := bulkAlone(t, l, 1000)
			f.weigh(l, map[string]int64{"tenant/a": 4, "tenant/b": 2})
			ps := f.watch()
			f.tenants(3000, requests, "a", "b", "c", "d")
			return f, ps
		},
		"few slots": func(t *testing.T) (*fleet, promises) {
			f := bulkAlone(t, Limits{RPM: 60_000}, 50)
			f.latency = 5 * time.Second
			f.add(1000, Path{Run: "a", Priority: Normal}, requests)
			f.run(15*time.Second, nil) // until then nobody can know how fast it goes
			ps := f.watch()
			f.add(2000, Path{Run: "a", Priority: Normal}, requests)
			return f, ps
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, ps := play(t)
			f.run(time.Hour, nil)
			f.wantDone()
			ps.wantKept(t)
			f.wantReschedules(2, 3)
		})
	}
}
