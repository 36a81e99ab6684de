package limiter

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"
)

// gate is what Redis and Model both are: every test of the rules runs on both.
type gate interface {
	Configure(context.Context, Config) error
	Acquire(context.Context, Request) (*Permit, error)
	Settle(context.Context, Settlement) error
	Extend(context.Context, Lane, string, time.Duration) error
	Drop(context.Context, Lane, ...string) error
	DropLeaf(context.Context, Lane, string) error
	Pull(context.Context, Lane, int) ([]Pulled, error)
	SetFloors(context.Context, Lane, []Floor, time.Time) error
	Report(context.Context, Feedback) error
	Cool(context.Context, Lane, time.Duration, Reason, string) error
	Trip(context.Context, Trip) (BreakerState, error)
	Probed(context.Context, *Permit) error
	CloseBreaker(context.Context, Lane, string) error
	LookAgain(context.Context) ([]BreakerState, error)
	KeyInUse(context.Context, string, time.Duration) error
	Breakers(context.Context) ([]BreakerState, error)
	Pause(context.Context, Pause) error
	Resume(context.Context, string, string) error
	Lift(context.Context, Pause, string) error
	Pauses(context.Context) ([]Pause, error)
	Throttle(context.Context, Throttle) error
	Unthrottle(context.Context, string, string) error
	Throttles(context.Context) ([]Throttle, error)
	Note(context.Context, Event) error
	Events(context.Context, time.Time, int) ([]Event, error)
	State(context.Context, Lane) (LaneState, error)
	Explain(context.Context, Request) (Explanation, error)
	NodeState(context.Context, string) (NodeState, error)
	Caps(context.Context) ([]CapState, error)
	Nodes(context.Context) ([]string, error)
	Ticket(context.Context, Lane, string) (TicketState, error)
	Lanes(context.Context) ([]LaneConfig, error)
	Counters(context.Context) (Snapshot, error)
	Restore(context.Context, Snapshot) error
	Set(context.Context, ...Override) error
	Unset(context.Context, string, string) error
	Override(context.Context, Change) error
	Try(context.Context, Change) (Config, Config, error)
	Overrides(context.Context) ([]Override, error)
	Configured(context.Context) (Config, error)
}

var (
	_ gate = (*Redis)(nil)
	_ gate = (*Model)(nil)
)

// bench is a gate with a clock of its own and a lane.
type bench struct {
	testing.TB
	gate
	now   time.Time
	scope Scope
	lane  Lane
	ids   int
}

// noon is 04:00 in California.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

var classes = []Class{
	{Name: "interactive", GuaranteePPM: 300_000},
	{Name: "bulk", Smooth: true, Tickets: true},
}

// kinds are the gates that every rule is tested on.
var kinds = []string{"model", "embedded", "real"}

func newBench(t testing.TB, kind string) *bench {
	b := &bench{TB: t, now: noon, scope: testScope()}
	b.lane = Lane{Provider: b.scope.Provider, Project: b.scope.Project, Region: "global", Model: "flash"}
	opts := RedisOptions{Now: func() time.Time { return b.now }, Timeout: 30 * time.Second}
	switch kind {
	case "model":
		b.gate = NewModel(b.scope, b.now)
	case "embedded":
		b.gate = NewRedis(dialEmbedded(t), b.scope, opts)
	case "real":
		b.gate = NewRedis(dialReal(t), b.scope, opts)
	}
	return b
}

// onEach runs a test of the rules on every gate.
func onEach(t *testing.T, test func(b *bench)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(newBench(t, kind))
		})
	}
}

func (b *bench) set(t time.Time) {
	b.now = t
	if m, ok := b.gate.(*Model); ok {
		m.SetNow(t)
	}
}

func (b *bench) wait(d time.Duration) { b.set(b.now.Add(d)) }

// limits configures the bench's one lane with nothing left outside.
func (b *bench) limits(l Limits) { b.configure(LaneConfig{Limits: l, Lend: "now"}) }

func (b *bench) configure(l LaneConfig) {
	b.Helper()
	l.Lane = b.lane
	b.must(b.Configure(b.Context(), Config{Scope: b.scope, Lanes: []LaneConfig{l}, Classes: classes}))
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) request(class string, a Amounts) Request {
	b.ids++
	return Request{ID: "c" + itoa(b.ids), Lane: b.lane, Class: class, Amounts: a, Path: Path{Run: "r", Priority: Normal}, Feature: "test"}
}

func (b *bench) ask(q Request) (*Permit, *Denied) {
	b.Helper()
	p, err := b.Acquire(b.Context(), q)
	var d *Denied
	if err != nil && !errors.As(err, &d) {
		b.Fatal(err)
	}
	return p, d
}

func (b *bench) granted(q Request) *Permit {
	b.Helper()
	p, d := b.ask(q)
	if d != nil {
		b.Fatalf("denied: %v", d)
	}
	return p
}

func (b *bench) refused(q Request, why Reason) *Denied {
	b.Helper()
	_, d := b.ask(q)
	if d == nil {
		b.Fatalf("granted; want a refusal by %s", why)
	}
	if d.Reason != why {
		b.Fatalf("denied by %q (%v); want %q", d.Reason, d, why)
	}
	if !d.Permanent && !d.RetryAt.After(b.now) {
		b.Fatalf("retry at %s, which is not later than now", d.RetryAt)
	}
	return d
}

func (b *bench) settle(p *Permit, used Amounts) {
	b.Helper()
	b.must(b.Settle(b.Context(), Settlement{ID: p.ID, Lane: b.lane, Outcome: Settled, Used: used}))
}

func (b *bench) state() LaneState {
	b.Helper()
	s, err := b.State(b.Context(), b.lane)
	b.must(err)
	return s
}

// used is what the lane's limit name has in use.
func (b *bench) used(name string) int64 {
	b.Helper()
	for _, l := range b.state().Limits {
		if l.Name == name {
			return l.Used
		}
	}
	b.Fatalf("no limit %s", name)
	return 0
}

func itoa(n int) string { return strconv.Itoa(n) }
