package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/limiter/gemini/geminitest"
)

// TestRunSurvivesSIGKILL: a run of 500 rows is killed at about half and started
// again. The server is asked for each row once, and again only for what was in
// flight at the kill; every row is in the results, once.
func TestRunSurvivesSIGKILL(t *testing.T) {
	t.Parallel()
	const rows, slots = 500, 32
	dir := t.TempDir()
	sim := geminitest.MustNew(geminitest.Config{Latency: geminitest.Latency{Base: 150 * time.Millisecond}})
	web := httptest.NewServer(sim)
	t.Cleanup(web.Close)
	write(t, filepath.Join(dir, "nightshift.yaml"), "models:\n  gemini-3.5-flash: {rpm: 100000, input_tpm: 100000000}\n")
	var input strings.Builder
	input.WriteString("id,name\n")
	for i := range rows {
		fmt.Fprintf(&input, "r%03d,thing %d\n", i, i)
	}
	write(t, filepath.Join(dir, "rows.csv"), input.String())

	first := nightshift(t, dir, "run", "rows.csv", "--prompt", "Name {{.name}} (id: {{.id}})", "--model", "gemini-3.5-flash",
		"-o", "out.jsonl", "--gemini", web.URL, "--state-dir", "state")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); lines(filepath.Join(dir, "out.jsonl")) < rows/2; {
		if time.Now().After(deadline) {
			t.Fatal("the first run gets nowhere")
		}
		<-time.After(5 * time.Millisecond)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if n := lines(filepath.Join(dir, "out.jsonl")); n >= rows {
		t.Fatalf("the kill came too late: %d lines", n)
	}

	second := nightshift(t, dir, first.Args[1:]...)
	if out, err := second.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if calls := sim.Count(); calls > rows+slots {
		t.Errorf("%d calls for %d rows and %d in flight at the kill", calls, rows, slots)
	}
	checkComplete(t, filepath.Join(dir, "out.jsonl"), rows)
}

// nightshift is this test binary as the command (see TestMain).
func nightshift(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"nightshift"}, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GEMINI_API_KEY=test-key", "HOME="+dir)
	return cmd
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lines(path string) int {
	b, _ := os.ReadFile(path) // not there yet: none
	return strings.Count(string(b), "\n")
}

// checkComplete wants each row in the file once, with a good answer.
func checkComplete(t *testing.T, path string, rows int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var r struct{ ID, Status string }
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, s.Text())
		}
		if seen[r.ID]++; r.Status != "done" || seen[r.ID] > 1 {
			t.Errorf("%s is %s, line %d of it", r.ID, r.Status, seen[r.ID])
		}
	}
	if len(seen) != rows {
		t.Errorf("%d rows in the results, want %d", len(seen), rows)
	}
}
