package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestNothingEmpty: what a shell variable that is not set leaves behind is refused by
// every command, before anything is done.
func TestNothingEmpty(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"plan  -t x":             "an argument is empty",
		"enqueue x --deadline=":  "--deadline is empty",
		"retry night --only=":    "--only is empty",
		"set night --halt=":      "--halt is empty",
		"pause bulk --until=":    "--until is empty",
		"quota show --redis=":    "--redis is empty",
		"run x --service-tier= ": "an argument is empty",
	} {
		var out, errOut bytes.Buffer
		if code := Main(strings.Split(line, " "), strings.NewReader(""), &out, &errOut); code != exitUsage || !strings.Contains(errOut.String(), want) {
			t.Errorf("%q: exit %d, %s; want %d and %q", line, code, errOut.String(), exitUsage, want)
		}
	}
}
