package jobs

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPrintfThatDoesNotFit(t *testing.T) {
	row := json.RawMessage(`{"id":"a","text":"x","n":3,"none":null,"yes":true,"tags":["x"],"user":{"a":1}}`)
	for _, tmpl := range []string{
		`{{printf "%d" .text}}`, `{{.text | printf "%s %s"}}`, `{{printf "%s" .text .n}}`, `{{printf "%d" .tags}}`,
		`{{printf "%d" .}}`, `{{printf "%d" .user}}`, `{{printf "100%"}}`, `{{printf "%!" .text}}`, `{{printf "%s" .yes}}`, `{{printf "%d" .none}}`,
	} {
		r, err := Render(specOf(tmpl), row)
		got := r.Prompt
		if err == nil || !strings.Contains(err.Error(), "template, line 1: printf ") || !strings.Contains(err.Error(), "does not fit") || strings.Contains(err.Error(), "jobs.") {
			t.Errorf("%s gave %q (%v), want an error", tmpl, got, err)
		}
	}
}

// TestPrintfOfTextWithMarks: what looks like a fault of printf may be a row's
// own text.
func TestPrintfOfTextWithMarks(t *testing.T) {
	row := json.RawMessage(`{"id":"a","text":"it printed %!d(string=x)","half":"50%","tags":["%!s(MISSING)"],"user":{"%!v":"%!d(int=1)"}}`)
	for tmpl, want := range map[string]string{
		`{{printf "<%s>" .text}}`:              "<it printed %!d(string=x)>",
		`{{printf "%[1]s %[1]s" .text}}`:       "it printed %!d(string=x) it printed %!d(string=x)",
		`{{printf "%s!d(x)" .half}}`:           "50%!d(x)",
		`{{printf "%s %v" .tags .user}}`:       `["%!s(MISSING)"] {"%!v":"%!d(int=1)"}`,
		`{{printf "%d%% of %s!" 50 "it"}}`:     "50% of it!",
		`{{.text}} {{printf "%.4s" .text}}`:    "it printed %!d(string=x) it p",
		`{{printf "%s" (printf "%v" .half)}}!`: "50%!",
	} {
		if r, err := Render(specOf(tmpl), row); err != nil || r.Prompt != want {
			t.Errorf("%s\n got  %q (%v)\n want %q", tmpl, r.Prompt, err, want)
		}
	}
}
