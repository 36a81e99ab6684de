package jobs

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzTemplate: a text without actions is itself; what is refused names the template in
// one short message; and what is rendered is text, the same each time, with nothing in it
// that text/template or fmt writes for want of a value.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		"Name {{.a}}: {{.b}}", "{{range .l}}{{.}} {{end}}", "{{.a | upper | truncate 2}}", "{{index .l 1}} {{index .o \"k\"}}", "{{printf \"%d %s\" .n .a}}", "{{printf \"%!d\" .a}}", "{{if eq .n 1}}x{{end}}",
		"{{.missing}}", "{{get . \"missing\"}}{{has . \"a\"}}", "{{", "}}", "{{define \"x\"}}{{end}}{{template \"y\"}}", "{{json .}}", "{{indent 1001 .a}}", "{{.a.b}}", "{{len .l}} {{slice .a 1}}", "{{html .a}}{{js .a}}{{urlquery .a}}",
		"{{join \", \" .l}} {{split \",\" .a}}", "{{default \"d\" .z}}", "{{$x := .a}}{{$x}}", "{{/* c */}}", "{{nil}}", "{{and .a .n}}{{not .z}}", "{{print .z nil}}", "{{call .a}}", "{{index . \"a\" 0}}", "{{range $i, $v := .o}}{{$i}}={{$v}}{{else}}{{end}}", "{{with .z}}{{.}}{{end}}", "{{break}}",
	} {
		f.Add(text, "é\U0001F468\u200d\U0001F469", 12)
	}
	f.Fuzz(func(t *testing.T, text, a string, n int) {
		if !utf8.ValidString(a) || strings.Contains(text, "range") && strings.Count(text, "{{") > 6 || strings.Contains(text, "template") && strings.Contains(text, "define") {
			return // no text; or a loop in a loop, or a template of itself, as long as anybody likes
		}
		row := map[string]any{"a": a, "b": "", "n": n, "z": nil, "l": []any{a, n, true}, "o": map[string]any{"k": a}}
		fields, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := Compile(specOf(text))
		if err != nil {
			saysTemplate(t, text, err)
			return
		}
		r, err := tmpl.Render(fields)
		if err != nil {
			saysTemplate(t, text, err)
			return
		}
		if !strings.Contains(text, "{{") && r.Prompt != text {
			t.Errorf("%q is rendered %q", text, r.Prompt)
		}
		again, err := tmpl.Render(fields)
		if err != nil || again.Prompt != r.Prompt || tmpl.Key(&again) != tmpl.Key(&r) {
			t.Errorf("%q is rendered %q, then %q, %v", text, r.Prompt, again.Prompt, err)
		}
		for _, mark := range []string{"<no value>", "%!d(", "%!s(", "%!(EXTRA"} {
			if strings.Contains(r.Prompt, mark) && !strings.ContainsAny(text+a, "<%") {
				t.Errorf("%q is rendered %q", text, r.Prompt)
			}
		}
	})
}

func saysTemplate(t *testing.T, text string, err error) {
	t.Helper()
	said := err.Error()
	if !strings.HasPrefix(said, "template") || len(said) > 1000+4*len(text) || strings.Contains(said, "template: t:") {
		t.Errorf("%q: %s", text, said)
	}
}

// FuzzTruncate: the beginning of a text, of so many characters at most, that does not end
// before what belongs to its last one; a text that was cut stays as it is.
func FuzzTruncate(f *testing.F) {
	f.Add("e\u0301e\u0301", 1)
	f.Add("\U0001F468\u200d\U0001F469 \U0001F1E9\U0001F1EA\U0001F1EB", 4)
	f.Add("a\r\nb", 2)
	f.Add("\u0301", -1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if !utf8.ValidString(s) {
			return
		}
		got := truncate(s, n)
		if !strings.HasPrefix(s, got) || utf8.RuneCountInString(got) > max(n, 0) {
			t.Errorf("%q to %d is %q", s, n, got)
		}
		if again := truncate(got, n); again != got {
			t.Errorf("%q to %d is %q, then %q", s, n, got, again)
		}
		if next, _ := utf8.DecodeRuneInString(s[len(got):]); got != "" && len(got) < len(s) && unicode.Is(unicode.Mn, next) {
			t.Errorf("%q to %d is %q: %q belongs to it", s, n, got, next)
		}
	})
}
