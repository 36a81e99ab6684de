package limiter

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestDollars(t *testing.T) {
	for micro, want := range map[int64]string{0: "$0.00", 50_000_000: "$50.00", 37: "$0.000037", 590_000: "$0.59", 1_234_500: "$1.2345", -20_000: "-$0.02"} {
		if got := dollars(micro); got != want {
			t.Errorf("%d is %s, want %s", micro, got, want)
		}
	}
}

// capped configures the bench's lane with a soft part of its caps, and nodes.
func (b *bench) capped(lane Limits, nodes map[string]Limits) {
	b.Helper()
	cs := slices.Clone(classes)
	cs[1].Pausable = true
	b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: cs, Nodes: nodes, SoftPPM: 920_000,
		Lanes: []LaneConfig{{Lane: b.lane, Limits: lane, OutsidePPM: 50_000}}}))
}

func usd(micro int64) Amounts { return Amounts{Requests: 1, MicroUSD: micro} }

// Pausable classes stop at the soft part of a cap, whoever spent it; the others go
// on to the cap itself, and are told.
func TestSoftPartOfACap(t *testing.T) {
	onEach(t, func(b *bench) {
		b.capped(Limits{USDPerMonth: 1_000_000}, nil)
		if p := b.granted(b.request("interactive", usd(20_000))); p.Soft != "" {
			b.Errorf("at 2 %% a call is told of %q", p.Soft)
		}
		first := b.granted(b.request("bulk", usd(450_000)))
		b.granted(b.request("bulk", usd(450_000))) // to the part exactly
		d := b.refused(b.request("bulk", usd(1)), ReasonSpend)
		if d.Node != "lane" || d.Limiter != "usd_per_month" || d.Limit != 920_000 || d.Used != 920_000 || d.Shortage != 1 ||
			!d.RetryAt.Equal(utc(b, "2026-12-01 08:00")) || d.Detail != "bulk stops at 92 % of the cap of $1.00" {
			b.Errorf("%+v", d)
		}
		if p := b.granted(b.request("interactive", usd(80_000))); p.Soft != "lane usd_per_month" {
			b.Errorf("past the soft part a call is told of %q", p.Soft)
		}
		d = b.refused(b.request("interactive", usd(1)), ReasonSpend)
		if d.Limit != 1_000_000 || d.Used != 1_000_000 || d.Detail != "" {
			b.Errorf("%+v", d)
		}
		b.settle(first, usd(300_000))
		b.granted(b.request("bulk", usd(70_000)))
		b.refused(b.request("bulk", usd(1)), ReasonSpend)
		if d := b.refused(b.request("bulk", usd(920_001)), ReasonTooLarge); d.Limit != 920_000 || !strings.Contains(d.Error(), "$0.920001") {
			b.Errorf("too large: %v", d)
		}
	})
}

// A day's cap has a soft part too; the provider's ten minutes and a run's own cap
// have none.
func TestWhatHasASoftPart(t *testing.T) {
	onEach(t, func(b *bench) {
		b.capped(Limits{USDPerDay: 1_000_000, USDPer10m: 1_000_000}, map[string]Limits{"run/r": {USDPerMonth: 950_000}})
		b.refused(b.request("bulk", usd(920_001)), ReasonTooLarge)
		b.capped(Limits{RPM: 1000}, map[string]Limits{"run/r": {USDPerMonth: 950_000}})
		b.granted(b.request("bulk", usd(950_000)))
		b.refused(b.request("interactive", usd(1)), ReasonSpend)
	})
}

// One cap holds over all models, whoever calls and on whose behalf.
func TestCapOfTheProject(t *testing.T) {
	onEach(t, func(b *bench) {
		lane := b.lane
		other := lane
		other.Model = "another"
		cs := slices.Clone(classes)
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: cs, Nodes: map[string]Limits{b.scope.ProjectNode(): {USDPerDay: 100_000}},
			Lanes: []LaneConfig{{Lane: lane, Limits: Limits{RPM: 100}}, {Lane: other, Limits: Limits{RPM: 100}}}}))
		b.granted(b.request("interactive", usd(60_000)))
		b.lane = other
		q := b.request("interactive", usd(60_000))
		q.Path, q.Feature = Path{Tenant: "acme"}, ""
		if d := b.refused(q, ReasonSpend); d.Node != b.scope.ProjectNode() || d.Limit-d.Used != 40_000 {
			b.Errorf("%+v", d)
		}
		q.Amounts = usd(40_000)
		b.granted(q)
	})
}

func TestProjectsOfOthersAreRefused(t *testing.T) {
	b := newBench(t, "model")
	for _, node := range []string{"project/other", "project/*"} {
		c := Config{Scope: b.scope, Classes: classes, Nodes: map[string]Limits{node: {RPM: 5}}}
		if err := c.Validate(); err == nil {
			t.Errorf("%s was accepted", node)
		}
	}
}

// Fifty workers at once never spend more than is left: what each may cost is held
// before its call.
func TestFiftyWorkersAtACap(t *testing.T) {
	for _, kind := range []string{"real", "embedded"} {
		for left, fit := range map[int64]int{50_000: 0, 500_000: 5} {
			t.Run(fmt.Sprint(kind, " ", left), func(t *testing.T) {
				b := newBench(t, kind)
				const limit = 10_000_000
				b.capped(Limits{RPM: 100_000}, map[string]Limits{b.scope.ProjectNode(): {USDPerMonth: limit}})
				b.granted(b.request("interactive", usd(limit-left)))
				var all sync.WaitGroup
				var granted atomic.Int64
				for i := range 50 {
					q := b.request("interactive", usd(90_000))
					q.ID = fmt.Sprint("worker", i)
					all.Go(func() {
						if _, err := b.Acquire(b.Context(), q); err == nil {
							granted.Add(1)
						}
					})
				}
				all.Wait()
				used := b.usedOf(b.scope.ProjectNode(), "usd_per_month")
				if int(granted.Load()) != fit || used > limit || used != limit-left+int64(fit)*90_000 {
					t.Errorf("%d got through, want %d; %s used of %s", granted.Load(), fit, dollars(used), dollars(limit))
				}
				t.Logf("$%.2f left, 50 workers of at most $0.09: %d went, overshoot %s", float64(left)/million, granted.Load(), dollars(max(0, used-limit)))
			})
		}
	}
}

// A call belongs to the month in which its money was held, and settles there once,
// wherever months are counted.
func TestMonthOfTheHold(t *testing.T) {
	for zone, end := range map[string]string{"Asia/Tokyo": "2026-11-30 15:00", "America/New_York": "2026-12-01 05:00"} {
		t.Run(zone, func(t *testing.T) {
			onEach(t, func(b *bench) {
				node := b.scope.ProjectNode()
				b.set(utc(b, end).Add(-time.Second))
				b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, MonthTZ: zone, Nodes: map[string]Limits{node: {USDPerMonth: 1000}},
					Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 100, USDPerMonth: 1000}}}}))
				p := b.granted(b.request("interactive", usd(900)))
				b.wait(2 * time.Second)
				b.granted(b.request("interactive", usd(100))) // the new month is empty
				b.settle(p, usd(950))
				b.settle(p, usd(950)) // once more changes nothing
				if lane, project := b.used("usd_per_month"), b.usedOf(node, "usd_per_month"); lane != 100 || project != 100 {
					b.Errorf("the new month has %d and %d used, want 100", lane, project)
				}
			})
		})
	}
}

// What waits for money goes on when the cap is raised, without being asked.
func TestRaisedCapLetsThemGo(t *testing.T) {
	onEach(t, func(b *bench) {
		node := b.scope.ProjectNode()
		b.capped(Limits{RPM: 1000}, map[string]Limits{node: {USDPerMonth: 1_000_000}})
		b.granted(b.request("bulk", usd(900_000)))
		q := b.request("bulk", usd(90_000))
		q.Ticket = "row"
		b.refused(q, ReasonSpend)
		list, err := caps(b.Context(), b.gate.(capped))
		b.must(err)
		if len(list) != 1 || list[0].Node != node || list[0].Used != 900_000 || list[0].Held != 900_000 || list[0].Soft != 920_000 ||
			!slices.Equal(list[0].Stopped, []string{"bulk"}) || list[0].Next != 90_000 || !list[0].End.Equal(utc(b, "2026-12-01 08:00")) || !list[0].Start.Equal(utc(b, "2026-11-01 07:00")) {
			b.Errorf("%+v", list)
		}
		b.wait(time.Second)
		if ps, err := b.Pull(b.Context(), b.lane, 5); err != nil || len(ps) > 0 {
			b.Fatalf("%v went before the cap was raised, %v", ps, err)
		}
		b.must(b.Set(b.Context(), Override{Node: node, Name: "usd_per_month", Value: 2_000_000}))
		b.wait(time.Second)
		if ps, err := b.Pull(b.Context(), b.lane, 5); err != nil || len(ps) != 1 || ps[0].Ticket != "row" {
			b.Fatalf("%v went after it was raised, %v", ps, err)
		}
		q.ID = "again"
		b.granted(q)
	})
}
