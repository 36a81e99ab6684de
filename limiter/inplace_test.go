package limiter

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Callers who wait in place.

// caller asks as one of a tenant's who waits so long.
func (b *bench) caller(class, tenant string, wait time.Duration, a Amounts) Request {
	q := b.request(class, a)
	q.Path, q.Wait = Path{Tenant: tenant}, wait
	return q
}

// waits asks, and wants to be told to wait at a place.
func (b *bench) waits(q Request, position int64) *Denied {
	b.Helper()
	_, d := b.ask(q)
	if d == nil || d.Position != position {
		b.Fatalf("%s is told %v; want place %d", q.ID, d, position)
	}
	return d
}

// tokens is one request with so many input tokens.
func tokens(n int64) Amounts { return Amounts{1, n} }

// people wait until what is in flight ends, and what it gives back is theirs.
func TestWaitingComesFirst(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: []Class{{Name: "interactive", GuaranteePPM: 300_000}, {Name: "bulk", Tickets: true}},
			Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{InputTPM: 1000, Concurrency: 10}, Lend: "now"}}}))
		big := b.granted(b.request("interactive", tokens(700)))
		b.granted(b.request("bulk", tokens(150)))
		ann := b.caller("interactive", "a", 5*time.Second, tokens(400))
		b.waits(ann, 1)
		b.settle(big, Amounts{1, 100}) // 700 less a margin are free

		b.refused(b.request("bulk", tokens(400)), ReasonShare)
		row := b.request("bulk", tokens(400))
		row.Ticket = "row"
		b.refused(row, ReasonShare)
		b.wantPulled(10) // not before her either
		b.refused(b.request("interactive", tokens(400)), ReasonTurn)
		b.granted(b.request("interactive", tokens(100))) // there is room for both
		b.granted(ann)

		b.wait(61 * time.Second)
		b.wantPulled(10, "row")
	})
}

// A slot of the concurrency comes free at no known time: whoever waits gets it.
func TestWaitingForASlot(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100, Concurrency: 1})
		held := b.granted(b.request("bulk", tokens(1)))
		ann := b.caller("interactive", "a", 300*time.Millisecond, tokens(1))
		b.waits(ann, 1)
		b.settle(held, tokens(1))
		b.wait(50 * time.Millisecond)
		b.refused(b.request("bulk", tokens(1)), ReasonShare)
		b.wait(250 * time.Millisecond)
		ann.Wait = 50 * time.Millisecond
		b.granted(ann)
	})
}

// Among themselves they go by the weights of their paths: level by level, so that a
// tenant gets no more for more keys.
func TestWaitingIsFair(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.weighed(1)
		held := b.granted(b.request("interactive", tokens(1)))
		var line []Request
		for i := range 6 {
			a, first, second := b.caller("interactive", "a", time.Minute, tokens(1)), b.caller("interactive", "b", time.Minute, tokens(1)), b.caller("interactive", "b", time.Minute, tokens(1))
			a.Path.Key, first.Path.Key, second.Path.Key = "k1", "k2", "k"+strconv.Itoa(3+i)
			line = append(line, second, first, a)
		}
		got := map[string]int{}
		b.serve(line, held, func(served int, q Request) []Request {
			if served < 8 {
				got[q.Path.Tenant]++
			}
			return nil
		})
		if want := map[string]int{"a": 6, "b": 2}; !maps.Equal(got, want) {
			b.Errorf("of the first eight %v; want %v", got, want)
		}
	})
}

// weighed configures a lane of so many calls at once on which tenant a weighs three
// times as much as others.
func (b *bench) weighed(concurrency int64) {
	b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, Weights: map[string]int64{"tenant/a": 3},
		Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{Concurrency: concurrency}, Lend: "now"}}}))
}

// Several who come at once are in the order of their weights too.
func TestPlacesByWeight(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.weighed(1)
		b.granted(b.request("interactive", tokens(1)))
		var line []Request
		for _, tenant := range []string{"b", "b", "a", "a", "a", "a"} {
			line = append(line, b.caller("interactive", tenant, time.Minute, tokens(1)))
			b.ask(line[len(line)-1])
		}
		for i, place := range []int64{1, 6, 2, 3, 4, 5} {
			b.waits(line[i], place)
		}
	})
}

// Who comes later has its turn now, and none for the time before.
func TestLateTurn(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.weighed(1)
		held := b.granted(b.request("interactive", tokens(1)))
		ask := func(tenant string) (line []Request) {
			for range 5 {
				line = append(line, b.caller("interactive", tenant, time.Minute, tokens(1)))
			}
			return line
		}
		got := 0
		b.serve(append(ask("b"), ask("b")...), held, func(served int, q Request) []Request {
			if served > 3 && served <= 9 && q.Path.Tenant == "c" {
				got++
			}
			if served == 3 {
				return ask("c")
			}
			return nil
		})
		if got != 3 {
			b.Errorf("of six turns the late one had %d; want 3", got)
		}
	})
}

// serve lets callers ask by turns until all were served, one at a time, and those that
// each adds.
func (b *bench) serve(line []Request, held *Permit, each func(served int, q Request) []Request) {
	b.Helper()
	for _, q := range line {
		b.ask(q)
	}
	for served := 0; len(line) > 0; {
		b.settle(held, tokens(1))
		b.wait(time.Second)
		i := slices.IndexFunc(line, func(q Request) bool { held, _ = b.ask(q); return held != nil })
		if i < 0 {
			b.Fatal("a slot is free, and nobody gets it")
		}
		more := each(served, line[i])
		served++
		line = append(slices.Delete(line, i, i+1), more...)
		for _, q := range line {
			b.ask(q)
		}
	}
}

// One who waits for its own tenant's limit keeps nobody else out.
func TestWaitingForANode(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes,
			Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{Concurrency: 2}, Lend: "now"}},
			Nodes: map[string]Limits{"tenant/acme": {Concurrency: 1}}}))
		held := b.granted(b.caller("interactive", "acme", 0, tokens(1)))
		ann := b.caller("interactive", "acme", time.Minute, tokens(1))
		b.waits(ann, 1)
		if in := b.state().InPlace; len(in) != 1 || in[0].Node != "tenant/acme" || in[0].ID != ann.ID {
			b.Errorf("in place: %+v", in)
		}
		other := b.granted(b.caller("bulk", "b", 0, tokens(1)))
		b.settle(held, tokens(1))
		b.settle(other, tokens(1))
		b.wait(time.Second)
		b.refused(b.caller("bulk", "acme", 0, tokens(1)), ReasonShare) // the tenant's slot is hers
		b.granted(b.caller("bulk", "b", 0, tokens(1)))
		b.granted(ann)
	})
}

// Who asks no more, says that it leaves, or has waited long enough, keeps nothing.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{InputTPM: 1000})
		held := b.granted(b.request("interactive", tokens(900)))
		dead, gone := b.caller("interactive", "a", time.Minute, tokens(900)), b.caller("interactive", "a", time.Minute, tokens(900))
		short := b.caller("interactive", "a", time.Second, tokens(900))
		b.waits(dead, 1)
		b.waits(gone, 2)
		b.waits(short, 3)
		b.must(b.Drop(b.Context(), b.lane, gone.ID))
		b.settle(held, tokens(1))
		b.refused(b.request("bulk", tokens(500)), ReasonShare)
		b.wait(1100 * time.Millisecond)
		if n := len(b.state().InPlace); n != 1 {
			b.Errorf("%d wait; want the one who asked within two seconds", n)
		}
		b.wait(time.Second)
		b.granted(b.request("bulk", tokens(500)))
		if n := len(b.state().InPlace); n != 0 {
			b.Errorf("%d wait still", n)
		}
	})
}

// There is no place for those who would wait in vain.
func TestWaitingInVain(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 1, RPD: 100, InputTPM: 1000})
		b.granted(b.request("interactive", tokens(1)))
		d := b.waits(b.caller("interactive", "a", 5*time.Second, tokens(1)), 0)
		if d.RetryAfter() < time.Minute || d.Decision != RejectedLocally {
			b.Errorf("told %+v", d)
		}
		b.waits(b.caller("interactive", "a", 2*time.Minute, tokens(1)), 1)
		b.refused(b.caller("interactive", "a", time.Minute, tokens(2000)), ReasonTooLarge)
		b.must(b.Cool(b.Context(), b.lane, 30*time.Second, ReasonCooldown, "asked for"))
		b.waits(b.caller("interactive", "b", 5*time.Second, tokens(1)), 0)
		b.waits(b.caller("interactive", "b", 2*time.Minute, tokens(1)), 2)
	})
}

// A class that keeps a pace keeps its order too.
func TestWaitingInPace(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope,
			Classes: []Class{{Name: "interactive", GuaranteePPM: 300_000}, {Name: "agent", Smooth: true}, {Name: "bulk", Smooth: true, Tickets: true}},
			Lanes:   []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 61}, Lend: "now"}}}))
		b.granted(b.caller("agent", "a", 0, tokens(1)))
		b.granted(b.caller("agent", "a", 0, tokens(1)))
		first, second := b.caller("agent", "a", 5*time.Second, tokens(1)), b.caller("agent", "b", 5*time.Second, tokens(1))
		b.waits(first, 1)
		b.waits(second, 2)
		b.wait(1500 * time.Millisecond)
		b.refused(b.caller("agent", "c", 0, tokens(1)), ReasonTurn)
		b.refused(second, ReasonTurn)
		b.granted(first)
	})
}

// Bulk that waits in place stands in its class's line: by the weights of all who do.
func TestBulkInPlace(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{Concurrency: 1})
		held := b.granted(b.request("bulk", tokens(1)))
		for _, name := range []string{"r1", "r2", "r3"} {
			row := b.request("bulk", tokens(1))
			row.Ticket = name
			b.refused(row, ReasonQuota)
		}
		b.wantPulled(1)
		call := b.caller("bulk", "gateway", time.Minute, tokens(1))
		call.Ticket = call.ID
		b.waits(call, 1)
		b.settle(held, tokens(1))
		b.wait(time.Second)
		b.refused(call, ReasonTurn) // it is let go by a pull, as the rows are
		b.wantPulled(1, "r1")
		row := b.request("bulk", tokens(1))
		row.Ticket = "r1"
		held = b.granted(row)
		b.settle(held, tokens(1))
		b.wait(time.Second)
		b.wantPulled(1, call.ID)
		b.settle(b.granted(call), tokens(1))

		b.must(b.Pause(b.Context(), Pause{Class: "bulk", Reason: "operator", Owner: "test", Until: b.now.Add(20 * time.Second)}))
		vain := b.caller("bulk", "gateway", 15*time.Second, tokens(1))
		vain.Ticket = vain.ID
		b.waits(vain, 0)
		if _, err := b.Ticket(b.Context(), b.lane, vain.ID); err == nil {
			b.Error("it would wait in vain, and has a place")
		}
		b.must(b.Lift(b.Context(), Pause{Class: "bulk"}, "operator"))

		again := b.caller("bulk", "gateway", time.Minute, tokens(1))
		again.Ticket = again.ID
		b.waits(again, 1)
		b.must(b.Drop(b.Context(), b.lane, again.ID))
		if _, err := b.Ticket(b.Context(), b.lane, again.ID); err == nil {
			b.Error("it has left, and keeps its place")
		}
	})
}

// So many may wait; one more would only make all slower.
func TestCrowd(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{Concurrency: 1})
		b.granted(b.request("interactive", tokens(1)))
		for i := range int64(mostInLine) {
			b.waits(b.caller("interactive", "a", time.Minute, tokens(1)), 1+i)
		}
		b.waits(b.caller("interactive", "a", time.Minute, tokens(1)), 0)
	})
}

// Who passes while others wait has had a turn of its leaf too, whatever path it has.
func TestPassingIsATurn(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{InputTPM: 1000, Concurrency: 2})
		b.granted(b.request("interactive", tokens(600)))
		b.waits(b.caller("interactive", "a", time.Minute, tokens(380)), 1)
		passes := b.caller("interactive", "", 0, tokens(1))
		passes.Force = true
		b.granted(passes)
		b.waits(b.caller("interactive", "", time.Minute, tokens(380)), 2)
	})
}
