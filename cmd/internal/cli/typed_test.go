package cli

import (
	"os/exec"
	"testing"
)

func TestShellWord(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"night", "2026-11-29", "my night", "it's", "$HOME", "a;b", "~", "*", "a\\b", "\"x\"", "日本語", "!!", "#1"} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellWord(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%s: a shell reads %q (%v)", shellWord(s), out, err)
		}
	}
	if shellWord("greet-2") != "greet-2" {
		t.Error("a plain name was quoted")
	}
}
