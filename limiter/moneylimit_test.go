package limiter

import (
	"testing"
	"time"
)

// TestMoneyLimit: what binds is named, from the lane to the run, and a limit in
// shadow is none.
func TestMoneyLimit(t *testing.T) {
	lane := Lane{Provider: "p", Project: "x", Region: "r", Model: "m"}
	month := Limits{RPM: 5, USDPerMonth: 7}
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"none":            {Config{Lanes: []LaneConfig{{Lane: lane, Limits: Limits{RPM: 5}}}}, ""},
		"the lane's":      {Config{Lanes: []LaneConfig{{Lane: lane, Limits: Limits{USDPerDay: 5, USDPerMonth: 7}}}}, "usd_per_day"},
		"another lane's":  {Config{Lanes: []LaneConfig{{Lane: Lane{Model: "other"}, Limits: month}}}, ""},
		"a node's":        {Config{Nodes: map[string]Limits{"tenant/acme": month}}, "usd_per_month of tenant/acme"},
		"a kind's":        {Config{Nodes: map[string]Limits{"tenant/*": month}}, "usd_per_month of tenant/acme"},
		"another node's":  {Config{Nodes: map[string]Limits{"tenant/other": month}}, ""},
		"the feature's":   {Config{Nodes: map[string]Limits{"feature/chat": {USDPer10m: 1}}}, "usd_per_10m of feature/chat"},
		"in shadow":       {Config{Nodes: map[string]Limits{"tenant/acme": month}, Shadow: map[string][]string{"tenant/acme": {"usd_per_month"}}}, ""},
		"kind in shadow":  {Config{Nodes: map[string]Limits{"tenant/*": month}, Shadow: map[string][]string{"tenant/*": {"usd_per_month"}}}, ""},
		"lane in shadow":  {Config{Lanes: []LaneConfig{{Lane: lane, Limits: month}}, Shadow: map[string][]string{lane.String(): {"usd_per_month"}}}, ""},
		"one of two left": {Config{Lanes: []LaneConfig{{Lane: lane, Limits: Limits{USDPerDay: 5, USDPerMonth: 7}}}, Shadow: map[string][]string{lane.String(): {"usd_per_day"}}}, "usd_per_month"},
	} {
		if got := c.config.MoneyLimit(lane, Path{Tenant: "acme"}, "chat"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestMoneyForGood: what a run may cost in all never begins anew, counts what is
// held, gives back what was not used, and goes on as soon as it is raised.
func TestMoneyForGood(t *testing.T) {
	onEach(t, func(b *bench) {
		capped := func(amount int64) {
			b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes,
				Nodes: map[string]Limits{"run/r": {USDTotal: amount}}, Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 1000}}}}))
		}
		ask := func(ticket string) Request {
			q := b.request("bulk", Amounts{Requests: 1, MicroUSD: 40})
			q.Path, q.Ticket = Path{Run: "r", Priority: "normal"}, ticket
			return q
		}
		capped(100)
		first, second := b.granted(ask("a")), b.granted(ask("b"))
		d := b.refused(ask("c"), ReasonSpend)
		if d.Limiter != "usd_total" || d.Node != "run/r" || d.Position != 1 || d.RetryAfter() < 5*time.Minute {
			t.Fatalf("%s of %s, place %d, again in %s; want usd_total of run/r, place 1, in five minutes or more", d.Limiter, d.Node, d.Position, d.RetryAfter())
		}
		b.settle(first, Amounts{Requests: 1, MicroUSD: 35})
		b.settle(second, Amounts{Requests: 1, MicroUSD: 36})
		b.wait(70 * 24 * time.Hour) // over days and months
		if d := b.refused(ask("c"), ReasonSpend); d.Used != 71 {
			t.Fatalf("%d are used after two months; want the 71 that were spent", d.Used)
		}
		states, err := b.Caps(b.Context())
		if err != nil || len(states) != 1 || !states[0].IsCap() || !states[0].End.IsZero() || len(states[0].Stopped) != 1 || states[0].Next != 40 {
			t.Fatalf("%+v (%v); want one cap without an end that stops bulk", states, err)
		}
		capped(111)
		b.granted(ask("c"))
		b.must(b.Restore(b.Context(), Snapshot{Counters: []Counter{{Lane: b.lane, Node: "run/r", Class: "bulk", Unit: MicroUSD, Window: Ever, Start: time.UnixMilli(0), Used: 500}}}))
		if d := b.refused(ask("d"), ReasonSpend); d.Used != 500 {
			t.Fatalf("%d are used after a restore; want 500", d.Used)
		}
	})
}
