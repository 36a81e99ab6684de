package cli

import (
	"strings"
	"testing"

	"nightshift/cmd/internal/tenants"
	"nightshift/limiter"
)

func TestReadValue(t *testing.T) {
	for _, c := range []struct {
		node, name, text string
		value            int64
		as, shown        string // as text
	}{
		{"tenant/acme", "rpm", "300", 300, "", "300"},
		{"tenant/acme", "input_tpm", "2M", 2_000_000, "", "2,000,000"},
		{"tenant/acme", "input_tpm", "1.5M", 1_500_000, "", "1,500,000"},
		{"tenant/acme", "rpd", "1,000", 1000, "", "1,000"},
		{"tenant/acme", "rpd", "20k", 20_000, "", "20,000"},
		{"tenant/acme", "rpm", "none", 0, "none", "none"},
		{"tenant/acme", "usd_per_day", "$25", 25_000_000, "", "$25.00"},
		{"tenant/acme", "usd_per_day", "0.5", 500_000, "", "$0.50"},
		{"tenant/acme", "shadow", "rpm, rpd", 0, "rpm,rpd", "rpm, rpd"},
		{"class/bulk", "cap", "10 %", 100_000, "", "10 %"},
		{"class/bulk", "cap", "12.5%", 125_000, "", "12.5 %"},
		{"class/bulk", "cap", "0.1", 100_000, "", "10 %"},
		{"weights", "priority/high", "8", 8, "", "8"},
		{"weights", "priority/high", "1,000", 1000, "", "1,000"},
	} {
		o := limiter.Override{Node: c.node, Name: c.name}
		if err := readValue(&o, c.text); err != nil || o.Value != c.value || o.Text != c.as {
			t.Errorf("%s=%s: %d %q, %v; want %d %q", c.name, c.text, o.Value, o.Text, err, c.value, c.as)
		}
		if got := valueText(o); got != c.shown {
			t.Errorf("%s=%s is shown as %q; want %q", c.name, c.text, got, c.shown)
		}
	}
}

func TestReadValueRefuses(t *testing.T) {
	for _, c := range []struct{ node, name, text string }{
		{"tenant/acme", "rpm", ""}, {"tenant/acme", "rpm", "0"}, {"tenant/acme", "rpm", "-3"}, {"tenant/acme", "rpm", "1.5"},
		{"tenant/acme", "rpm", "1,5k"}, {"tenant/acme", "input_tpm", "1,5M"}, {"tenant/acme", "rpm", "10,00"}, {"tenant/acme", "rpm", "1.0001"}, {"tenant/acme", "usd_per_day", "12,50"},
		{"tenant/acme", "rpm", "NaN"}, {"tenant/acme", "rpm", "Inf"}, {"tenant/acme", "rpm", "1e30"}, {"tenant/acme", "rpm", "many"},
		{"tenant/acme", "usd_per_day", "$0"}, {"tenant/acme", "usd_per_day", "0.0000001"},
		{"class/bulk", "cap", "10"}, {"class/bulk", "cap", "101%"}, {"class/bulk", "cap", "-1%"}, {"class/bulk", "cap", "NaN"},
		{"weights", "priority/high", "much"},
	} {
		o := limiter.Override{Node: c.node, Name: c.name}
		if err := readValue(&o, c.text); err == nil || !strings.HasPrefix(err.Error(), c.name+"=") {
			t.Errorf("%s %s=%s: %+v, %v; want an error that names it", c.node, c.name, c.text, o, err)
		}
	}
}

func TestQuotaTarget(t *testing.T) {
	l := &loaded{Config: Config{Gemini: GeminiConfig{Project: "p", Region: "global"},
		Models: map[string]ModelConfig{"gemini-3.5-flash": {LimitConfig: LimitConfig{RPM: 60}, Aliases: []string{"flash"}}},
		Nodes:  map[string]NodeConfig{"tenant/*": {LimitConfig: LimitConfig{RPM: 6}}}}}
	known := l.limiterConfig()
	for name, want := range map[string]string{
		"gemini-3.5-flash": "gemini/p/global/gemini-3.5-flash", "FLASH": "gemini/p/global/gemini-3.5-flash",
		"gemini/p/global/gemini-3.5-flash": "gemini/p/global/gemini-3.5-flash",
		"tenant/acme":                      "tenant/acme", "tenant/*": "tenant/*", "class/bulk": "class/bulk", "weights": "weights",
	} {
		if got, err := l.quotaTarget(name, known); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	for name, hint := range map[string]string{
		"bulk": "did you mean class/bulk?", "class/bluk": "did you mean class/bulk?", "tennant/acme": "did you mean tenant/acme?",
		"gemini-3.5-flsh": "did you mean gemini-3.5-flash?", "nonsense": "known are gemini-3.5-flash, tenant/*, class/interactive",
		"tenant/" + strings.Repeat("x", tenants.LongestName+1): "has at most 64 bytes",
	} {
		if _, err := l.quotaTarget(name, known); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v; want %q", name, err, hint)
		}
	}
	for name, hint := range map[string]string{"rmp": "did you mean rpm?", "inputtpm": "did you mean input_tpm?", "x": "tenant/acme has rpm"} {
		if err := quotaName("tenant/acme", name); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v; want %q", name, err, hint)
		}
	}
}
