package limiter

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// history drives gates through the same random steps.
type history struct {
	rng     *rand.Rand
	gates   []*bench
	open    []string // permits that may still be settled
	tickets []string
	placed  []Request // of callers who wait in place
	n       int
}

// step gives what one gate answers, as text that can be compared.
type step func(b *bench) string

// TestHistories compares the scripts with the Model after every step of random
// histories: grants, refusals with reason and time, pulls, states.
func TestHistories(t *testing.T) {
	t.Parallel()
	seeds, steps := 12, 400
	if testing.Short() || racing {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			compareHistory(t, uint64(seed), steps, "model", "real")
		})
	}
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		compareHistory(t, 99, 250, "model", "embedded")
	})
}

// FuzzHistories looks for seeds on which the two differ; found ones are kept in
// testdata/fuzz.
func FuzzHistories(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { compareHistory(t, seed, 200, "model", "real") })
}

func compareHistory(t *testing.T, seed uint64, steps int, kinds ...string) {
	h := &history{rng: rand.New(rand.NewPCG(seed, 7))}
	scope := testScope()
	for _, k := range kinds {
		h.gates = append(h.gates, newBenchIn(t, k, scope))
	}
	h.both(t, seed, -1, h.configure())
	for i := range steps {
		h.advance()
		h.both(t, seed, i, h.next())
		h.both(t, seed, i, showState)
	}
}

func newBenchIn(t *testing.T, kind string, scope Scope) *bench {
	b := newBench(t, kind)
	if kind == "model" {
		b.gate = NewModel(scope, b.now)
	} else {
		b.gate.(*Redis).scope, b.gate.(*Redis).keys = scope, newKeys(scope)
	}
	b.scope, b.lane.Project = scope, scope.Project
	return b
}

func (h *history) both(t *testing.T, seed uint64, i int, s step) {
	t.Helper()
	want := s(h.gates[0])
	for _, g := range h.gates[1:] {
		if got := s(g); got != want {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			from := max(0, at-300)
			t.Fatalf("seed %d step %d, byte %d:\n got …%s\nwant …%s", seed, i, at, got[from:min(len(got), at+300)], want[from:min(len(want), at+300)])
		}
	}
}

func (h *history) advance() {
	d := time.Duration(h.rng.IntN(400)) * time.Millisecond
	switch h.rng.IntN(60) {
	case 0:
		d = time.Duration(h.rng.IntN(90)) * time.Second
	case 1:
		d = time.Duration(h.rng.IntN(30)) * time.Hour
	case 2:
		d = -time.Duration(h.rng.IntN(3000)) * time.Millisecond
	case 3:
		d = -time.Duration(h.rng.IntN(4000)) * time.Second
	case 4, 5, 6, 7, 8:
		d = time.Duration(h.rng.IntN(8)) * time.Second
	}
	for _, g := range h.gates {
		g.wait(d)
	}
}

func (h *history) next() step {
	switch x := h.rng.IntN(100); {
	case x < 42:
		return h.acquire()
	case x < 44:
		return h.feedback()
	case x < 45:
		return h.breaker()
	case x < 65:
		return h.settle()
	case x < 69:
		return h.extend()
	case x < 84:
		slots := h.rng.IntN(8)
		return func(b *bench) string { ps, err := b.Pull(b.Context(), b.lane, slots); return h.pulled(ps, err) }
	case x < 87:
		return h.drop()
	case x < 90:
		return h.ticket()
	case x < 92:
		return h.pause()
	case x < 94:
		return h.throttle()
	case x < 95:
		if h.rng.IntN(2) == 0 {
			return h.floors()
		}
		return h.note()
	case x < 96:
		d := time.Duration(h.rng.IntN(20000)) * time.Millisecond
		return func(b *bench) string { return errText(b.Cool(b.Context(), b.lane, d, ReasonCooldown, "asked  for")) }
	case x < 98:
		return h.configure()
	}
	return h.snapshot()
}

func (h *history) pulled(ps []Pulled, err error) string {
	for _, p := range ps {
		h.tickets = append(h.tickets, p.Ticket)
	}
	return fmt.Sprint(ps, err)
}

func (h *history) amounts() Amounts {
	a := Amounts{1, 1 + h.rng.Int64N(400)}
	if h.rng.IntN(10) == 0 {
		a[InputTokens] *= 30
	}
	if h.rng.IntN(2) == 0 {
		a[OutputTokens], a[MicroUSD] = h.rng.Int64N(300), h.rng.Int64N(5000)
	}
	a[Streams] = h.rng.Int64N(2)
	return a
}

func (h *history) acquire() step {
	h.n++
	q := Request{ID: fmt.Sprint("p", h.n), Class: []string{"interactive", "agent", "bulk", "low"}[h.rng.IntN(4)], Amounts: h.amounts()}
	if h.rng.IntN(12) == 0 && len(h.open) > 0 {
		q.ID = h.open[h.rng.IntN(len(h.open))]
	}
	q.Lease = time.Duration(1+h.rng.IntN(100)) * time.Second
	q.Full, q.Force = h.rng.IntN(15) == 0, h.rng.IntN(12) == 0
	q.Path = Path{Tenant: []string{"", "acme", "b"}[h.rng.IntN(3)], Run: []string{"r1", "r2"}[h.rng.IntN(2)], Priority: []Priority{High, Normal, Low}[h.rng.IntN(3)]}
	q.Feature, q.Path.Organization = []string{"", "f1", "f2"}[h.rng.IntN(3)], []string{"", "org"}[h.rng.IntN(2)]
	if h.rng.IntN(8) > 0 {
		q.Ticket = fmt.Sprint("t", h.n)
		if h.rng.IntN(2) == 0 && len(h.tickets) > 0 {
			i := len(h.tickets) - 1 - h.rng.IntN(min(12, len(h.tickets)))
			q.Ticket = h.tickets[i]
		} else {
			h.tickets = append(h.tickets, q.Ticket)
		}
	}
	if h.rng.IntN(3) == 0 {
		q = h.inPlace(q)
	}
	ask := h.rng.IntN(15) == 0
	return func(b *bench) string {
		q.Lane = b.lane
		if ask {
			e, err := b.Explain(b.Context(), q)
			return jsonOf(e) + errText(err)
		}
		p, err := b.Acquire(b.Context(), q)
		if err == nil {
			h.open = append(h.open, q.ID)
		}
		return jsonOf(p) + outcome(err)
	}
}

// inPlace makes a request of one who waits in place: often one who has asked before.
func (h *history) inPlace(q Request) Request {
	q.Wait = time.Duration(1+h.rng.IntN(9000)) * time.Millisecond
	if h.rng.IntN(2) == 0 {
		q.Class, q.Path.Run, q.Path.Priority = []string{"interactive", "agent"}[h.rng.IntN(2)], "", ""
	}
	if n := len(h.placed); n > 0 && h.rng.IntN(3) > 0 {
		wait := q.Wait
		q = h.placed[n-1-h.rng.IntN(min(6, n))]
		q.Wait = wait
		return q
	}
	h.placed = append(h.placed, q)
	return q
}

func outcome(err error) string {

	var d *Denied
	if errors.As(err, &d) {
		return jsonOf(d)
	}
	return errText(err)
}

func errText(err error) string { return fmt.Sprint(err) }

func (h *history) pick(from []string) string {
	if len(from) == 0 {
		return "none"
	}
	return from[h.rng.IntN(len(from))]
}

func (h *history) settle() step {
	s := Settlement{ID: h.pick(h.open), Outcome: Settled, Used: h.amounts(), Partial: h.rng.IntN(6) == 0}
	if h.rng.IntN(6) == 0 {
		s.Outcome = Released
	}
	return func(b *bench) string { s.Lane = b.lane; return errText(b.Settle(b.Context(), s)) }
}

func (h *history) extend() step {
	id, lease := h.pick(h.open), time.Duration(h.rng.IntN(60))*time.Second
	return func(b *bench) string { return errText(b.Extend(b.Context(), b.lane, id, lease)) }
}

func (h *history) feedback() step {
	f := Feedback{Kind: RejectedAfterAdmit, Limit: []string{"", "rpm", "input_tpm", "rpd", "ipm"}[h.rng.IntN(5)]}
	switch h.rng.IntN(4) {
	case 0:
		f.QuotaValue = 20 + h.rng.Int64N(2000)
	case 1, 2:
		f = Feedback{Kind: Capacity}
	}
	again := 1 + h.rng.IntN(3)
	return func(b *bench) (out string) {
		f.Lane = b.lane
		for range again {
			out += errText(b.Report(b.Context(), f))
		}
		es, err := b.Events(b.Context(), b.now.Add(-time.Minute), 4)
		return out + jsonOf(es) + errText(err)
	}
}

// breaker is proof of hopeless calls, by a look or another call, a look that went
// well, a key, or somebody's word. What the looks of a dead holder leave, advance
// lets run out.
func (h *history) breaker() step {
	x := Trip{Scope: []BreakerScope{BreakLane, BreakProject}[h.rng.IntN(2)], Certain: h.rng.IntN(2) == 0, By: "test", Lift: "by  itself", Detail: "no\nmore"}
	x.Reason = []Reason{ReasonBreaker, ReasonSpend, ReasonCredentials}[h.rng.IntN(3)]
	x.Permit = h.pick(h.open)
	if now := h.gates[0].now; h.rng.IntN(2) == 0 {
		x.Until = now.Add(time.Duration(h.rng.IntN(90)-10) * time.Minute)
	}
	if h.rng.IntN(3) == 0 {
		x.NotBefore = h.gates[0].now.Add(time.Duration(h.rng.IntN(30)) * time.Second)
	}
	x.Longest = time.Duration(h.rng.IntN(3)) * 5 * time.Minute
	key := []string{"", "k1", "k2"}[h.rng.IntN(3)]
	what, ago, granted := h.rng.IntN(12), time.Duration(h.rng.IntN(9000)-3000)*time.Millisecond, h.gates[0].now.Add(-time.Duration(h.rng.IntN(20))*time.Second)
	return func(b *bench) string {
		x.Lane = b.lane
		switch what {
		case 0, 6, 7:
			return errText(b.CloseBreaker(b.Context(), b.lane, "ann"))
		case 1:
			list, err := b.LookAgain(b.Context())
			return jsonOf(list) + errText(err)
		case 2, 3:
			return errText(b.KeyInUse(b.Context(), "k"+key, ago))
		case 4, 5:
			return errText(b.Probed(b.Context(), &Permit{Lane: b.lane, Granted: granted}))
		}
		if x.Reason == ReasonCredentials {
			x.Key = key
		}
		s, err := b.Trip(b.Context(), x)
		es, _ := b.Events(b.Context(), b.now.Add(-time.Minute), 2)
		return jsonOf(s) + errText(err) + jsonOf(es)
	}
}

func (h *history) drop() step {
	one, leaf := h.pick(h.tickets), Path{Tenant: "acme", Run: "r1", Priority: Low}.Leaf()
	if h.rng.IntN(3) == 0 {
		return func(b *bench) string { return errText(b.DropLeaf(b.Context(), b.lane, leaf)) }
	}
	gone := "unknown"
	if n := len(h.placed); n > 0 {
		gone = h.placed[n-1-h.rng.IntN(min(6, n))].ID
	}
	return func(b *bench) string { return errText(b.Drop(b.Context(), b.lane, one, gone)) }
}

func (h *history) ticket() step {
	one := h.pick(h.tickets)
	return func(b *bench) string { s, err := b.Ticket(b.Context(), b.lane, one); return jsonOf(s) + errText(err) }
}

func (h *history) pause() step {
	p := Pause{Reason: []string{"health", "operator"}[h.rng.IntN(2)], Owner: "test"}
	lift, lane := h.rng.IntN(2) == 0, false
	switch h.rng.IntN(4) {
	case 0:
		p.Class = []string{"bulk", "low"}[h.rng.IntN(2)]
	case 1:
		p.Run = []string{"r1", "r2"}[h.rng.IntN(2)]
	case 2:
		lane, p.Priority = true, []Priority{High, Normal, Low}[h.rng.IntN(3)]
	case 3:
		lane, lift = true, lift || h.rng.IntN(3) > 0 // all of the lane: nothing goes meanwhile
	}
	if h.rng.IntN(3) > 0 {
		p.Until = h.gates[0].now.Add(time.Duration(h.rng.IntN(20)) * time.Second)
	}
	return func(b *bench) string {
		if lane {
			p.Lane = b.lane.String()
		}
		if lift {
			return errText(b.Lift(b.Context(), p, p.Reason))
		}
		return errText(b.Pause(b.Context(), p))
	}
}

func (h *history) throttle() step {
	x := Throttle{Class: []string{"interactive", "bulk", "low"}[h.rng.IntN(3)], Reason: []string{"health", "window"}[h.rng.IntN(2)], Owner: "test"}
	if h.rng.IntN(3) == 0 {
		return func(b *bench) string { return errText(b.Unthrottle(b.Context(), x.Class, x.Reason)) }
	}
	x.FromPPM, x.ToPPM = h.rng.Int64N(400_000), 1+h.rng.Int64N(million)
	now := h.gates[0].now
	if h.rng.IntN(2) == 0 {
		x.RampFrom = now.Add(time.Duration(h.rng.IntN(6000)-3000) * time.Millisecond)
		x.RampTo = x.RampFrom.Add(time.Duration(1+h.rng.IntN(60_000)) * time.Millisecond)
	}
	if h.rng.IntN(3) > 0 {
		x.Until = now.Add(time.Duration(h.rng.IntN(60)) * time.Second)
	}
	return func(b *bench) string { return errText(b.Throttle(b.Context(), x)) }
}

func (h *history) note() step {
	e := Event{Kind: EventHealth, Subject: "bulk", Text: fmt.Sprint("step ", h.n), Data: map[string]string{"n": fmt.Sprint(h.n)}}
	n, back := h.rng.IntN(5), time.Duration(h.rng.IntN(600))*time.Second
	return func(b *bench) string {
		noted := errText(b.Note(b.Context(), e))
		list, err := b.Events(b.Context(), b.now.Add(-back), n)
		return noted + jsonOf(list) + errText(err)
	}
}

func (h *history) floors() step {
	list, until := []Floor{}, h.gates[0].now.Add(time.Duration(h.rng.IntN(900))*time.Second)
	for i, unit := range []Unit{Requests, InputTokens, Requests, MicroUSD} {
		if h.rng.IntN(4) > 0 {
			list = append(list, Floor{Class: []string{"interactive", "agent", "bulk"}[h.rng.IntN(3)], Unit: unit,
				Window: []Window{Minute, Minute, Day, TenMinutes}[i], Amount: h.rng.Int64N(9000) / (1 + h.rng.Int64N(90)), Why: fmt.Sprint("step <", h.n)})
		}
	}
	return func(b *bench) string { return errText(b.SetFloors(b.Context(), b.lane, list, until)) }
}

func (h *history) configure() step {
	l := LaneConfig{
		Limits:     Limits{RPM: 30 + h.rng.Int64N(60), InputTPM: 9000 + h.rng.Int64N(9000), RPD: 800, Concurrency: 5 + h.rng.Int64N(20)},
		OutsidePPM: h.rng.Int64N(3) * 50_000, Lend: []string{"auto", "now", "never"}[h.rng.IntN(3)],
	}
	if h.rng.IntN(2) == 0 {
		l.Limits.OutputTPM, l.Limits.USDPer10m, l.Limits.USDPerMonth = 8000, 200_000, 900_000
	}
	soft := h.rng.Int64N(3) * 460_000
	if h.rng.IntN(3) == 0 {
		l.Limits.USDPerDay = 30_000 + h.rng.Int64N(90_000)
	}
	if h.rng.IntN(3) == 0 {
		l.Limits.RPM = 0
	}
	cs := []Class{
		{Name: "interactive", GuaranteePPM: 300_000, FloorPPM: 10_000},
		{Name: "agent", GuaranteePPM: 100_000, Smooth: h.rng.IntN(2) == 0, Tickets: true, OutputFloorPPM: h.rng.Int64N(3) * 100_000},
		{Name: "bulk", Smooth: true, Tickets: true, Pausable: true},
		{Name: "low", Pausable: true, Smooth: true, Tickets: true, TricklePPM: 50_000, CapPPM: h.rng.Int64N(3) * 100_000},
	}
	by := fmt.Sprint("pid ", h.rng.IntN(2))
	nodes, shadow := h.nodes()
	weights := map[string]int64{"tenant/acme": 1 + h.rng.Int64N(5), "run/r2": 1 + h.rng.Int64N(3)}
	return func(b *bench) string {
		l.Lane = b.lane
		c := Config{Scope: b.scope, Lanes: []LaneConfig{l}, Classes: cs, Weights: weights, By: by, Nodes: maps.Clone(nodes), SoftPPM: soft}
		if all, ok := nodes["project"]; ok {
			delete(c.Nodes, "project")
			c.Nodes[b.scope.ProjectNode()] = all
		}
		c.Shadow = maps.Clone(shadow)
		if names, ok := shadow["lane"]; ok {
			delete(c.Shadow, "lane")
			c.Shadow[b.lane.String()] = names
		}
		return errText(b.Configure(b.Context(), c))
	}
}

func (h *history) snapshot() step {
	return func(b *bench) string {
		s, err := b.Counters(b.Context())
		for i := range s.Counters {
			s.Counters[i].Used += 3
		}
		return jsonOf(s.Counters) + errText(err) + errText(b.Restore(b.Context(), s))
	}
}

func showState(b *bench) string {
	s, err := b.State(b.Context(), b.lane)
	out := jsonOf(s) + errText(err)
	for _, node := range []string{b.scope.ProjectNode(), "organization/org", "tenant/acme", "tenant/b", "run/r2", "feature/f1"} {
		s, err := b.NodeState(b.Context(), node)
		s.At = time.Time{} // a refusal moves a node's clock by parts of a slot, and does not store that
		out += jsonOf(s) + errText(err)
	}
	nodes, err := b.Nodes(b.Context())
	return out + fmt.Sprint(nodes, err)
}

// nodes are limits of nodes, some by pattern, and limits in shadow.
func (h *history) nodes() (map[string]Limits, map[string][]string) {
	all := map[string]Limits{
		"project":          {USDPerDay: 20_000 + h.rng.Int64N(90_000), USDPerMonth: 400_000},
		"organization/org": {RPM: 20 + h.rng.Int64N(40), RPD: 500},
		"tenant/acme":      {RPM: 5 + h.rng.Int64N(20), InputTPM: 9000, Concurrency: 3},
		"tenant/*":         {RPM: 5 + h.rng.Int64N(20), USDPer10m: 50_000, USDPerMonth: 500_000, USDTotal: h.rng.Int64N(2) * 300_000},
		"run/r2":           {InputTPM: 7000 + h.rng.Int64N(9000), USDTotal: 100_000 + h.rng.Int64N(200_000)},
		"feature/f1":       {RPM: 10 + h.rng.Int64N(20), OutputTPM: 3000},
	}
	shadow := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if h.rng.IntN(2) == 0 {
			delete(all, name)
		} else if name != "project" && h.rng.IntN(3) == 0 {
			shadow[name] = []string{"rpm"}
		}
	}
	if h.rng.IntN(3) == 0 {
		shadow["lane"] = []string{"input_tpm"}
	}
	return all, shadow
}
