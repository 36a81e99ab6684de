package jobs

import (
	"strings"
	"testing"
)

// TestDifferences: each part of a spec that decides answers is named as a reason.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Spec){
		"turns":        func(s *Spec) { s.Turns = []TurnTemplate{{}} },
		"outputs":      func(s *Spec) { s.Outputs = []Output{{Name: "title", Template: "x"}} },
		"batch format": func(s *Spec) { s.Lines = LinesGemini },
		"":             func(s *Spec) { s.Halt = "off" },
	} {
		was := specOf("say x")
		is := was
		change(&is)
		if got := strings.Join(differences(was, is), " "); got != want {
			t.Errorf("differences %q, want %q", got, want)
		}
	}
}
