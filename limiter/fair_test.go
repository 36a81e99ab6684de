package limiter

import (
	"math"
	"slices"
	"testing"
	"time"
)

// How jobs that wait share the room.

// tenants puts n jobs of each name in one queue, ten at a time by turns.
func (f *fleet) tenants(n int, amounts func(int) Amounts, names ...string) [][]*rowJob {
	out := make([][]*rowJob, len(names))
	for from := 0; from < n; from += 10 {
		for i, name := range names {
			js := f.add(10, Path{Tenant: name, Run: "r", Priority: Normal}, func(k int) Amounts { return amounts(from + k) })
			out[i] = append(out[i], js...)
		}
	}
	return out
}

// spentBy is what jobs got of a unit in a time since start.
func spentBy(js []*rowJob, u Unit, from, to time.Duration) (n int64) {
	for _, j := range js {
		if j.gone && j.granted >= from && j.granted < to {
			n += j.amounts[u]
		}
	}
	return n
}

// busy is when the first of the lists has nothing left that waits.
func busy(lists [][]*rowJob) time.Duration {
	first := time.Duration(math.MaxInt64)
	for _, js := range lists {
		last := time.Duration(0)
		for _, j := range js {
			last = max(last, j.granted)
		}
		first = min(first, last)
	}
	return first
}

// wantShares holds what each list got from then on, until the first ran out,
// against its weight: within 3 % of it, or one of the largest jobs.
func (f *fleet) wantShares(lists [][]*rowJob, weights []float64, u Unit, from time.Duration) {
	f.Helper()
	to := busy(lists)
	got, sum, weight, largest := make([]float64, len(lists)), 0.0, 0.0, 0.0
	for i, js := range lists {
		got[i] = float64(spentBy(js, u, from, to))
		sum += got[i]
		weight += weights[i]
		for _, j := range js {
			largest = max(largest, float64(j.amounts[u]))
		}
	}
	worst := 0.0
	for i := range lists {
		want := sum * weights[i] / weight
		off := math.Abs(got[i] - want)
		worst = max(worst, off/want)
		if off > max(0.03*want, largest) {
			f.Errorf("%d got %.0f from %s to %s; want %.0f", i, got[i], from, to, want)
		}
	}
	f.Logf("shares from %s to %s are off by %.4f at most", from, to, worst)
}

// Four tenants with weights 4:2:1:1 in one queue, with jobs of two sizes.
func TestWeights(t *testing.T) {
	t.Parallel()
	l := Limits{RPM: 6000, InputTPM: 2_000_000}
	f := bulkAlone(t, l, 1000)
	f.weigh(l, map[string]int64{"tenant/a": 4, "tenant/b": 2})
	ts := f.tenants(5000, mixed, "a", "b", "c", "d")
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.5, 4)
	f.wantShares(ts, []float64{4, 2, 1, 1}, InputTokens, 15*time.Second)
	for i, js := range ts {
		f.wantLargeInTime(i, js)
	}
}

// wantLargeInTime: the large jobs among js wait no more than 1.5 times as long
// as all do in the median, where that is a window or more.
func (f *fleet) wantLargeInTime(name int, js []*rowJob) {
	f.Helper()
	var all, large []time.Duration
	for i, j := range js {
		all = append(all, j.granted)
		if i%50 == 7 {
			large = append(large, j.granted)
		}
	}
	a, b := median(all), median(large)
	f.Logf("tenant %d: large jobs wait %s in the median, all %s", name, b, a)
	if a >= time.Minute && b > a*3/2 {
		f.Errorf("tenant %d: large jobs wait %s in the median, all %s", name, b, a)
	}
}

func TestManyTenants(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000}, 1000)
	names := make([]string, 64)
	for i := range names {
		names[i] = "t" + itoa(i)
	}
	ts := f.tenants(200, requests, names...)
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.3, 3)
	f.wantShares(ts, slices.Repeat([]float64{1}, 64), Requests, 10*time.Second)
	if use := float64(f.spent(Requests, 0, 2*time.Minute)) / 12_000; use < 0.96 {
		t.Errorf("%.3f of the limit used; want 0.96", use)
	}
}

// One tenant's jobs are heavy on tokens, the other's on requests. They share so
// that each has the same part of what it needs most, and the room is used up.
func TestDominantShare(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000, InputTPM: 6_000_000}, 1000)
	f.add(3_000, Path{Tenant: "heavy", Run: "r", Priority: Normal}, func(int) Amounts { return Amounts{1, 10_000} })
	f.add(30_000, Path{Tenant: "light", Run: "r", Priority: Normal}, func(int) Amounts { return Amounts{1, 20} })
	bulk := took{class: "bulk"}
	f.run(5*time.Minute, func() {
		if f.since() > time.Minute {
			bulk.look(f.state())
		}
	})
	f.wantTook(bulk, 0.95)
	from, to := time.Minute, 4*time.Minute
	t.Logf("requests %.3f, tokens %.3f", float64(f.spent(Requests, from, to))/(3*6000), float64(f.spent(InputTokens, from, to))/(3*6_000_000))
}

// A tenant with three runs gets no more than one with one run; within the tenant
// its runs share, by their priorities too.
func TestRunsOfOneTenantShare(t *testing.T) {
	t.Parallel()
	l := Limits{RPM: 6000}
	f := bulkAlone(t, l, 1000)
	f.weigh(l, map[string]int64{"priority/high": 4, "priority/normal": 2, "priority/low": 1})
	var a, b, runs [][]*rowJob
	a, runs = make([][]*rowJob, 1), make([][]*rowJob, 3)
	b = make([][]*rowJob, 1)
	for range 300 {
		for i, p := range []Priority{High, Normal, Low} {
			js := f.add(10, Path{Tenant: "a", Run: "r" + itoa(i), Priority: p}, requests)
			a[0], runs[i] = append(a[0], js...), append(runs[i], js...)
		}
		b[0] = append(b[0], f.add(20, Path{Tenant: "b", Run: "r", Priority: Normal}, requests)...)
	}
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.5, 4)
	from, to := 10*time.Second, busy(runs)
	f.wantShares(runs, []float64{4, 2, 1}, Requests, from)
	got := []int64{spentBy(a[0], Requests, from, to), spentBy(b[0], Requests, from, to)}
	t.Logf("tenant a with three runs had %d, tenant b with one %d", got[0], got[1])
	if part := float64(got[0]) / float64(got[0]+got[1]); part < 0.485 || part > 0.515 {
		t.Errorf("tenant a with three runs had %.3f; want half", part)
	}
}

// A tenant that has 200 a minute has 10,000 rows before another tenant's: the other
// has the rest of the room at once, and the room is used up.
func TestTenantsOwnLimitHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	f := newFleet(t, LaneConfig{Limits: Limits{RPM: 1000}}, 200)
	f.must(f.Configure(f.Context(), Config{Scope: f.scope, Lanes: []LaneConfig{{Lane: f.lane, Limits: Limits{RPM: 1000}}},
		Classes: []Class{{Name: "bulk", Smooth: true, Tickets: true}}, Nodes: map[string]Limits{"tenant/a": {RPM: 200}}}))
	a := f.add(10_000, Path{Tenant: "a", Run: "r", Priority: Normal}, requests)
	b := f.add(4000, Path{Tenant: "b", Run: "r", Priority: Normal}, requests)
	f.run(5*time.Minute, nil)
	first := time.Hour
	for _, j := range b {
		if j.gone {
			first = min(first, j.granted)
		}
	}
	t.Logf("the first of b after %s; the sweep of a takes 5 s", first)
	if first > 6*time.Second {
		t.Errorf("the first of b after %s; want it within a second after the sweep of a", first)
	}
	from, to := 6*time.Second, 4*time.Minute
	minutes := (to - from).Minutes()
	mine, other := float64(spentBy(a, Requests, from, to))/minutes, float64(spentBy(b, Requests, from, to))/minutes
	t.Logf("a has %.0f a minute of its 200, b %.0f, the lane has 1000", mine, other)
	if mine < 190 || mine > 201 || mine+other < 950 {
		t.Errorf("a has %.0f a minute and b %.0f; want 190 of a's 200 and 950 together", mine, other)
	}
	f.wantReschedules(1.3, 3)
}
