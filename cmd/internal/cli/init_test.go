package cli

import (
	"bytes"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestInitExplainsEveryKey: what a run, its workers, its records and its money may be
// told by the configuration stands in the file that init prints, and can be taken in
// by removing the comment sign.
func TestInitExplainsEveryKey(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := runInit(&initOptions{factory: &factory{streams: &streams{Out: &out}}, RPD: -1, Stdout: true}); err != nil {
		t.Fatal(err)
	}
	for name, section := range map[string]any{
		"run": &RunConfig{}, "worker": &WorkerConfig{}, "spend": &SpendConfig{}, "ramps": &RampsConfig{},
		"metrics": &ListenConfig{},
	} {
		text := initSection(out.String(), name)
		if err := yaml.UnmarshalWithOptions([]byte(text), section, yaml.Strict()); err != nil {
			t.Errorf("%s: %v in\n%s", name, err, text)
		}
		for v, i := reflect.ValueOf(section).Elem(), 0; i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s is not explained", name, v.Type().Field(i).Tag.Get("yaml"))
			}
		}
	}
}

var commentedKey = regexp.MustCompile(`^(# )? +(# )?([a-z0-9_]+: .*)`)

// initSection is what stands under a top-level key, as if nothing were commented.
func initSection(file, name string) string {
	var lines []string
	in := false
	for line := range strings.Lines(file) {
		if m := commentedKey.FindStringSubmatch(line); in && m != nil {
			lines = append(lines, m[3])
		} else if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "#  ") {
			in = strings.TrimPrefix(strings.TrimSpace(line), "# ") == name+":"
		}
	}
	return strings.Join(lines, "\n")
}
