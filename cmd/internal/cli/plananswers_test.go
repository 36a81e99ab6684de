package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlanOfAResultsFile: without a shared Redis, rows whose answers in the results file
// were made from something else are stale, in the file that run would name and in that of
// -o; forced, too.
func TestPlanOfAResultsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	conf := write("nightshift.yaml", "gemini: {api: simulated}\nstate_dir: "+dir+"/state\nmodels: {m: {rpm: 600}}\nrun: {model: m}\n")
	input := write("r.csv", "id,w\na,x\nb,y\n")
	command := func(args ...string) string {
		t.Helper()
		var out, told bytes.Buffer
		root := newRootCmd(&streams{In: strings.NewReader(""), Out: &out, Err: io.Writer(&told)})
		root.SetArgs(append(args, "--prompt", "say {{.w}}", "--config", conf))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, told.String())
		}
		return out.String()
	}
	plan := func(args ...string) (s planStand) {
		t.Helper()
		var r planReport
		if err := json.Unmarshal([]byte(command(append([]string{"plan", input, "--output", "json"}, args...)...)), &r); err != nil {
			t.Fatal(err)
		}
		return *r.Stand
	}
	other := filepath.Join(dir, "other.csv")
	command("run", input)
	command("run", input, "-o", other)
	if s := plan(); s.Same != 2 || s.asked() != 0 {
		t.Errorf("nothing changed: %+v", s)
	}
	write("r.csv", "id,w\na,x\nb,changed\nc,new\n")
	for _, args := range [][]string{nil, {"-o", other}, {"--force"}} {
		if s := plan(args...); s.Stale != 1 || s.Same != 1 || s.New != 1 || s.Again != 0 || s.Why != "the rows' fields" || !strings.Contains(s.File, ".jsonl") {
			t.Errorf("%v: %+v", args, s)
		}
	}
	if s := plan("-o", filepath.Join(dir, "fresh.jsonl")); s.Stale != 0 || s.Same != 1 || s.New != 2 {
		t.Errorf("of a file that is not there: %+v", s)
	}
	if out := command("plan", input); !strings.Contains(out, "made otherwise (the rows' fields); nightshift run --update makes those again") {
		t.Error(out)
	}
}
