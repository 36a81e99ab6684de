package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// loadText loads a configuration file with these lines.
func loadText(t *testing.T, text string) (*loaded, error) {
	t.Helper()
	return loadFile(t, filepath.Join(t.TempDir(), "nightshift.yaml"), []byte(text))
}

// TestSpendConfig: caps that are no amounts are named at load, with the file.
func TestSpendConfig(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"spend: {usd_per_month: 0}":                                               "spend.usd_per_month: 0 would let nothing through",
		"spend: {usd_per_day: -5}":                                                "spend.usd_per_day: -5 is no amount of dollars",
		"spend: {usd_per_day: 1e-9}":                                              "spend.usd_per_day: 1e-09 is no amount of dollars",
		"spend: {usd_per_month: 1e300}":                                           "spend.usd_per_month: 1e+300 is no amount of dollars",
		"models: {m: {rpm: -1, rpd: -1, tpd: -1, input_tpm: -1}}":                 "models.m.input_tpm: -1 is negative",
		"spend: {usd_per_10m: .nan}":                                              "spend.usd_per_10m: NaN is no amount of dollars",
		"nodes: {tenant/a: {usd_per_month: .inf}}":                                "nodes.tenant/a.usd_per_month: +Inf is no amount of dollars",
		"nodes: {project/other: {usd_per_month: 5}}":                              `"project/other"; the project of this configuration is default`,
		"spend: {soft_ratio: 0}":                                                  "spend.soft_ratio: 0; want a part of each cap above 0",
		"spend: {soft_ratio: 1.2}":                                                "spend.soft_ratio: 1.2; want",
		"spend: {zone: Mars}":                                                     `spend.zone: "Mars" is no time zone`,
		"spend: {usd_per_month: 5}\nnodes: {project/default: {usd_per_month: 6}}": "spend.usd_per_month: nodes.project/default has one too",
	} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nightshift.yaml") {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	l, err := loadText(t, "time_zone: Asia/Tokyo\nspend: {usd_per_month: 12.5, zone: America/New_York}")
	if err != nil {
		t.Fatal(err)
	}
	c := l.limiterConfig()
	if c.SoftPPM != 920_000 || c.MonthTZ != "America/New_York" || c.Nodes["project/default"] != (limiter.Limits{USDPerMonth: 12_500_000}) {
		t.Errorf("%+v", c)
	}
}

// TestSpendSetReads: what a cap is of and how much, in the ways that people say it.
func TestSpendSetReads(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--month 50":                     "project usd_per_month=50",
		"usd_per_month 50":               "project usd_per_month=50",
		"usd_per_day=1.5":                "project usd_per_day=1.5",
		"tenant/acme usd_per_month none": "tenant/acme usd_per_month=none",
		"flash --day 2 --month 9":        "flash usd_per_month=9 usd_per_day=2",
		"":                               "nothing to set",
		"tenant/acme rpm 5":              "unknown limit rpm",
		"tenant/acme 50":                 "want a limit and its amount",
	} {
		o := &spendSetOptions{}
		var rest []string
		for f := strings.Fields(args); len(f) > 0; f = f[1:] {
			switch f[0] {
			case "--month":
				o.Month, f = f[1], f[1:]
			case "--day":
				o.Day, f = f[1], f[1:]
			default:
				rest = append(rest, f[0])
			}
		}
		err := o.read(rest)
		got := o.set.Target + " " + strings.Join(o.set.Values, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q is %q; want %q", args, got, want)
		}
	}
}

// TestSpendSetRefuses: amounts that are none change nothing.
func TestSpendSetRefuses(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	for _, amount := range []string{"0", "-5", "NaN", "much"} {
		if _, err := s.quota(setOptions{}, "project", "usd_per_month="+amount); err == nil || !strings.Contains(err.Error(), "want dollars above zero") {
			t.Errorf("%s: %v", amount, err)
		}
	}
	s.set(setOptions{}, "project", "usd_per_month=$50")
	if got := s.overridden(); !strings.Contains(got, "/") || !strings.Contains(got, "project/") || !strings.Contains(got, "usd_per_month=50000000") {
		t.Errorf("set is %s", got)
	}
}

// TestSpenders: sums by who spent, the dearest first, and days in their order.
func TestSpenders(t *testing.T) {
	t.Parallel()
	samples := []gemini.MoneySample{
		{Day: "2026-11-29", Feature: "chat", Tenant: "acme", MicroUSD: 37, Calls: 1},
		{Day: "2026-11-30", Feature: "bulk", MicroUSD: 5_000_000, Calls: 2},
		{Day: "2026-11-30", Feature: "chat", Tenant: "acme", MicroUSD: 13, Calls: 1},
	}
	for by, want := range map[string]string{"feature": "bulk 5000000 2, chat 50 2", "day": "2026-11-29 37 1, 2026-11-30 5000013 3", "tenant": " 5000000 2, acme 50 2"} {
		var got []string
		for _, s := range spendersOf(samples, by) {
			got = append(got, s.Name+" "+limiterText(s.MicroUSD)+" "+limiterText(s.Calls))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("by %s: %q, want %q", by, strings.Join(got, ", "), want)
		}
	}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{"2026-12-02", "2026-01-01", "soon"} {
		if _, err := spendSince(text, now, now); err == nil {
			t.Errorf("--since %s was taken", text)
		}
	}
}

// TestEmbeddedKeepsSpend: what was spent of a month is there in the next embedded
// run, with who spent it; so is the project's own counter.
func TestEmbeddedKeepsSpend(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "models: {m: {rpm: 100}}\nspend: {usd_per_month: 100}")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	day := time.Now().In(l.spendZone()).Format(time.DateOnly)
	spent := func(first bool) (int64, []gemini.MoneySample) {
		e, err := startEmbedded(dir)
		if err != nil {
			t.Fatal(err)
		}
		be := (&factory{streams: &streams{Err: t.Output()}}).backend(l, redis.NewClient(e.options()))
		ctx := t.Context()
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		check(be.lim.Configure(ctx, l.limiterConfig()))
		check(firstError(e.restoreCounters(ctx, be.lim), e.restoreMoney(ctx, be.rdb, l.scope())))
		if first {
			_, err := be.lim.Acquire(ctx, limiter.Request{ID: "a", Lane: l.lane("m"), Class: "interactive", Feature: "chat",
				Amounts: limiter.Amounts{limiter.Requests: 1, limiter.MicroUSD: 90_000_000}})
			check(err)
			check(gemini.RestoreMoney(ctx, be.rdb, l.scope(), []gemini.MoneySample{{Day: day, Model: "m", Class: "interactive", Feature: "chat", MicroUSD: 90_000_000, Calls: 1}}))
		}
		caps, err := be.lim.Caps(ctx)
		check(err)
		money, err := gemini.ReadMoney(ctx, be.rdb, l.scope(), time.Now().In(l.spendZone()), time.Now().In(l.spendZone()))
		check(err)
		e.saveCounters(ctx, be.lim)
		check(e.saveMoney(ctx, be.rdb, l.scope(), time.Now().In(l.spendZone())))
		be.close()
		e.close()
		return caps[0].Used, money
	}
	spent(true)
	if used, money := spent(false); used != 90_000_000 || len(money) != 1 || money[0].MicroUSD != 90_000_000 {
		t.Errorf("the next run knows of %d used, spent by %+v", used, money)
	}
}

func limiterText(n int64) string {
	return strings.TrimSuffix(strings.TrimPrefix(exact(n*1_000_000), "$"), ".000000")
}
