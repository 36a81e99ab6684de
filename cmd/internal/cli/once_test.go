package cli

import (
	"errors"
	"strings"
	"testing"
)

// TestFlagsTwice: a flag that takes one value refuses another one by name, whichever
// command has it; the same again is taken, and lists take all.
func TestFlagsTwice(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"enqueue --deadline 07:00 --deadline 08:00":     `invalid argument "08:00" for "--deadline" flag: it was given as 07:00 before: give it once`,
		"sample -n 3 --number 4":                        `invalid argument "4" for "-n, --number" flag: it was given as 3 before: give it once`,
		"quota show --redis redis://a --redis embedded": `"--redis" flag: it was given as redis://a before`,
		"plan --force --force=false":                    `"--force" flag: it was given as true before`,
		"plan --max-wait 1h --max-wait 60m":             "",
		"plan --matrix a=1,2 --matrix b=3,4":            "",
		"retry --only schema --only safety":             "",
	} {
		root := newRootCmd(&streams{})
		cmd, flags, err := root.Find(strings.Fields(args))
		if err == nil {
			err = cmd.ParseFlags(flags)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	root := newRootCmd(&streams{})
	root.SetArgs([]string{"plan", "--name", "a", "--name", "b", "x.csv"})
	var usage *usageError
	if err := root.ExecuteContext(t.Context()); !errors.As(err, &usage) {
		t.Errorf("%v, want a usage error", err)
	}
}
