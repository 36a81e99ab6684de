package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/limiter/gemini"
)

// configOf reads a file with these lines beside two models.
func configOf(t *testing.T, lines string) (*loaded, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), configName)
	text := "models:\n  gemini-2.5-flash: {rpm: 10}\n  gemini-3.5-flash: {rpm: 10}\n" + lines
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return loadConfig(file, nil, nil)
}

// TestRoutesThatCannotBe are refused with the key that is wrong.
func TestRoutesThatCannotBe(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"routes: {a: b, b: a}":                         "routes.a: goes round in a circle: a → b → a",
		"routes: {fast: gemini-9}":                     `routes.fast: "gemini-9" is not configured`,
		"routes: {gemini-2.5-flash: gemini-3.5-flash}": "routes.gemini-2.5-flash: gemini-2.5-flash is a model's own name",
		"moves: [{scope: feature/chat, from: gemini-2.5-flash, to: gemini-2.5-flash}]":                   "moves[0].to: gemini-2.5-flash is the model that the calls are for already: want another one",
		"moves: [{scope: chat, from: gemini-2.5-flash, to: gemini-3.5-flash}]":                           `moves[0].scope: "chat": want feature/NAME`,
		"features: [bulk]\nmoves: [{scope: feature/chta, from: gemini-2.5-flash, to: gemini-3.5-flash}]": `moves[0].scope: unknown feature "chta"`,
		"ramps: {samples: 0}":    "ramps.samples: must be above zero",
		"ramps: {slower: 0.9}":   "ramps.slower: must be above 1",
		"ramps: {refused: 1.5}":  "ramps.refused: want more than 0",
		"ramps: {back: 1}":       "ramps.back: must be more than bad",
		"ramps: {every: 1h}":     "ramps.every: want 500ms to 10s",
		"ramps: {p95: 0s}":       "ramps.p95: must be above zero",
		"ramps: {evry: 2s}":      "evry",
		"routes: [fast]":         "routes",
		"moves: [{scoop: chat}]": "scoop",
	} {
		if _, err := configOf(t, lines+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v, want %s", lines, err, want)
		}
	}
}

// TestRampLimitsOfAFeature: a ramp takes what health says of its feature, where ramps
// does not say otherwise.
func TestRampLimitsOfAFeature(t *testing.T) {
	t.Parallel()
	c, err := configOf(t, "health: {p95: 3s, refused_ratio: 0.02, features: {chat: {p95: 1s}}}\nramps: {first_token: 800ms, slower: 2}\n")
	if err != nil {
		t.Fatal(err)
	}
	all := c.rampRules().Limits
	if all.P95 != 3*time.Second || all.RefusedPPM != 20_000 || all.FirstToken != 800*time.Millisecond || all.SlowerPPM != 2_000_000 {
		t.Errorf("of all ramps: %+v", all)
	}
	own := c.rampLimits(gemini.RampScope{Kind: "feature", Name: "chat"})
	if own.P95 != time.Second || own.FirstToken != 0 {
		t.Errorf("of chat: %+v", own)
	}
	if other := c.rampLimits(gemini.RampScope{Kind: "tenant", Name: "chat"}); other != (gemini.RampLimits{}) {
		t.Errorf("of a tenant of that name: %+v", other)
	}
}

func TestReadSteps(t *testing.T) {
	t.Parallel()
	got, err := readSteps("0.5%, 25%,1")
	if err != nil || len(got) != 3 || got[0] != 5_000 || got[1] != 250_000 || got[2] != ppm {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "5%", "50%,25%,100%", "0%,100%", "5%,,100%", "150%", "a"} {
		if got, err := readSteps(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

func TestReadLimits(t *testing.T) {
	t.Parallel()
	got, err := readLimits([]string{"p95=4s", "refused=2%", "slower=1.5", "samples=50", "first_token=800ms", "failed=0.03", "degraded=1%", "least=3"})
	want := gemini.RampLimits{P95: 4 * time.Second, RefusedPPM: 20_000, SlowerPPM: 1_500_000, Samples: 50, FirstToken: 800 * time.Millisecond, FailedPPM: 30_000, DegradedPPM: 10_000, Least: 3}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"p95", "p95=", "p95=-1s", "refused=0", "refused=100%", "slower=1", "slower=NaN", "samples=0", "samples=x", "speed=2"} {
		if got, err := readLimits([]string{bad}); err == nil || !strings.Contains(err.Error(), "--hold-over "+bad) {
			t.Errorf("%q is read as %+v, %v", bad, got, err)
		}
	}
}

// TestRunOfAnAlias: a run names the model behind it.
func TestRunOfAnAlias(t *testing.T) {
	t.Parallel()
	c, err := configOf(t, "routes: {fast: quick, quick: gemini-3.5-flash}\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"fast": "gemini-3.5-flash", "models/Fast": "gemini-3.5-flash", "gemini-2.5-flash": "gemini-2.5-flash", "": ""} {
		if got := c.realModel(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
