package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"nightshift/limiter"
)

// FuzzConfig: what is refused is named by its key or its place, each time the same; what is
// taken says the same when it is written from what is in force and read again, and each limit that it
// has is one.
func FuzzConfig(f *testing.F) {
	const m = "models: {m: {rpm: 60}}\n"
	for _, text := range []string{
		"", m, string(initSeed(f)), "redis: redis://u:p@h:1/2\n" + m, "models: {m: {rpm: -1, input_tpm: -1, rpd: -1}}", "models: {m: {usd_per_day: 1e300, rpm: 1}}",
		"models: {m: {usd_per_day: 1e-9, rpm: 1}}", "spend: {usd_per_month: 0.0000001}\n" + m, m + "nodes: {tenant/a: {usd_total: 0.5}, 'tenant/*': {rpm: 5, shadow: [rpm]}}",
		m + "classes: {bulk: {cap: .nan, floor: 2, trickle: -1}, interactive: {max_wait: 300ms, output_quantile: 0.9}}", m + "windows: {bulk: '22:00-07:00@100%, else @10%'}\nwindow_ramp: 0s",
		m + "routes: {x: m}\nmoves: [{from: m, to: m}]", m + "schedules: [{name: a, cron: '0 22 * * *'}]", m + "hooks: [{url: 'http://x/', on: [done]}]\nalerts: {webhook: 'https://x/y?token=z'}",
		m + "gateway: {listen: ':8484', path_prefix: /a, leave: 0s}\ndashboard: {listen: 127.0.0.1:1, token: t}\nmetrics: {listen: '127.0.0.1:9100-9110'}", "a.b: 1", "models: {a.b: {rpm: 1, aliases: [A.B]}}", "models: 3", "reuse: off\nretention: {}\n" + m, "[", "run: {halt: 'fail=20%/200'}", "time_zone: Local", "weights: {priority/high: 0}\n" + m,
	} {
		f.Add([]byte(text))
	}
	file := filepath.Join(f.TempDir(), "nightshift.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), "/dev") || strings.Contains(string(text), "prices") {
			return // other files
		}
		l, err := loadFile(t, file, text)
		if err != nil {
			refusedConfig(t, file, text, err)
			return
		}
		again, err := yaml.Marshal(l.k.Raw())
		if err != nil {
			t.Fatal(err)
		}
		same, err := loadFile(t, file, again)
		if err != nil {
			t.Fatalf("%q is taken, and as %q it is not: %v", text, again, err)
		}
		if !reflect.DeepEqual(l.Config, same.Config) {
			t.Errorf("%q\n%+v\n%q\n%+v", text, l.Config, again, same.Config)
		}
		for key := range l.Sources {
			limited(t, l, key)
		}
	})
}

func initSeed(f *testing.F) []byte {
	b, err := os.ReadFile("../../nightshift/examples/nightshift.yaml")
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// loadFile loads a file that has the text.
func loadFile(t *testing.T, file string, text []byte) (*loaded, error) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return loadConfig(file, nil, nil)
}

// placed is the parser's place, line and column.
var placed = regexp.MustCompile(`\[\d+:\d+\]`)

func refusedConfig(t *testing.T, file string, text []byte, err error) {
	t.Helper()
	said := err.Error()
	if placed.MatchString(said) {
		return // the parser's: of several unknown keys it names any
	}
	for range 3 {
		if _, again := loadFile(t, file, text); again == nil || again.Error() != said {
			t.Fatalf("%q: %s\nand then: %v", text, said, again)
		}
	}
	for i := range reflect.TypeFor[Config]().NumField() {
		if name, _, _ := strings.Cut(reflect.TypeFor[Config]().Field(i).Tag.Get("yaml"), ","); regexp.MustCompile(`\b` + name + `\b`).MatchString(said) {
			return
		}
	}
	t.Errorf("%q names no key: %s", text, said)
}

// limited wants a limit that is written to be one.
func limited(t *testing.T, l *loaded, key string) {
	t.Helper()
	parts := strings.SplitN(key, ".", 2)
	name := key[strings.LastIndex(key, ".")+1:]
	var limits limiter.Limits
	switch parts[0] {
	case "models":
		limits = l.Models[strings.TrimSuffix(parts[1], "."+name)].limits()
	case "nodes":
		limits = l.Nodes[strings.TrimSuffix(parts[1], "."+name)].limits()
	case "spend":
		limits = l.Spend.limits()
	default:
		return
	}
	for _, n := range limiter.LimitNames() {
		if n == name && limits.Get(name) < 1 {
			t.Errorf("%s: %v limits nothing", key, l.value(key))
		}
	}
}
