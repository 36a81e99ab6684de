package limiter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestConfigurationIsChecked(t *testing.T) {
	onEach(t, func(b *bench) {
		good := func() Config {
			return Config{Scope: b.scope, Classes: classes, Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 10}}}}
		}
		for field, spoil := range map[string]func(*Config){
			"lanes[0].limits":      func(c *Config) { c.Lanes[0].Limits = Limits{} },
			"lanes[0].limits.rpm":  func(c *Config) { c.Lanes[0].Limits.RPM = -1 },
			"lanes[0].lend":        func(c *Config) { c.Lanes[0].Lend = "always" },
			"lanes[0].outside_ppm": func(c *Config) { c.Lanes[0].OutsidePPM = million },
			"lanes[0].lane":        func(c *Config) { c.Lanes[0].Lane.Project = "other" },
			"lanes[1].lane":        func(c *Config) { c.Lanes = append(c.Lanes, c.Lanes[0]) },
			"classes": func(c *Config) {
				c.Classes = []Class{{Name: "a", GuaranteePPM: 600_000}, {Name: "b", GuaranteePPM: 600_000}}
			},
			"classes[a].guarantee_ppm":              func(c *Config) { c.Classes = []Class{{Name: "a", GuaranteePPM: -1}} },
			"classes[a|b].name":                     func(c *Config) { c.Classes = []Class{{Name: "a|b"}} },
			"nodes[tenant/acme].limits.concurrency": func(c *Config) { c.Nodes = map[string]Limits{"tenant/acme": {Concurrency: -2}} },
			"weights[run/x]":                        func(c *Config) { c.Weights = map[string]int64{"run/x": 0} },
			"month_tz":                              func(c *Config) { c.MonthTZ = "Mars/Olympus" },
		} {
			c := good()
			spoil(&c)
			var wrong *ConfigError
			if err := b.Configure(b.Context(), c); !errors.As(err, &wrong) || wrong.Field != field {
				b.Errorf("error %v; want one about %s", err, field)
			}
		}
		b.must(b.Configure(b.Context(), good()))
	})
}

func TestUnknownLaneAndClass(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 10})
		q := b.request("bulk", Amounts{1})
		q.Lane.Model = "never-heard-of"
		b.refused(q, ReasonUnknownLane)
		if _, err := b.Acquire(b.Context(), b.request("nobody", Amounts{1})); err == nil || errors.As(err, new(*Denied)) {
			b.Errorf("class nobody: %v; want a plain error", err)
		}
		if _, err := b.Acquire(b.Context(), b.request("bulk", Amounts{-1})); err == nil {
			b.Error("a negative amount was admitted")
		}
	})
}

func TestLimitBindsUntilItsSlotLeaves(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 3})
		for range 3 {
			b.granted(b.request("interactive", Amounts{1}))
			b.wait(100 * time.Millisecond)
		}
		d := b.refused(b.request("interactive", Amounts{1}), ReasonQuota)
		// All three are in the slot of 12:00:00.0, which leaves at 12:01:01.0.
		if d.Limiter != "rpm" || d.Limit != 3 || d.Used != 3 || d.Shortage != 1 || !d.RetryAt.Equal(noon.Add(61*time.Second)) {
			b.Fatalf("%+v", d)
		}
		b.set(d.RetryAt.Add(-time.Millisecond))
		b.refused(b.request("interactive", Amounts{1}), ReasonQuota)
		b.set(d.RetryAt)
		for range 3 {
			b.granted(b.request("interactive", Amounts{1}))
		}
	})
}

func TestTooLargeIsForGood(t *testing.T) {
	onEach(t, func(b *bench) {
		b.configure(LaneConfig{Limits: Limits{RPM: 100, InputTPM: 250_000}, OutsidePPM: 50_000, Lend: "auto"})
		q := b.request("bulk", Amounts{1, 300_000})
		q.Ticket = "job"
		d := b.refused(q, ReasonTooLarge)
		// 250,000 less 12,500 outside less interactive's floor of 25,000.
		if !d.Permanent || d.Limiter != "input_tpm" || d.Limit != 212_500 || d.Limit+d.Shortage != 300_000 || !d.RetryAt.IsZero() || d.Ticket != "" {
			b.Fatalf("%+v", d)
		}
		b.granted(b.request("bulk", Amounts{1, 212_500}))
	})
}

func TestRefusalChangesNothing(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 1, InputTPM: 1000, Concurrency: 1})
		p := b.granted(b.request("interactive", Amounts{1, 10}))
		before := jsonOf(b.state().Limits)
		for range 5 {
			b.refused(b.request("interactive", Amounts{1, 900}), ReasonQuota)
		}
		if after := jsonOf(b.state().Limits); after != before {
			b.Fatalf("refusals changed\n%s to\n%s", before, after)
		}
		b.must(b.Settle(b.Context(), Settlement{ID: p.ID, Lane: b.lane, Outcome: Released}))
		b.granted(b.request("interactive", Amounts{1, 900}))
	})
}

func TestSameIDIsSamePermit(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 1, InputTPM: 1000})
		q := b.request("interactive", Amounts{1, 10})
		first := b.granted(q)
		b.wait(time.Second)
		if again := b.granted(q); !reflect.DeepEqual(again, first) {
			b.Fatalf("got %+v; want %+v", again, first)
		}
		if n := b.used("rpm"); n != 1 {
			b.Fatalf("%d requests charged; want 1", n)
		}
	})
}

func TestSettlement(t *testing.T) {
	est := Amounts{1, 500}
	for name, c := range map[string]struct {
		outcome Outcome
		used    Amounts
		after   time.Duration
		tokens  int64 // in use afterwards
	}{
		"below the estimate":      {Settled, Amounts{1, 200}, 3 * time.Second, 200},
		"in the slot itself":      {Settled, Amounts{1, 200}, 0, 200},
		"above what is left":      {Settled, Amounts{1, 5000}, 3 * time.Second, 5000},
		"released":                {Released, Amounts{}, 3 * time.Second, 0},
		"released with usage":     {Released, Amounts{1, 400}, 3 * time.Second, 0},
		"after the window turned": {Settled, Amounts{1, 5000}, 62 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.limits(Limits{RPM: 10, InputTPM: 1000})
				p := b.granted(b.request("interactive", est))
				b.wait(c.after)
				for range 3 { // settling is idempotent
					b.must(b.Settle(b.Context(), Settlement{ID: p.ID, Lane: b.lane, Outcome: c.outcome, Used: c.used}))
					if n := b.used("input_tpm"); n != c.tokens {
						b.Fatalf("%d tokens in use; want %d", n, c.tokens)
					}
				}
				b.set(noon.Add(2 * time.Minute))
				if n := b.used("input_tpm"); n != 0 {
					b.Fatalf("%d tokens in use when all has left", n)
				}
			})
		})
	}
}

// An overage is a debt: it keeps others out until its slot leaves.
func TestDebtIsPaid(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{InputTPM: 1000})
		p := b.granted(b.request("interactive", Amounts{1, 100}))
		b.settle(p, Amounts{1, 1500})
		d := b.refused(b.request("interactive", Amounts{1, 100}), ReasonQuota)
		if d.Used != 1500 || d.Shortage != 600 {
			b.Fatalf("%+v", d)
		}
		b.set(d.RetryAt)
		b.granted(b.request("interactive", Amounts{1, 100}))
	})
}

func TestPartialSettlesAddUp(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{InputTPM: 10_000, OutputTPM: 10_000})
		p := b.granted(b.request("interactive", Amounts{1, 100, 400}))
		for i, want := range []int64{400, 400, 700} { // below the estimate nothing is given back yet
			b.wait(time.Second)
			b.must(b.Settle(b.Context(), Settlement{ID: p.ID, Lane: b.lane, Outcome: Settled, Partial: true, Used: Amounts{1, 100, []int64{100, 300, 700}[i]}}))
			if n := b.used("output_tpm"); n != want {
				b.Fatalf("%d output tokens in use; want %d", n, want)
			}
		}
		b.settle(p, Amounts{1, 90, 250})
		if in, out := b.used("input_tpm"), b.used("output_tpm"); in != 90 || out != 250 {
			b.Fatalf("%d and %d tokens in use; want 90 and 250", in, out)
		}
	})
}

func TestLeases(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100, InputTPM: 10_000, Concurrency: 1})
		q := b.request("interactive", Amounts{1, 100})
		q.Lease = 10 * time.Second
		p := b.granted(q)
		b.wait(8 * time.Second)
		b.must(b.Extend(b.Context(), b.lane, p.ID, 10*time.Second))
		b.wait(8 * time.Second)
		b.refused(b.request("interactive", Amounts{1, 100}), ReasonQuota)
		b.wait(2 * time.Second)
		second := b.granted(b.request("interactive", Amounts{1, 100}))
		if err := b.Extend(b.Context(), b.lane, p.ID, time.Minute); !errors.Is(err, ErrLapsed) {
			b.Fatalf("extending a lapsed permit: %v", err)
		}
		if err := b.Extend(b.Context(), b.lane, "nobody", time.Minute); !errors.Is(err, ErrNoPermit) {
			b.Fatalf("extending nothing: %v", err)
		}
		// The dead holder was only slow: its usage counts, its slot is not given back again.
		b.settle(p, Amounts{1, 50})
		if tokens, held := b.used("input_tpm"), b.used("concurrency"); tokens != 150 || held != 1 {
			b.Fatalf("%d tokens and %d calls in use; want 150 and 1", tokens, held)
		}
		b.settle(second, Amounts{1, 100})
		if held := b.used("concurrency"); held != 0 {
			b.Fatalf("%d calls in use; want none", held)
		}
	})
}

func TestClockSetBack(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 2, RPD: 100})
		p := b.granted(b.request("interactive", Amounts{1}))
		b.wait(-3 * time.Second) // small: time stands still
		b.granted(b.request("interactive", Amounts{1}))
		b.refused(b.request("interactive", Amounts{1}), ReasonQuota)
		b.wait(-2 * time.Hour) // large: what was used counts as used now
		d := b.refused(b.request("interactive", Amounts{1}), ReasonQuota)
		if wait := d.RetryAt.Sub(b.now); wait > 61*time.Second {
			b.Fatalf("retry in %s; the limiter froze", wait)
		}
		b.must(b.Settle(b.Context(), Settlement{ID: p.ID, Lane: b.lane, Outcome: Released}))
		if n, day := b.used("rpm"), b.used("rpd"); n != 1 || day != 1 {
			b.Fatalf("%d in the minute and %d in the day; want 1 and 1", n, day)
		}
	})
}

// Days are Pacific ones, of 23 and 25 hours too, wherever we run.
func TestDays(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPD: 1})
		for _, c := range []struct{ at, midnight string }{
			{"2026-11-29T12:00:00Z", "2026-11-30T08:00:00Z"},
			{"2026-12-31T23:30:00-08:00", "2027-01-01T08:00:00Z"},
			{"2027-03-14T00:30:00-08:00", "2027-03-15T07:00:00Z"}, // 23 hours
			{"2027-03-15T02:30:00-07:00", "2027-03-16T07:00:00Z"},
			{"2027-11-07T01:30:00-07:00", "2027-11-08T08:00:00Z"}, // 25 hours
			{"2027-11-08T23:59:59-08:00", "2027-11-09T08:00:00Z"},
		} {
			at, _ := time.Parse(time.RFC3339, c.at)
			b.set(at)
			b.granted(b.request("interactive", Amounts{1}))
			d := b.refused(b.request("interactive", Amounts{1}), ReasonQuota)
			if got := d.RetryAt.UTC().Format(time.RFC3339); got != c.midnight || d.Limiter != "rpd" {
				b.Errorf("at %s: %s until %s; want %s", c.at, d.Limiter, got, c.midnight)
			}
		}
	})
}

func TestMonthAndMoney(t *testing.T) {
	onEach(t, func(b *bench) {
		c := Config{Scope: b.scope, Classes: classes, MonthTZ: "Asia/Tokyo",
			Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{USDPerMonth: 5_000_000, USDPer10m: 1_000_000}}}}
		b.must(b.Configure(b.Context(), c))
		dollar := Amounts{Requests: 1, MicroUSD: 1_000_000}
		for range 5 {
			b.granted(b.request("interactive", dollar))
			b.refused(b.request("interactive", dollar), ReasonSpend)
			b.wait(610 * time.Second)
		}
		d := b.refused(b.request("interactive", dollar), ReasonSpend)
		if want := "2026-11-30T15:00:00Z"; d.Limiter != "usd_per_month" || d.RetryAt.UTC().Format(time.RFC3339) != want {
			b.Fatalf("%s until %s; want usd_per_month until %s", d.Limiter, d.RetryAt, want)
		}
	})
}

func TestPauses(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		until := b.now.Add(time.Minute)
		b.must(b.Pause(b.Context(), Pause{Class: "bulk", Reason: "health", Owner: "monitor", Until: until}))
		b.must(b.Pause(b.Context(), Pause{Class: "bulk", Reason: "operator", Owner: "ada", Detail: "deploy"}))
		q := b.request("bulk", Amounts{1})
		q.Ticket = "job"
		if d := b.refused(q, ReasonPaused); d.Detail != "operator by ada: deploy" || d.RetryAfter() > 10*time.Minute {
			b.Fatalf("%+v", d)
		}
		b.granted(b.request("interactive", Amounts{1}))
		b.must(b.Resume(b.Context(), "bulk", "operator"))
		if d := b.refused(b.request("bulk", Amounts{1}), ReasonPaused); !d.RetryAt.Equal(until) || d.Detail != "health by monitor" {
			b.Fatalf("%+v", d)
		}
		if ps, err := b.Pauses(b.Context()); err != nil || len(ps) != 1 || ps[0].Owner != "monitor" {
			b.Fatalf("pauses %+v, %v", ps, err)
		}
		b.set(until)
		if ps, _ := b.Pauses(b.Context()); len(ps) != 0 {
			b.Fatalf("pauses %+v; want none", ps)
		}
		b.granted(b.request("bulk", Amounts{1})) // what waits fits too
		b.refused(b.request("bulk", Amounts{97}), ReasonTurn)
		if got, err := b.Pull(b.Context(), b.lane, 5); err != nil || len(got) != 1 || got[0].Ticket != "job" {
			b.Fatalf("pulled %v, %v", got, err)
		}
	})
}

func TestCooldown(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		b.must(b.Cool(b.Context(), b.lane, 30*time.Second, ReasonCooldown, "429, retry in 30 s"))
		b.must(b.Cool(b.Context(), b.lane, 5*time.Second, ReasonCooldown, "429, retry in 5 s")) // the longest wins
		d := b.refused(b.request("interactive", Amounts{1}), ReasonCooldown)
		if !d.RetryAt.Equal(noon.Add(30*time.Second)) || d.Detail != "429, retry in 30 s" {
			b.Fatalf("%+v", d)
		}
		if s := b.state(); s.Cooldown == nil || !s.Cooldown.Until.Equal(d.RetryAt) {
			b.Fatalf("cool-down %+v", s.Cooldown)
		}
		b.set(d.RetryAt)
		b.granted(b.request("interactive", Amounts{1}))
	})
}

// A rest is one event, however many calls ask for it; another reason is another,
// and what is too short is none.
func TestCooldownsAreEvents(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		for range 3 {
			b.must(b.Cool(b.Context(), b.lane, 30*time.Second, ReasonCooldown, "provider: rpm"))
			b.wait(time.Second)
		}
		b.must(b.Cool(b.Context(), b.lane, time.Minute, ReasonBreaker, "provider: limit_zero"))
		b.must(b.Cool(b.Context(), b.lane, 5*time.Second, ReasonCooldown, "provider: rpm")) // is over before the other
		b.wait(2 * time.Minute)
		b.must(b.Cool(b.Context(), b.lane, time.Second, ReasonCooldown, "provider: capacity"))
		b.wait(2 * time.Second)
		b.must(b.Cool(b.Context(), b.lane, 30*time.Second, ReasonCooldown, "provider: rpm"))
		b.happened("limits: flash: lend now, outside 0 %, rpm 100",
			"cooldown: flash rests for 30s: provider: rpm", "breaker: flash rests for 1m0s: provider: limit_zero",
			"cooldown: flash rests for 30s: provider: rpm")
	})
}

func TestLiveChangeKeepsUsage(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 10, RPD: 100})
		for range 8 {
			b.granted(b.request("interactive", Amounts{1, 50}))
			b.wait(time.Second)
		}
		b.limits(Limits{RPM: 9, InputTPM: 1000, RPD: 100}) // what a new limit counts was not counted before
		if n, tokens, day := b.used("rpm"), b.used("input_tpm"), b.used("rpd"); n != 8 || tokens != 0 || day != 8 {
			b.Fatalf("in use %d, %d, %d; want 8, 0, 8", n, tokens, day)
		}
		b.granted(b.request("interactive", Amounts{1, 50}))
		b.refused(b.request("interactive", Amounts{1, 50}), ReasonQuota)
		b.set(noon.Add(62 * time.Second))
		if n := b.used("rpm"); n != 7 {
			b.Fatalf("%d in use after two slots left; want 7", n)
		}
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes}))
		b.refused(b.request("interactive", Amounts{1}), ReasonUnknownLane)
		b.limits(Limits{RPM: 9, InputTPM: 1000, RPD: 100})
		if n := b.used("rpd"); n != 9 {
			b.Fatalf("%d of the day in use after the lane came back; want 9", n)
		}
	})
}

func TestSnapshotRestores(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPD: 10, USDPerMonth: 1000})
		b.granted(b.request("bulk", Amounts{Requests: 1, MicroUSD: 300}))
		s, err := b.Counters(b.Context())
		b.must(err)
		fresh := newBenchLike(b)
		fresh.limits(Limits{RPD: 10, USDPerMonth: 1000})
		for i := range s.Counters {
			s.Counters[i].Lane = fresh.lane
		}
		fresh.must(fresh.Restore(b.Context(), s))
		fresh.must(fresh.Restore(b.Context(), s)) // raising twice is raising once
		if day, month := fresh.used("rpd"), fresh.used("usd_per_month"); day != 1 || month != 300 {
			b.Fatalf("restored %d and %d; want 1 and 300", day, month)
		}
		fresh.set(noon.Add(24 * time.Hour))
		fresh.must(fresh.Restore(b.Context(), s))
		if day := fresh.used("rpd"); day != 0 {
			b.Fatalf("yesterday's %d requests came back", day)
		}
	})
}

func newBenchLike(b *bench) *bench {
	if _, ok := b.gate.(*Model); ok {
		return newBench(b.TB, "model")
	}
	return newBench(b.TB, "real")
}

func TestLendingGoesDownOnly(t *testing.T) {
	onEach(t, func(b *bench) {
		b.configure(LaneConfig{Limits: Limits{RPM: 1000}, Lend: "auto"}) // floor 100, guarantee 300
		d := b.refused(b.request("bulk", Amounts{901}), ReasonTooLarge)
		if d.Limit != 900 {
			b.Fatalf("the largest bulk request is %d; want 900", d.Limit)
		}
		b.granted(b.request("bulk", Amounts{900}))
		d = b.refused(b.request("bulk", Amounts{1}), ReasonShare)
		if d.Limiter != "rpm" {
			b.Fatalf("%+v", d)
		}
		b.granted(b.request("interactive", Amounts{100})) // its floor, at once
		b.refused(b.request("interactive", Amounts{1}), ReasonQuota)
	})
}

// What interactive used lately is kept for it, half of that two minutes later.
func TestForecastIsProtected(t *testing.T) {
	onEach(t, func(b *bench) {
		b.configure(LaneConfig{Limits: Limits{RPM: 1000, InputTPM: 100_000}, Lend: "now"})
		b.granted(b.request("interactive", Amounts{100, 10_000}))
		protected := func(limit int) int64 { return b.state().Limits[limit].Classes[0].Protected }
		b.wait(time.Second)
		if r, k := protected(0), protected(1); r < 165 || r > 170 || k < 14_900 || k > 15_000 {
			b.Fatalf("protected %d requests and %d tokens; want 1.5 × 100 + 2 × 10 and 1.5 × 10,000", r, k)
		}
		for range 61 {
			b.wait(time.Second)
			b.state()
		}
		b.wait(2 * time.Minute)
		if k := protected(1); k < 7_000 || k > 8_000 {
			b.Fatalf("protected %d tokens two minutes after the window; want about 7,500", k)
		}
		b.wait(time.Hour)
		if r, k := protected(0), protected(1); r != 20 || k != 2000 {
			b.Fatalf("protected %d and %d; want the floor of 2 %%", r, k)
		}
	})
}

func TestTrickleIsKept(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 100}, Lend: "now"}},
			Classes: []Class{{Name: "interactive", GuaranteePPM: 500_000}, {Name: "bulk", TricklePPM: 50_000}}}))
		b.granted(b.request("interactive", Amounts{95}))
		b.refused(b.request("interactive", Amounts{1}), ReasonShare)
		b.granted(b.request("bulk", Amounts{5}))
		b.refused(b.request("bulk", Amounts{1}), ReasonQuota)
	})
}

func TestMarginForOpenCalls(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{InputTPM: 1_000_000})
		var open []*Permit
		for range 16 {
			open = append(open, b.granted(b.request("interactive", Amounts{1, 10_000})))
		}
		// 1.5 × √(16 × (0.1 × 10,000)²) = 6,000
		if m := b.state().Limits[0].Margin; m != 6000 {
			b.Fatalf("margin %d; want 6000", m)
		}
		for _, p := range open {
			b.settle(p, Amounts{1, 10_000})
		}
		if m := b.state().Limits[0].Margin; m != 0 {
			b.Fatalf("margin %d with nothing open", m)
		}
	})
}

func TestRetryComesFromTheRule(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 1000, InputTPM: 100_000, RPD: 5})
		for range 5 {
			b.granted(b.request("interactive", Amounts{1, 15_000}))
		}
		// The minute's tokens are short too, but the day is what holds longest.
		d := b.refused(b.request("interactive", Amounts{1, 30_000}), ReasonQuota)
		if d.Limiter != "rpd" || d.RetryAfter() != 20*time.Hour {
			b.Fatalf("%s, %s", d.Limiter, d.RetryAfter())
		}
	})
}

func TestUnavailable(t *testing.T) {
	rdb := dialEmbedded(t)
	scope := testScope()
	r := NewRedis(rdb, scope, RedisOptions{Timeout: 200 * time.Millisecond})
	_ = rdb.Close()
	began := time.Now()
	_, err := r.Acquire(t.Context(), Request{ID: "x", Lane: Lane{Provider: "gemini", Project: scope.Project, Model: "m"}, Class: "bulk"})
	var d *Denied
	if !errors.As(err, &d) || d.Reason != ReasonUnavailable || d.RetryAfterMS <= 0 || errors.Unwrap(d) == nil {
		t.Fatalf("%v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Fatalf("took %s", took)
	}
}

// A Redis that takes the connection and says nothing is unavailable too.
func TestSilentRedis(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rdb := redis.NewClient(&redis.Options{Addr: l.Addr().String()})
	defer rdb.Close()
	scope := testScope()
	r := NewRedis(rdb, scope, RedisOptions{Timeout: 100 * time.Millisecond})
	began := time.Now()
	_, err = r.Acquire(t.Context(), Request{ID: "x", Lane: Lane{Provider: "gemini", Project: scope.Project, Model: "m"}, Class: "bulk"})
	var d *Denied
	if !errors.As(err, &d) || d.Reason != ReasonUnavailable || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Fatalf("took %s", took)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	rdb := dialReal(t)
	scope := testScope()
	if err := rdb.HSet(t.Context(), newKeys(scope).scope[0], fieldSchema, SchemaVersion+1).Err(); err != nil {
		t.Fatal(err)
	}
	r := NewRedis(rdb, scope, RedisOptions{})
	if err := r.Configure(t.Context(), Config{Scope: scope, Classes: classes}); err == nil {
		t.Fatal("a newer schema was written over")
	}
	if _, err := r.Lanes(t.Context()); err == nil {
		t.Fatal("a newer schema was read")
	}
}

// Redis came back empty: the limits that this process knows are written again.
func TestLostDataIsRestored(t *testing.T) {
	b := newBench(t, "embedded")
	b.limits(Limits{RPM: 5})
	b.granted(b.request("bulk", Amounts{1}))
	b.must(b.gate.(*Redis).rdb.FlushAll(b.Context()).Err())
	b.granted(b.request("bulk", Amounts{1}))
}

func ExampleDenied_Error() {
	m := NewModel(Scope{"gemini", "main"}, noon)
	lane := Lane{"gemini", "main", "global", "flash"}
	_ = m.Configure(context.Background(), Config{Scope: lane.Scope(), Classes: classes, Lanes: []LaneConfig{{Lane: lane, Limits: Limits{RPM: 1}}}})
	q := Request{ID: "a", Lane: lane, Class: "interactive", Amounts: Amounts{Requests: 1}}
	_, _ = m.Acquire(context.Background(), q)
	q.ID = "b"
	_, err := m.Acquire(context.Background(), q)
	fmt.Println(err)
	// Output: no permit for flash as interactive: quota (rpm: 1 of 1 used, 1 missing), retry in 1m1s
}
