package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const degradeModels = `
models:
  flash: {rpm: 100, aliases: [flash-latest]}
  lite: {rpm: 100}
  short: {rpm: 100, context_tokens: 1000}
features: [chat, search, bulk]
`

// degradeFolder has the files that rules name, and is where the test is.
func degradeFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"busy.txt": "We are busy.", "empty.txt": " \n", "busy.json": `{"answer": "busy"}`, "cut.json": `{"answer":`,
		"light.tmpl": "No answer to {{cut 20 .Text}} now", "broken.tmpl": "{{if .Text}}", "unknown.tmpl": "{{.Nobody}}",
		"big.txt": strings.Repeat("x", mostCanned+1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func loadDegrade(t *testing.T, degrade string) (*loaded, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), configName)
	if err := os.WriteFile(path, []byte(degradeModels+"degrade:\n"+degrade), 0o600); err != nil {
		t.Fatal(err)
	}
	return loadConfig(path, nil, nil)
}

// TestDegradeIsCheckedAtLoad: what cannot work is named by its key, with what to do.
func TestDegradeIsCheckedAtLoad(t *testing.T) {
	degradeFolder(t)
	const rules = "  rules:\n    - {class: interactive, try: [model]}\n"
	for degrade, want := range map[string]string{
		"  rules: [{try: [canned], canned: busy.txt}]":                                                                                           "degrade.rules[0].class: \"\"; want interactive",
		"  rules: [{class: vip, try: [canned], canned: busy.txt}]":                                                                               "degrade.rules[0].class: \"vip\"",
		"  rules: [{class: interactive, feature: chta, try: [canned], canned: busy.txt}]":                                                        "degrade.rules[0].feature: unknown feature \"chta\"",
		"  rules: [{class: interactive, on: [spent], try: [canned], canned: busy.txt}]":                                                          "degrade.rules[0].on: \"spent\" is no cause; want some of quota",
		"  rules: [{class: interactive}]":                                                                                                        "degrade.rules[0].try: nothing",
		"  rules: [{class: interactive, try: [guess]}]":                                                                                          "degrade.rules[0].try: \"guess\"",
		"  rules: [{class: interactive, try: [canned, canned], canned: busy.txt}]":                                                               "degrade.rules[0].try: canned stands there twice",
		"  rules: [{class: interactive, try: [canned]}]":                                                                                         "degrade.rules[0].canned: try says canned",
		"  rules: [{class: interactive, try: [canned], canned: none.txt}]":                                                                       "degrade.rules[0].canned: no file none.txt",
		"  rules: [{class: interactive, try: [canned], canned: empty.txt}]":                                                                      "degrade.rules[0].canned: try says canned, and there is no text",
		"  rules: [{class: interactive, try: [canned], canned: cut.json}]":                                                                       "degrade.rules[0].canned: cut.json is no whole JSON",
		"  rules: [{class: interactive, try: [canned], canned: big.txt}]":                                                                        "degrade.rules[0].canned: big.txt has 262145 bytes",
		"  rules: [{class: interactive, try: [light]}]":                                                                                          "degrade.rules[0].light: try says light",
		"  rules: [{class: interactive, try: [light], light: none.tmpl}]":                                                                        "degrade.rules[0].light: no file none.tmpl",
		"  rules: [{class: interactive, try: [light], light: broken.tmpl}]":                                                                      "degrade.rules[0].light: template: broken.tmpl",
		"  rules: [{class: interactive, try: [light], light: unknown.tmpl}]":                                                                     "degrade.rules[0].light: template: unknown.tmpl",
		"  rules: [{class: interactive, try: [cached]}]":                                                                                         "degrade.rules[0].try: cached, and no answers are kept",
		"  rules: [{class: interactive, try: [model]}]":                                                                                          "degrade.rules[0].try: model, and no pair",
		"  rules: [{class: bulk, try: [canned], canned: busy.txt}]":                                                                              "degrade.rules[0].try: class bulk waits for its quota",
		"  rules: [{class: interactive, try: [canned], canned: busy.txt}, {class: interactive, feature: chat, try: [canned], canned: busy.txt}]": "degrade.rules[1]: never applies: rules[0] fits all",
		"  cache: {ttl: 1h}":                                                                                            "degrade.cache: there are no rules",
		"  models: [{from: flash, to: lite}]":                                                                           "degrade.models[0].compatible: want residency",
		rules + "  models: [{from: flash, to: lite}]":                                                                   "degrade.models[0].compatible: want residency",
		rules + "  models: [{from: flash, to: nothing, compatible: [residency]}]":                                       "degrade.models[0].to: \"nothing\" is not configured",
		rules + "  models: [{from: nothing, to: lite, compatible: [residency]}]":                                        "degrade.models[0].from: \"nothing\" is not configured",
		rules + "  models: [{from: flash, to: flash-latest, compatible: [residency]}]":                                  "degrade.models[0].to: flash and flash-latest are one model",
		rules + "  models: [{from: flash, to: short, compatible: [residency]}]":                                         "degrade.models[0].compatible: short takes 1000 tokens and flash takes 1048576",
		rules + "  models: [{from: flash, to: lite, compatible: [residency, speed]}]":                                   "degrade.models[0].compatible: \"speed\"",
		rules + "  models: [{from: flash, to: lite, compatible: [residency], thinking_budget: -7}]":                     "degrade.models[0].thinking_budget: -7",
		rules + "  models: [{from: flash, to: lite, compatible: [residency], thinking_budget: 0, thinking_level: low}]": "degrade.models[0].thinking_level: a model takes a budget or a level",
		"  rules: [{class: interactive, try: [canned], canned: busy.txt}]\n  cache: {ttl: 1ms}":                         "degrade.cache.ttl: 1ms; want at least 1s",
		"  rules: [{class: interactive, try: [canned], canned: busy.txt}]\n  cache: {max_bytes: 1GB}":                   "degrade.cache.ttl: absent, so nothing is kept",
		"  rules: [{class: interactive, try: [canned], canned: busy.txt}]\n  cache: {ttl: 1h, max_bytes: some}":         "degrade.cache.max_bytes: \"some\"",
		"  rules: [{class: interactive, try: [canned], canned: busy.txt}]\n  cache: {ttl: 1h, max_bytes: 1KB}":          "degrade.cache.max_bytes: \"1KB\"",
	} {
		if _, err := loadDegrade(t, degrade); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", degrade, err, want)
		}
	}
}

// TestDegradeAsItIsMeant: a whole section is taken, and refusals of its classes
// say that there is another way.
func TestDegradeAsItIsMeant(t *testing.T) {
	degradeFolder(t)
	c, err := loadDegrade(t, `
  rules:
    - {class: interactive, feature: chat, on: [spend, soft_spend], try: [cached, canned], canned: busy.json}
    - {class: interactive, try: [cached, light, model, canned], light: light.tmpl, canned: busy.txt}
    - {class: bulk, try: [model]}
  models:
    - {from: flash-latest, to: lite, compatible: [residency, tools, schema], thinking_budget: 0, drop: [logprobs]}
    - {from: flash, to: short, compatible: [residency, context]}
  cache: {ttl: 1h, max_bytes: 64MB}
`)
	if err != nil {
		t.Fatal(err)
	}
	var ways []string
	for _, k := range c.classTable() {
		ways = append(ways, k.Fallback)
	}
	if got, want := strings.Join(ways, "|"), "cached, canned|||model||"; got != want {
		t.Errorf("ways %q, want %q", got, want)
	}
	o, err := c.Degrade.Cache.options()
	if err != nil || o.MaxBytes != 64_000_000 || o.TTL.Hours() != 1 {
		t.Errorf("cache %+v, %v", o, err)
	}
}
