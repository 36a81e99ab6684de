package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagError: no flag's error names a function of a library.
func TestFlagError(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"--seed=x": "want a whole number, 0 or more", "--seed=99999999999999999999": "the number is too large, or too small",
		"--skip=maybe": "want true or false", "--part=y": "want a number", "--none=1": "unknown flag: --none",
	} {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		fs.Uint64("seed", 1, "")
		fs.Bool("skip", false, "")
		fs.Float64("part", 0, "")
		err := fs.Parse([]string{arg})
		if err == nil {
			t.Fatalf("%s is taken", arg)
		}
		if got := flagError(err).Error(); !strings.Contains(got, want) || strings.Contains(got, "strconv") {
			t.Errorf("%s: %s; want %s", arg, got, want)
		}
	}
}
