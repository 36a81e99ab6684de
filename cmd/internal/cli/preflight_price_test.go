package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestUnpricedRunsAreRefused only where a limit in money binds them, and not for a
// model that has its price under another of its names.
func TestUnpricedRunsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		model, tenant string
		limits        string // of the configuration
		refused       string
	}{
		"no limit":                 {"gemini-4-argon", "acme", "", ""},
		"all together":             {"gemini-4-argon", "acme", "spend: {usd_per_month: 5}", "usd_per_month of project/default"},
		"the tenant's":             {"gemini-4-argon", "acme", "nodes: {tenant/acme: {usd_per_day: 5}}", "usd_per_day of tenant/acme"},
		"another tenant's":         {"gemini-4-argon", "acme", "nodes: {tenant/other: {usd_per_day: 5}}", ""},
		"a price by another name":  {"gemini-flash-latest", "acme", "spend: {usd_per_month: 5}", ""},
		"a price by its own":       {"gemini-3.8-flash", "acme", "spend: {usd_per_month: 5}", ""},
		"in shadow there":          {"gemini-4-argon", "acme", "nodes: {tenant/acme: {rpm: 5, usd_per_day: 5, shadow: [usd_per_day]}}", ""},
		"capitals and a long name": {"models/Gemini-4-Argon", "acme", "spend: {usd_per_month: 5}", "usd_per_month"},
	} {
		conf, err := loadConfig(configFile(t, "models: {gemini-4-argon: {rpm: 5}, gemini-3.8-flash: {rpm: 5, aliases: [gemini-flash-latest]}}\n"+c.limits), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		quota, err := conf.quotaOf(c.model)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := conf.unpriced(jobs.Spec{Model: c.model, Tenant: c.tenant, Feature: "bulk", Class: "bulk"}, quota.lane)
		switch {
		case (got != nil) != (c.refused != ""):
			t.Errorf("%s: %v", name, got)
		case got != nil && (!strings.Contains(got.Error(), c.refused) || !strings.Contains(got.Error(), "spend.prices")):
			t.Errorf("%s: %v, want %q", name, got, c.refused)
		}
	}
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nightshift.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRunsThatNoCapCanHold: a row is held at its longest answer, and where a cap is
// smaller all of a run's rows would wait for good.
func TestRunsThatNoCapCanHold(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		spend   string // of the configuration
		output  int32
		class   string
		refused string
	}{
		"room for one":       {"usd_per_month: 1", 0, "bulk", ""},
		"none":               {"usd_per_month: 0.5", 0, "bulk", "up to $0.5898, since its answer may have 65,536 tokens; usd_per_month of project/default lets bulk have $0.46"},
		"short answers":      {"usd_per_month: 0.5", 1000, "bulk", ""},
		"only the soft part": {"usd_per_day: 0.6", 0, "bulk", "lets bulk have $0.55"},
		"all of it":          {"usd_per_day: 0.6, soft_ratio: 1", 0, "bulk", ""},
		"ten minutes":        {"usd_per_10m: 0.58", 0, "bulk", "usd_per_10m of project/default lets bulk have $0.58"},
	} {
		conf, err := loadConfig(configFile(t, "models: {gemini-3.5-flash: {rpm: 5}}\nspend: {"+c.spend+"}"), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		quota, err := conf.quotaOf("gemini-3.5-flash")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		spec := jobs.Spec{Model: "gemini-3.5-flash", Feature: "bulk", Class: c.class, Settings: jobs.Settings{MaxOutputTokens: c.output}}
		got := conf.tooDear(spec, quota.lane, now)
		if (got != nil) != (c.refused != "") || got != nil && !strings.Contains(got.Error(), c.refused) {
			t.Errorf("%s: %v; want %q", name, got, c.refused)
		}
	}
}
