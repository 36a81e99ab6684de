package limiter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// limit is the lane's limit as it is configured now; 0 when there is none.
func (b *bench) limit(name string) int64 {
	b.Helper()
	for _, l := range b.state().Limits {
		if l.Name == name {
			return l.Amount
		}
	}
	return 0
}

// rpm sets the lane's requests a minute over the configuration.
func (b *bench) rpm(n int64, by string) {
	b.Helper()
	b.must(b.Set(b.Context(), Override{Node: b.lane.String(), Name: "rpm", Value: n, By: by}))
}

func (b *bench) conf(rpm int64, by string) Config {
	return Config{Scope: b.scope, Classes: classes, By: by, Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: rpm}}}}
}

func TestOverrideHoldsUntilItIsUnset(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), b.conf(60, "host a")))
		for range 40 {
			b.granted(b.request("interactive", Amounts{Requests: 1}))
		}
		now, then, err := b.Try(b.Context(), Change{Set: []Override{{Node: b.lane.String(), Name: "rpm", Value: 50}}})
		if err != nil || now.Lanes[0].Limits.RPM != 60 || then.Lanes[0].Limits.RPM != 50 || b.limit("rpm") != 60 {
			b.Fatalf("tried: %+v, %+v, %v; now %d", now.Lanes, then.Lanes, err, b.limit("rpm"))
		}
		b.rpm(50, "ada")
		for range 10 {
			b.granted(b.request("interactive", Amounts{Requests: 1}))
		}
		b.refused(b.request("interactive", Amounts{Requests: 1}), ReasonQuota)
		b.must(b.Configure(b.Context(), b.conf(60, "host b"))) // a process starts again
		if got := b.limit("rpm"); got != 50 || b.used("rpm") != 50 {
			b.Fatalf("rpm %d with %d used after a restart; want 50 and 50", got, b.used("rpm"))
		}
		b.must(b.Unset(b.Context(), b.lane.String(), "rpm"))
		if got := b.limit("rpm"); got != 60 || b.used("rpm") != 50 {
			b.Fatalf("rpm %d with %d used after unset; want 60 and 50", got, b.used("rpm"))
		}
		if err := b.Unset(b.Context(), b.lane.String(), "rpm"); !errors.Is(err, ErrNoOverride) {
			b.Fatalf("a second unset: %v", err)
		}
		b.happened("limits: flash: lend auto, outside 0 %, rpm 60",
			"limits: flash: rpm 60 → 50 (quota set by ada)", "limits: flash: rpm 50 → 60 (quota unset)")
	})
}

func TestOverridesAreAllOrNothing(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), b.conf(60, "host a")))
		lane := b.lane.String()
		good := Override{Node: lane, Name: "rpm", Value: 30}
		for _, c := range []struct {
			bad   Override
			field string
		}{
			{Override{Node: lane, Name: "rmp", Value: 1}, lane + " rmp"},
			{Override{Node: lane, Name: "rpd", Value: 0}, lane + " rpd"},
			{Override{Node: lane, Name: "rpd", Value: -5}, lane + " rpd"},
			{Override{Node: lane, Name: "lend", Text: "later"}, lane + " lend"},
			{Override{Node: lane, Name: "outside", Value: million}, lane + " outside"},
			{Override{Node: lane, Name: "shadow", Text: "rpm,rmp"}, lane + " shadow"},
			{Override{Node: lane + "x", Name: "rpm", Value: 1}, "node"},
			{Override{Node: "class/bluk", Name: "cap", Value: 1}, "node"},
			{Override{Node: "class/bulk", Name: "rpm", Value: 1}, "class/bulk rpm"},
			{Override{Node: "class/bulk", Name: "cap", Value: million + 1}, "class/bulk cap"},
			{Override{Node: "class/bulk", Name: "guarantee", Value: 800_000}, "classes"},
			{Override{Node: "tenant/acme/search", Name: "rpm", Value: 1}, "node"},
			{Override{Node: "tennant/acme", Name: "rpm", Value: 1}, "node"},
			{Override{Node: "tenant/a b", Name: "rpm", Value: 1}, "node"},
			{Override{Node: "tenant/acme", Name: "outside", Value: 1}, "tenant/acme outside"},
			{Override{Node: "tenant/acme", Name: "rpm", Value: 1, Source: SourceProvider}, "tenant/acme rpm"},
			{Override{Node: lane, Name: "rpm", Value: 1, Source: "me"}, lane + " rpm"},
			{Override{Node: NodeWeights, Name: "priority/highest", Value: 1}, "weights priority/highest"},
			{Override{Node: NodeWeights, Name: "tenant/acme", Value: 1001}, "weights tenant/acme"},
			{Override{Node: NodeWeights, Name: "class/bulk", Value: 2}, "weights class/bulk"},
		} {
			var wrong *ConfigError
			if err := b.Set(b.Context(), good, c.bad); !errors.As(err, &wrong) || wrong.Field != c.field {
				b.Errorf("%+v: %v; want an error of %q", c.bad, err, c.field)
			}
		}
		if list, err := b.Overrides(b.Context()); err != nil || len(list) != 0 || b.limit("rpm") != 60 {
			b.Fatalf("after changes that were refused: %v, %v, rpm %d", list, err, b.limit("rpm"))
		}
	})
}

func TestOverrideOfWhatIsNotConfiguredWaits(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), b.conf(60, "")))
		b.rpm(50, "ada")
		other := b.conf(10, "")
		other.Lanes[0].Lane.Model = "pro"
		b.must(b.Configure(b.Context(), other))
		list, err := b.Overrides(b.Context())
		b.must(err)
		c, err := b.Configured(b.Context())
		b.must(err)
		if len(list) != 1 || c.Has(list[0]) {
			b.Fatalf("%+v; want one that the configuration does not name", list)
		}
		b.must(b.Configure(b.Context(), b.conf(60, "")))
		if got := b.limit("rpm"); got != 50 {
			b.Fatalf("rpm %d when the lane is back; want 50", got)
		}
	})
}

// What is set keeps a configuration out that does not go with it: the fleet goes on
// with the last one that did.
func TestConfigurationThatDoesNotGoWithOverrides(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), b.conf(60, "")))
		b.must(b.Set(b.Context(), Override{Node: "class/bulk", Name: "guarantee", Value: 600_000}))
		bad := b.conf(30, "")
		bad.Classes = []Class{{Name: "interactive", GuaranteePPM: 500_000}, classes[1]}
		err := b.Configure(b.Context(), bad)
		if err == nil || !strings.Contains(err.Error(), "quota set") {
			b.Fatalf("%v; want an error that says what it does not go with", err)
		}
		if got := b.limit("rpm"); got != 60 {
			b.Fatalf("rpm %d after a configuration that was refused; want 60", got)
		}
		b.must(b.Unset(b.Context(), "class/bulk", ""))
		b.must(b.Configure(b.Context(), bad))
	})
}

// A person's second thoughts, and another's, are no disagreement of processes.
func TestOverridesAreNoDisagreement(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), b.conf(60, "host a")))
		b.rpm(50, "ada")
		b.must(b.Override(b.Context(), Change{Unset: []Override{{Node: b.lane.String()}}, By: "bob"}))
		b.must(b.Configure(b.Context(), b.conf(60, "host b")))
		b.happened("limits: flash: lend auto, outside 0 %, rpm 60",
			"limits: flash: rpm 60 → 50 (quota set by ada)", "limits: flash: rpm 50 → 60 (quota unset by bob)")
		b.rpm(50, "ada")
		b.must(b.Configure(b.Context(), b.conf(70, "host b"))) // under what ada set
		b.must(b.Configure(b.Context(), b.conf(60, "host a")))
		got := b.events()
		want := "alert: two processes disagree about the limits of flash: rpm 60 (host a) and 70 (host b)"
		if got[len(got)-1] != want || b.limit("rpm") != 50 {
			b.Fatalf("%q with rpm %d; want %q and 50", got, b.limit("rpm"), want)
		}
	})
}

func TestProviderOnlyLowers(t *testing.T) {
	onEach(t, func(b *bench) {
		provider := func(n int64) {
			b.Helper()
			b.must(b.Set(b.Context(), Override{Node: b.lane.String(), Name: "rpm", Value: n, Source: SourceProvider}))
		}
		is := func(want int64) {
			b.Helper()
			if got := b.limit("rpm"); got != want {
				b.Fatalf("rpm %d; want %d", got, want)
			}
		}
		b.must(b.Configure(b.Context(), b.conf(60, "")))
		provider(80)
		is(60)
		provider(40)
		is(40)
		b.must(b.Configure(b.Context(), b.conf(30, "")))
		is(30)
		b.rpm(50, "ada") // knows better
		is(50)
		provider(45)
		is(45)
		b.must(b.Unset(b.Context(), b.lane.String(), "rpm"))
		is(30)
	})
}

func TestOverridesOfSharesAndWeights(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), b.conf(100, "")))
		b.must(b.Set(b.Context(), Override{Node: "class/interactive", Name: "floor", Value: 200_000},
			Override{Node: b.lane.String(), Name: "outside", Value: 50_000},
			Override{Node: NodeWeights, Name: "priority/high", Value: 8}))
		l := b.state().Limits[0]
		if l.Outside != 5 || l.Classes[0].Protected != 20 {
			b.Fatalf("outside %d, protected %d; want 5 and 20", l.Outside, l.Classes[0].Protected)
		}
		for range 80 {
			b.granted(b.request("interactive", Amounts{Requests: 1}))
		}
		q := b.request("bulk", Amounts{Requests: 30})
		q.Ticket, q.Path.Priority = "t1", High
		b.ask(q)
		leaves := b.state().Leaves
		if len(leaves) != 1 || leaves[0].Weight != 8 {
			b.Fatalf("%+v; want one leaf of weight 8", leaves)
		}
	})
}

// Changes at the same time: each is kept.
func TestOverridesAtTheSameTime(t *testing.T) {
	b := newBench(t, "real")
	b.must(b.Configure(b.Context(), b.conf(60, "")))
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			errs[i] = b.Set(b.Context(), Override{Node: NodeWeights, Name: fmt.Sprintf("tenant/t%d", i), Value: 2})
		})
	}
	all.Wait()
	b.must(errors.Join(errs...))
	if list, _ := b.Overrides(b.Context()); len(list) != len(errs) {
		t.Fatalf("%d of %d are kept", len(list), len(errs))
	}
}

// A process that knows what was set brings it back with the limits.
func TestOverridesComeBackWithTheLimits(t *testing.T) {
	for _, kind := range []string{"embedded"} {
		b := newBench(t, kind)
		b.must(b.Configure(b.Context(), b.conf(60, "")))
		b.rpm(50, "ada")
		b.must(b.gate.(*Redis).rdb.FlushAll(b.Context()).Err())
		b.granted(b.request("interactive", Amounts{Requests: 1}))
		if got := b.limit("rpm"); got != 50 {
			b.Fatalf("rpm %d; want 50", got)
		}
	}
}

func TestSnapshotCarriesOverrides(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), b.conf(60, "")))
		b.rpm(50, "ada")
		kept, err := b.Counters(b.Context())
		b.must(err)
		fresh := newBench(b, "model")
		fresh.gate, fresh.lane, fresh.scope = NewModel(b.scope, b.now), b.lane, b.scope
		fresh.must(fresh.Configure(b.Context(), b.conf(60, "")))
		fresh.must(fresh.Restore(b.Context(), kept))
		if got := fresh.limit("rpm"); got != 50 {
			b.Fatalf("rpm %d; want 50", got)
		}
		fresh.rpm(40, "bob")
		fresh.must(fresh.Restore(b.Context(), kept)) // what is there is newer
		if got := fresh.limit("rpm"); got != 40 {
			b.Fatalf("rpm %d; want 40", got)
		}
	})
}

func TestWithSaysWhereLimitsComeFrom(t *testing.T) {
	at := time.Date(2026, 11, 29, 22, 10, 0, 0, time.UTC)
	list, err := changed(nil, Change{By: "ada", Set: []Override{{Node: "tenant/acme", Name: "rpm", Value: 5}}}, at)
	if err != nil {
		t.Fatal(err)
	}
	s := settings{file: Config{Source: "nightshift.yaml"}, overrides: list}
	for want, got := range map[string]string{
		"quota set by ada, 22:10":        s.origin("tenant/acme", "rpm", 5, at.Add(time.Hour)),
		"quota set by ada, 29 Nov 22:10": s.origin("tenant/acme", "rpm", 5, at.Add(24*time.Hour)),
		"nightshift.yaml":                s.origin("tenant/acme", "rpd", 5, at),
	} {
		if got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

// A node that gets a value of its own keeps the others that it had by its kind.
func TestWithBeginsANodeByItsKind(t *testing.T) {
	c := Config{Scope: Scope{"gemini", "p"}, Classes: classes, Nodes: map[string]Limits{"tenant/*": {RPM: 10, RPD: 100}}}
	got, err := c.With([]Override{{Node: "tenant/acme", Name: "rpm", Value: 20}, {Node: "tenant/*", Name: "rpd", Value: 200}})
	if err != nil || got.Nodes["tenant/acme"] != (Limits{RPM: 20, RPD: 200}) || c.Nodes["tenant/*"].RPD != 100 {
		t.Fatalf("%+v, %v", got.Nodes, err)
	}
	none := []Override{{Node: "tenant/acme", Name: "rpm", Text: None}, {Node: "tenant/acme", Name: "rpd", Text: None}}
	if got, err = got.With(none); err != nil || got.Nodes["tenant/acme"] != (Limits{RPM: Unlimited, RPD: Unlimited}) {
		t.Fatalf("%+v, %v; want them to go on counting", got.Nodes, err)
	}
}

func TestValueIsWhatWithSets(t *testing.T) {
	c := Config{Scope: Scope{"gemini", "p"}, Classes: classes, Nodes: map[string]Limits{"tenant/*": {RPM: 10}},
		Lanes: []LaneConfig{{Lane: Lane{"gemini", "p", "global", "flash"}, Limits: Limits{RPM: 60}}}}
	lane := c.Lanes[0].Lane.String()
	for _, o := range []Override{
		{Node: lane, Name: "rpm", Value: 61}, {Node: lane, Name: "rpd", Value: 7}, {Node: lane, Name: "usd_per_day", Text: None},
		{Node: lane, Name: "outside", Value: 7}, {Node: lane, Name: "lend", Text: "never"}, {Node: lane, Name: "shadow", Text: "rpm,rpd"},
		{Node: "tenant/acme", Name: "rpm", Value: 11}, {Node: "tenant/*", Name: "shadow", Text: "rpm"},
		{Node: "class/bulk", Name: "cap", Value: 5}, {Node: NodeWeights, Name: "priority/high", Value: 9}, {Node: NodeWeights, Name: "run/r", Value: 2},
	} {
		got, err := c.With([]Override{o})
		if err != nil || got.Value(o.Node, o.Name) != o {
			t.Errorf("%+v became %+v, %v", o, got.Value(o.Node, o.Name), err)
		}
	}
	for _, want := range []Override{
		{Node: lane, Name: "rpd", Text: None}, {Node: lane, Name: "lend", Text: "auto"}, {Node: lane, Name: "shadow", Text: None},
		{Node: "tenant/acme", Name: "rpm", Value: 10}, {Node: "tenant/acme", Name: "rpd", Text: None},
		{Node: NodeWeights, Name: "priority/high", Value: 4}, {Node: NodeWeights, Name: "run/r", Value: 1},
	} {
		if got := c.Value(want.Node, want.Name); got != want {
			t.Errorf("%+v; want %+v", got, want)
		}
	}
}

// Limits of an old configuration that come late, after newer ones, change nothing.
func TestLimitsThatComeLate(t *testing.T) {
	b := newBench(t, "real")
	b.must(b.Configure(b.Context(), b.conf(60, "")))
	r := b.gate.(*Redis)
	late, err := r.read(b.Context())
	b.must(err)
	b.rpm(50, "ada")
	b.must(r.enforce(b.Context(), late.effective, late))
	if got := b.limit("rpm"); got != 50 {
		t.Fatalf("rpm %d; want 50", got)
	}
}

// TestOverridesSayTheirReason: of several values set at once each event gives the reason
// of its own; a default's reason is that of what it changes too.
func TestOverridesSayTheirReason(t *testing.T) {
	scope := Scope{Provider: "gemini", Project: "p"}
	weight := Override{Node: NodeWeights, Name: "run/a", Value: 3, Reason: "weight of the run"}
	rpm := func(reason string) Override { return Override{Node: "run/a", Name: "rpm", Value: 5, Reason: reason} }
	for _, c := range []struct {
		before, set []Override
		want        string
	}{
		{nil, []Override{rpm("window of the run"), weight}, "run/a: rpm 5 (quota set): window of the run\nweights: run/a 3 (quota set): weight of the run"},
		{nil, []Override{rpm(""), weight}, "run/a: rpm 5 (quota set)\nweights: run/a 3 (quota set): weight of the run"},
		{[]Override{rpm("")}, []Override{{Node: "run/*", Name: "rpd", Value: 9, Reason: "a calm night"}}, "run/*: rpd 9 (quota set): a calm night\nrun/a: rpd none → 9 (quota set): a calm night"},
		{nil, []Override{{Node: "class/bulk", Name: "cap", Value: 200_000, Reason: "launch"}, weight},
			"bulk: cap 0 % → 20 % (quota set): launch\nweights: run/a 3 (quota set): weight of the run"},
		{[]Override{rpm(""), weight}, nil, "run/a: rpm 5 → none (quota unset)\nweights: run/a 3 → none (quota unset)"},
	} {
		conf, err := Config{Scope: scope, Classes: []Class{{Name: "bulk"}}}.With(c.before)
		if err != nil {
			t.Fatal(err)
		}
		all := append(c.before, c.set...)
		if c.set == nil {
			all = nil
		}
		after, err := Config{Scope: scope, Classes: conf.Classes}.With(all)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range overridden(conf, after, Change{Set: c.set}) {
			got = append(got, e.Text)
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.set, text, c.want)
		}
	}
}

// Of random overrides, what is said of a node is the same whether they were sorted by
// node before or not.
func TestOriginsByNode(t *testing.T) {
	t.Parallel()
	rng, now := rand.New(rand.NewPCG(5, 6)), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := settings{file: Config{Source: "nightshift.yaml"}}
	node := func() string { return []string{"tenant/*", "tenant/a", "tenant/b", "gemini/p/global/m"}[rng.IntN(4)] }
	name := func() string { return []string{"rpm", "rpd", "input_tpm"}[rng.IntN(3)] }
	for i := range 40 {
		o := Override{Node: node(), Name: name(), Value: rng.Int64N(3), By: fmt.Sprint("p", i), At: now}
		if rng.IntN(3) == 0 {
			o.Source = SourceProvider
		}
		s.overrides = append(s.overrides, o)
	}
	sorted := s.indexed()
	for range 200 {
		at, what, amount := node(), name(), rng.Int64N(3)
		want := "nightshift.yaml"
		for _, o := range inOrder(s.overrides) {
			if o.Node == at && o.Name == what && (o.Source != SourceProvider || o.Value == amount) {
				want = o.origin(now)
			}
		}
		if plain, by := s.origin(at, what, amount, now), sorted.origin(at, what, amount, now); plain != want || by != want {
			t.Errorf("%s %s: %q, sorted before %q, want %q", at, what, plain, by, want)
		}
	}
	if sorted.copied().byNode != nil {
		t.Error("a copy that may change keeps what was sorted before")
	}
}
