package limiter

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// nodes configures the bench's lane, wide, and limits of nodes.
func (b *bench) nodes(nodes map[string]Limits) {
	b.Helper()
	b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, Nodes: nodes,
		Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 1000, InputTPM: 1_000_000}, Lend: "now"}}}))
}

// of is a request on behalf of a tenant.
func (b *bench) of(tenant string, a Amounts) Request {
	q := b.request("interactive", a)
	q.Path.Tenant = tenant
	return q
}

// usedOf is what a node's limit has in use.
func (b *bench) usedOf(node, limit string) int64 {
	b.Helper()
	s, err := b.NodeState(b.Context(), node)
	b.must(err)
	for _, l := range s.Limits {
		if l.Name == limit {
			return l.Used
		}
	}
	b.Fatalf("%s has no %s", node, limit)
	return 0
}

func TestNodesBindAllOrNothing(t *testing.T) {
	onEach(t, func(b *bench) {
		b.nodes(map[string]Limits{"tenant/acme": {RPM: 2}, "feature/test": {InputTPM: 500}})
		b.granted(b.of("acme", Amounts{1, 100}))
		b.granted(b.of("acme", Amounts{1, 100}))
		d := b.refused(b.of("acme", Amounts{1, 100}), ReasonQuota)
		if d.Node != "tenant/acme" || d.Limiter != "rpm" || d.Limit != 2 || d.Used != 2 || d.Shortage != 1 {
			b.Fatalf("%+v", d)
		}
		if len(d.Holders) != 1 || d.Holders[0] != (Holder{"interactive", 2}) {
			b.Errorf("holders %v", d.Holders)
		}
		// Another tenant, and the feature's limit is everybody's.
		b.granted(b.of("other", Amounts{1, 200}))
		d = b.refused(b.of("other", Amounts{1, 200}), ReasonQuota)
		if d.Node != "feature/test" || d.Limiter != "input_tpm" || d.Used != 400 {
			b.Fatalf("%+v", d)
		}
		// Refused is charged nowhere.
		if lane, tenant, feature := b.used("rpm"), b.usedOf("tenant/acme", "rpm"), b.usedOf("feature/test", "input_tpm"); lane != 3 || tenant != 2 || feature != 400 {
			b.Errorf("lane %d, tenant %d, feature %d; want 3, 2, 400", lane, tenant, feature)
		}
		b.set(noon.Add(61 * time.Second))
		b.granted(b.of("acme", Amounts{1, 100}))
	})
}

// A larger request than a node's limit never waits.
func TestTooLargeForANode(t *testing.T) {
	onEach(t, func(b *bench) {
		b.nodes(map[string]Limits{"tenant/acme": {InputTPM: 1000}})
		d := b.refused(b.of("acme", Amounts{1, 1001}), ReasonTooLarge)
		if d.Node != "tenant/acme" || !d.Permanent || d.Limit != 1000 || d.Shortage != 1 {
			b.Errorf("%+v", d)
		}
	})
}

// A settlement corrects every ledger that the permit was charged to, and a lease
// gives back what was held in each.
func TestNodesSettle(t *testing.T) {
	onEach(t, func(b *bench) {
		b.nodes(map[string]Limits{"tenant/*": {InputTPM: 1000, Concurrency: 1, USDPerMonth: 5000}})
		p := b.granted(b.of("acme", Amounts{1, 400, 0, 0, 0, 300}))
		b.refused(b.of("acme", Amounts{1, 1}), ReasonQuota)
		b.wait(2 * time.Second)
		b.settle(p, Amounts{1, 900, 0, 0, 0, 700})
		if lane, node, usd := b.used("input_tpm"), b.usedOf("tenant/acme", "input_tpm"), b.usedOf("tenant/acme", "usd_per_month"); lane != 900 || node != 900 || usd != 700 {
			b.Errorf("lane %d, node %d, money %d; want 900, 900, 700", lane, node, usd)
		}
		q := b.of("acme", Amounts{1, 10})
		q.Lease = 5 * time.Second
		dead := b.granted(q)
		b.refused(b.of("acme", Amounts{1, 1}), ReasonQuota)
		b.wait(6 * time.Second)
		b.granted(b.of("acme", Amounts{1, 1}))
		b.settle(dead, Amounts{1, 30}) // late: usage, never the slot again
		if held, used := b.usedOf("tenant/acme", "concurrency"), b.usedOf("tenant/acme", "input_tpm"); held != 1 || used != 931 {
			b.Errorf("held %d, used %d; want 1, 931", held, used)
		}
	})
}

// Lanes share a node.
func TestANodeIsOneOverAllLanes(t *testing.T) {
	onEach(t, func(b *bench) {
		pro := b.lane
		pro.Model = "pro"
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, Nodes: map[string]Limits{"tenant/acme": {RPM: 3}},
			Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 100}}, {Lane: pro, Limits: Limits{RPM: 100}}}}))
		for i := range 3 {
			q := b.of("acme", Amounts{1})
			q.Lane = []Lane{b.lane, pro}[i%2]
			b.granted(q)
		}
		q := b.of("acme", Amounts{1})
		q.Lane = pro
		if d := b.refused(q, ReasonQuota); d.Node != "tenant/acme" || d.Model != "pro" {
			b.Errorf("%+v", d)
		}
	})
}

// Limits of a node change while it is in use, by name and by pattern.
func TestNodesChange(t *testing.T) {
	onEach(t, func(b *bench) {
		b.nodes(map[string]Limits{"tenant/*": {RPM: 2}})
		b.granted(b.of("acme", Amounts{1}))
		b.granted(b.of("acme", Amounts{1}))
		b.refused(b.of("acme", Amounts{1}), ReasonQuota)
		b.nodes(map[string]Limits{"tenant/*": {RPM: 3}})
		b.granted(b.of("acme", Amounts{1}))
		b.refused(b.of("acme", Amounts{1}), ReasonQuota)
		b.nodes(map[string]Limits{"tenant/*": {RPM: 3}, "tenant/acme": {RPM: 4}})
		b.granted(b.of("acme", Amounts{1}))
		b.refused(b.of("acme", Amounts{1}), ReasonQuota)
		b.nodes(nil)
		b.granted(b.of("acme", Amounts{1}))
		b.nodes(map[string]Limits{"tenant/*": {RPM: 4}})
		if d := b.refused(b.of("acme", Amounts{1}), ReasonQuota); d.Used < 4 {
			b.Errorf("%d used; what was used stays used", d.Used)
		}
		if all, err := b.Nodes(b.Context()); err != nil || !slices.Equal(all, []string{"tenant/*", "tenant/acme"}) {
			b.Errorf("nodes %v, %v", all, err)
		}
	})
}

// A limit in shadow reports and refuses nothing.
func TestShadow(t *testing.T) {
	onEach(t, func(b *bench) {
		c := Config{Scope: b.scope, Classes: classes, Nodes: map[string]Limits{"tenant/acme": {RPM: 1}},
			Lanes:  []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 2, InputTPM: 1000}, Lend: "never"}},
			Shadow: map[string][]string{"tenant/acme": {"rpm"}, b.lane.String(): {"rpm"}}}
		b.must(b.Configure(b.Context(), c))
		if p := b.granted(b.of("acme", Amounts{1, 10})); len(p.Shadow) > 0 {
			b.Errorf("shadow %v of the first call", p.Shadow)
		}
		if p := b.granted(b.of("acme", Amounts{1, 10})); !slices.Equal(p.Shadow, []string{"tenant/acme rpm"}) {
			b.Errorf("shadow %v of the second call", p.Shadow)
		}
		if p := b.granted(b.of("acme", Amounts{1, 10})); !slices.Equal(p.Shadow, []string{"lane rpm", "tenant/acme rpm"}) {
			b.Errorf("shadow %v of the third call", p.Shadow)
		}
		b.refused(b.of("acme", Amounts{1, 1001}), ReasonTooLarge) // the other limit binds
		s, err := b.NodeState(b.Context(), "tenant/acme")
		b.must(err)
		if l := s.Limits[0]; !l.Shadow || l.Shadowed != 2 || l.Used != 3 {
			b.Errorf("%+v", l)
		}
	})
}

// Explain tells, and changes nothing.
func TestExplain(t *testing.T) {
	onEach(t, func(b *bench) {
		b.nodes(map[string]Limits{"tenant/acme": {RPM: 1}})
		e, err := b.Explain(b.Context(), b.of("acme", Amounts{1, 10}))
		if err != nil || !e.Granted || len(e.Nodes) != 1 || e.Nodes[0].Node != "tenant/acme" {
			b.Fatalf("%+v, %v", e, err)
		}
		if b.used("rpm") != 0 || b.usedOf("tenant/acme", "rpm") != 0 {
			b.Fatal("a question was charged")
		}
		b.granted(b.of("acme", Amounts{1, 10}))
		q := b.of("acme", Amounts{1, 10})
		q.Class, q.Ticket = "bulk", "t"
		e, err = b.Explain(b.Context(), q)
		if err != nil || e.Granted || e.Denied.Node != "tenant/acme" || e.Denied.Position != 0 {
			b.Fatalf("%+v, %v", e, err)
		}
		if _, err := b.Ticket(b.Context(), b.lane, "t"); !errors.Is(err, ErrNoTicket) {
			b.Errorf("a question got a place: %v", err)
		}
	})
}

// What bulk uses beyond what is left beside the guarantees is on loan.
func TestLentIsSaid(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 100}, Lend: "now"}},
			Classes: []Class{{Name: "interactive", GuaranteePPM: 300_000}, {Name: "bulk"}}}))
		for range 90 {
			b.granted(b.request("bulk", Amounts{1}))
		}
		for range 10 {
			b.granted(b.request("interactive", Amounts{1}))
		}
		d := b.refused(b.request("interactive", Amounts{1}), ReasonQuota)
		if d.Lent != 20 || !slices.Equal(d.Holders, []Holder{{"bulk", 90}, {"interactive", 10}}) {
			b.Errorf("lent %d, holders %v; want 20 of bulk's 90 (70 are its own)", d.Lent, d.Holders)
		}
	})
}

// Day and month counters of nodes outlive the shared state too.
func TestNodeCountersComeBack(t *testing.T) {
	onEach(t, func(b *bench) {
		nodes := map[string]Limits{"tenant/*": {USDPerMonth: 5000}, "feature/test": {RPD: 10}}
		b.nodes(nodes)
		b.granted(b.of("acme", Amounts{1, 0, 0, 0, 0, 300}))
		kept, err := b.Counters(b.Context())
		b.must(err)
		fresh := newBenchIn(t, "real", testScope())
		fresh.nodes(nodes)
		for i := range kept.Counters {
			kept.Counters[i].Lane.Project = fresh.lane.Project
		}
		fresh.must(fresh.Restore(fresh.Context(), kept))
		if usd, n := fresh.usedOf("tenant/acme", "usd_per_month"), fresh.usedOf("feature/test", "rpd"); usd != 300 || n != 1 {
			b.Errorf("%d micro-dollars and %d calls came back; want 300 and 1", usd, n)
		}
	})
}

// tenants of ten thousand and one rows: the first has a limit of its own.
func TestATenantAtItsLimitHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	l := Limits{RPM: 6000}
	f := bulkAlone(t, l, 1000)
	f.must(f.Configure(f.Context(), Config{Scope: f.scope, Lanes: []LaneConfig{{Lane: f.lane, Limits: l}}, Nodes: map[string]Limits{"tenant/a": {RPM: 1200}},
		Classes: []Class{{Name: "bulk", Smooth: true, Tickets: true}}}))
	a := f.add(12_000, Path{Tenant: "a", Run: "a", Priority: High}, requests)
	b := f.add(20_000, Path{Tenant: "b", Run: "b", Priority: Low}, requests)
	f.run(20*time.Second, nil) // all are seen
	na, nb := count(a), count(b)
	f.run(3*time.Minute, nil)
	ga, gb := float64(count(a)-na)/3, float64(count(b)-nb)/3
	t.Logf("a minute: %.0f of the tenant with a limit, %.0f of the other", ga, gb)
	if ga < 0.95*1200*60/61 || ga > 1200 || ga+gb < 0.96*6000 {
		t.Errorf("%.0f and %.0f a minute; want 1200 and the rest of 6000", ga, gb)
	}
	f.run(time.Hour, nil)
	f.wantDone()
	f.wantReschedules(1.5, 3)
}

// A tenant gets no more for having more runs.
func TestSharesAreByLevel(t *testing.T) {
	t.Parallel()
	f := bulkAlone(t, Limits{RPM: 6000}, 1000)
	one := f.add(8000, Path{Tenant: "a", Run: "a", Priority: Normal}, requests)
	var many []*rowJob
	for i := range 3 {
		many = append(many, f.add(4000, Path{Tenant: "b", Run: fmt.Sprint("b", i), Priority: Normal}, requests)...)
	}
	f.run(15*time.Second, nil) // all are seen
	na, nb := count(one), count(many)
	f.run(time.Minute, nil)
	ga, gb := count(one)-na, count(many)-nb
	if share := float64(ga) / float64(ga+gb); share < 0.47 || share > 0.53 {
		t.Errorf("the tenant with one run has %.3f of %d; want a half", share, ga+gb)
	}
}

// The shares of doc.go's example.
func TestSharesOfTheExample(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, Weights: map[string]int64{"tenant/a": 2},
			Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 1000}}}}))
		for i, p := range []Path{{Tenant: "a", Run: "1", Priority: Normal}, {Tenant: "b", Run: "2", Priority: High}, {Tenant: "b", Run: "3", Priority: Normal}} {
			for n := range 2 {
				q := b.request("bulk", Amounts{1})
				q.Path, q.Ticket, q.Full = p, fmt.Sprint("t", i, n), true
				b.refused(q, ReasonSlots)
			}
		}
		if _, err := b.Pull(b.Context(), b.lane, 1); err != nil {
			b.Fatal(err)
		}
		var got []int64
		for _, f := range b.state().Leaves {
			got = append(got, f.SharePPM)
		}
		if !slices.Equal(got, []int64{666_666, 222_222, 111_111}) {
			b.Errorf("shares %v ppm", got)
		}
	})
}

// A job that comes as another class, in which nobody waits yet, gives its place back.
func TestATicketThatChangesItsClass(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Nodes: map[string]Limits{"tenant/acme": {RPM: 100}},
			Classes: []Class{{Name: "bulk", Tickets: true}, {Name: "background", Tickets: true}},
			Lanes:   []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 100}, Lend: "now"}}}))
		q := b.request("bulk", Amounts{1})
		q.Path.Tenant, q.Ticket, q.Full = "acme", "t", true
		b.refused(q, ReasonSlots)
		q.Class = "background"
		b.refused(q, ReasonSlots)
		s, err := b.NodeState(b.Context(), "tenant/acme")
		b.must(err)
		if lane := b.state().Limits[0].Booked; lane != 1 || s.Limits[0].Booked != 1 {
			b.Errorf("%d booked in the lane, %d in the node; want 1", lane, s.Limits[0].Booked)
		}
	})
}

// What waits follows limits that its nodes get, lose and get again.
func TestNodesOfThoseWhoWait(t *testing.T) {
	onEach(t, func(b *bench) {
		wait := func(name string) {
			q := b.request("bulk", Amounts{1})
			q.Path.Tenant, q.Ticket, q.Full = "acme", name, true
			b.refused(q, ReasonSlots)
		}
		booked := func(when string, want int64) {
			b.wait(time.Second)
			if _, err := b.Pull(b.Context(), b.lane, 1); err != nil { // one goes
				b.Fatal(err)
			}
			s, err := b.NodeState(b.Context(), "tenant/acme")
			b.must(err)
			if s.Limits[0].Booked != want || s.Limits[0].Released != 1 {
				b.Errorf("%s: %d booked, %d released; want %d and 1", when, s.Limits[0].Booked, s.Limits[0].Released, want)
			}
		}
		b.nodes(nil)
		for i := range 6 {
			wait(fmt.Sprint("t", i))
		}
		b.nodes(map[string]Limits{"tenant/acme": {RPM: 100}})
		booked("limits came", 5)
		b.nodes(nil)
		b.must(b.Drop(b.Context(), b.lane, "t4", "t5"))
		b.wait(15 * time.Second) // what was released comes back to the front
		b.nodes(map[string]Limits{"tenant/*": {RPM: 100}})
		booked("they came again", 3)
	})
}

// A limit in shadow, and one that was smaller for a moment, leave no pace behind.
func TestPaceOfALimitThatIsNoMore(t *testing.T) {
	onEach(t, func(b *bench) {
		with := func(l Limits, shadow ...string) {
			b.must(b.Configure(b.Context(), Config{Scope: b.scope, Nodes: map[string]Limits{"tenant/acme": l}, Shadow: map[string][]string{"tenant/acme": shadow},
				Classes: []Class{{Name: "bulk", Smooth: true}}, Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 6000}, Lend: "now"}}}))
		}
		ask := func() Request {
			q := b.request("bulk", Amounts{1})
			q.Path.Tenant = "acme"
			return q
		}
		with(Limits{RPM: 2}, "rpm")
		for range 20 {
			b.granted(ask())
			b.wait(100 * time.Millisecond)
		}
		with(Limits{RPM: 600})
		b.granted(ask())
		with(Limits{RPM: 25})
		b.wait(time.Second)
		b.granted(ask()) // the next one would have to wait for two seconds
		with(Limits{RPM: 600})
		b.granted(ask())
	})
}

// A limit that was taken away for a while went on counting.
func TestUseOutlivesNone(t *testing.T) {
	onEach(t, func(b *bench) {
		b.nodes(map[string]Limits{"tenant/acme": {RPM: 60, RPD: 10}})
		b.granted(b.of("acme", Amounts{1}))
		for _, o := range []Override{{Node: b.lane.String(), Name: "rpm", Text: None}, {Node: "tenant/acme", Name: "rpd", Text: None}} {
			b.must(b.Set(b.Context(), o))
		}
		b.granted(b.of("acme", Amounts{1}))
		b.must(b.Unset(b.Context(), b.lane.String(), ""))
		b.must(b.Unset(b.Context(), "tenant/acme", ""))
		if lane, node := b.used("rpm"), b.usedOf("tenant/acme", "rpd"); lane != 2 || node != 2 {
			b.Errorf("%d and %d used; want 2", lane, node)
		}
	})
}

// Jobs that wait and became larger than a limit go to hear so; others do not wait
// behind them.
func TestTooLargeNowHoldsNobodyUp(t *testing.T) {
	onEach(t, func(b *bench) {
		b.nodes(map[string]Limits{"tenant/acme": {InputTPM: 1000}})
		for i, tenant := range []string{"acme", "acme", "other"} {
			q := b.of(tenant, Amounts{1, 900})
			q.Class, q.Ticket, q.Full = "bulk", fmt.Sprint("t", i), true
			b.refused(q, ReasonSlots)
		}
		b.nodes(map[string]Limits{"tenant/acme": {InputTPM: 100}})
		b.wait(time.Second)
		ps, err := b.Pull(b.Context(), b.lane, 5)
		b.must(err)
		if len(ps) != 3 {
			b.Fatalf("released %v; want all three", ps)
		}
		q := b.of("acme", Amounts{1, 900})
		q.Class, q.Ticket = "bulk", "t0"
		b.refused(q, ReasonTooLarge)
	})
}

// Looking at a node that nobody used makes none.
func TestLookingMakesNoNode(t *testing.T) {
	onEach(t, func(b *bench) {
		b.nodes(map[string]Limits{"tenant/*": {RPM: 60}})
		s, err := b.NodeState(b.Context(), "tenant/nobody")
		if err != nil || s.From != "tenant/*" || len(s.Limits) != 1 || s.Limits[0].Used != 0 {
			b.Errorf("%+v, %v", s, err)
		}
		if all, err := b.Nodes(b.Context()); err != nil || !slices.Equal(all, []string{"tenant/*"}) {
			b.Errorf("nodes %v, %v", all, err)
		}
	})
}
