package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// TestEveryDecisionIsExplained: whatever kind of event the page shows, it says what that
// means, in the words of commands that there are.
func TestEveryDecisionIsExplained(t *testing.T) {
	t.Parallel()
	root := newRootCmd(&streams{})
	for _, kind := range eventKinds {
		v := eventView(limiter.Event{Kind: kind, At: time.Now(), Text: "x"})
		if !strings.HasSuffix(v.Why, ".") {
			t.Errorf("%s means %q", kind, v.Why)
		}
		for _, words := range strings.Split(v.Why, "nightshift ")[1:] {
			names := strings.FieldsFunc(words, func(r rune) bool { return strings.ContainsRune(" ;,.", r) })
			cmd, _, err := root.Find(names[:min(len(names), 2)])
			if err != nil || cmd.HasSubCommands() && !cmd.Runnable() {
				t.Errorf("%s: there is no %q: %v", kind, words, err)
			}
		}
	}
}
