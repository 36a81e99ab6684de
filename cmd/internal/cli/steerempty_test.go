package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestDeadlineTooSoon: one that ends all rows at once is refused.
func TestDeadlineTooSoon(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := &loaded{Config: Config{TimeZone: "UTC"}}
	for text, ok := range map[string]bool{"5ms": false, "9s": false, "10s": true, "8h": true, "none": true} {
		var s jobs.Spec
		if err := readDeadline(c, &s, text, now); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestEmptyFlags: an empty value, as of an unset variable, changes nothing.
func TestEmptyFlags(t *testing.T) {
	f := &factory{}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"retry", "r", "--only", ""}, "--only names no cause"},
		{[]string{"retry", "r", "--only", "schema,"}, "--only names no cause"},
		{[]string{"pause", "bulk", "--until", ""}, "--until is empty"},
	} {
		cmd := newRetryCmd(f)
		if c.args[0] == "pause" {
			cmd = newPauseCmd(f)
		}
		cmd.SetArgs(c.args[1:])
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.args, err)
		}
	}
}
