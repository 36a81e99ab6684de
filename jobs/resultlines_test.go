package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// openLines writes a file of results and opens it.
func openLines(t *testing.T, text string) (*ResultLines, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenResultLines(path)
	if err == nil {
		t.Cleanup(func() { _ = l.Close() })
	}
	return l, err
}

func allLines(t *testing.T, l *ResultLines) string {
	t.Helper()
	var b strings.Builder
	if err := l.Each(func(line []byte) error { b.Write(append(line, '\n')); return nil }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestResultLines: of a row that was made twice the last line counts, a torn last line
// does not, and the lines come in the order of the input.
func TestResultLines(t *testing.T) {
	t.Parallel()
	const (
		b1   = `{"id":"b","status":"failed","fields":{"id":"b"}}` + "\n"
		gone = `{"id":"gone","status":"done","fields":{"id":"gone"}}` + "\n"
		a    = `{"id":"a","status":"done","fields":{"id":"a"}}` + "\n"
		b2   = `{"id":"b","status":"done","fields":{"id":"b"}}` + "\r\n"
	)
	l, err := openLines(t, b1+"\n"+gone+b2+a+`{"id":"c","sta`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := allLines(t, l), gone+strings.ReplaceAll(b2, "\r", "")+a; got != want || !l.Torn || l.KeepID {
		t.Errorf("torn %v, keep %v:\n%swant\n%s", l.Torn, l.KeepID, got, want)
	}
	p, err := Prepare(t.Context(), Input{Path: file(t, "in.csv", []byte("id\na\nb\n"))}, specOf("say x"), PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := l.Arrange(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got, want := allLines(t, l), a+strings.ReplaceAll(b2, "\r", "")+gone; got != want {
		t.Errorf("arranged:\n%swant\n%s", got, want)
	}
	for text, want := range map[string]string{
		"id,name\na,b\n": "line 1 is not a result", a + "{}\n" + b1: "line 2 is not a result", `{"id":"a"`: "line 1 is not a result",
	} {
		if _, err := openLines(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if l, err := openLines(t, strings.TrimSuffix(a, "\n")); err != nil || l.Torn || allLines(t, l) != a {
		t.Errorf("a whole line without its line feed: %v", err)
	}
	if l, err := openLines(t, `{"id":"17","status":"done","fields":{"id":17}}`); err != nil || l.KeepID {
		t.Errorf("a number as id: %v", err)
	}
	if l, err := openLines(t, a+`{"id":"x","status":"done","fields":{"name":"x"}}`); err != nil || !l.KeepID {
		t.Errorf("an id that is no field: %v", err)
	}
}

func TestResultLinesJoin(t *testing.T) {
	t.Parallel()
	line := func(id, own string) string {
		return `{"id":"` + id + `","status":"done","fields":{"id":"` + own + `"}}` + "\n"
	}
	l, err := openLines(t, line("x/y/title", "x/y")+line("b/text", "b")+line("x/y/text", "x/y"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Join()
	if err != nil || strings.Join(j.Outputs, " ") != "text title" || l.KeepID {
		t.Fatalf("%+v, keep %v (%v)", j, l.KeepID, err)
	}
	if got, want := allLines(t, l), line("x/y/title", "x/y")+line("x/y/text", "x/y")+line("b/text", "b"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for text, want := range map[string]string{
		line("a/text", "a") + line("b", "b"):    "row b has one output",
		line("a/1", "a/1") + line("b/2", "b/2"): "no two rows have the same output",
	} {
		l, err := openLines(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Join(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
