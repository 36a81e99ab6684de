package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// kept reads what a benchmark printed once.
func kept(t *testing.T, name string) output {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := readOutput(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kept string
		at   place
		want float64
	}{
		{"alone", metric("BulkAlone/requests", "used"), 1.053},
		{"alone", metric("BulkAlone/requests", "429s"), 0},
		{"alone", cell("bulk alone", "reschedules a row", "measured"), 0.99},
		{"alone", cell("bulk alone", "Redis for a job", "measured").number(1), 6.6},
		{"enqueue", metric("Enqueue", "ratio"), 3.025},
		{"spike", cell("people within a second", "100 people", "measured").number(2), 0},
		{"spike", cell("people within a second", "300 people", "measured").number(2), 52.3},
		{"peers", cell("Largest sum", "nightshift", "any window"), 1},
		{"peers", cell("Largest sum", "redis_rate", "any window"), 1.998},
		{"peers", cell("Redis's time per decision", "5 dimensions × 3 levels, 5 classes, 16 processes", "÷ redis_rate"), 17.74},
		{"peers", cell("Cost per decision where", "1 → 1,000 tenants seen", "growth"), 1.36},
		{"peers", cell("Redis memory after a day", "ticket", "bytes"), 123},
		{"errors", passes("BesideTheNaiveRule"), 1},
		{"errors", passes("ExhaustedProject"), 0},
	} {
		v, err := kept(t, c.kept).find(c.at)
		if err != nil || v != c.want {
			t.Errorf("%s in %s is %v (%v), want %v", c.at, c.kept, v, err, c.want)
		}
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, at := range []place{
		metric("BulkAlone/requests", "ratio"), metric("Gone", "used"), cell("bulk alone", "no such row", "measured"),
		cell("bulk alone", "reschedules a row", "no such column"), cell("another table", "reschedules a row", "measured"),
		cell("bulk alone", "reschedules a row", "measured").number(1), passes("Gone"),
	} {
		if v, err := kept(t, "alone").find(at); !errors.Is(err, errNotThere) {
			t.Errorf("%s is %v (%v)", at, v, err)
		}
	}
	if _, err := kept(t, "errors").find(passes("MillionAdditions")); !errors.Is(err, errNotThere) {
		t.Errorf("a test that was left out: %v", err)
	}
}

// TestRejoined: a benchmark that printed something between its name and its result.
func TestRejoined(t *testing.T) {
	t.Parallel()
	o, err := readOutput("BenchmarkX/y-8 \t\n\ntitle\n\n| | measured |\n|---|---|\n| a | **3** b 4 |\n\n       1\t         0 ns/op\t         2.5 ratio\n")
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[place]float64{metric("X/y", "ratio"): 2.5, cell("title", "a", "measured").number(1): 4} {
		if v, err := o.find(at); err != nil || v != want {
			t.Errorf("%s is %v (%v), want %v", at, v, err, want)
		}
	}
}

// TestTable has a bar of each kind: held, missed, reported, not printed any more, and of
// a command that failed.
func TestTable(t *testing.T) {
	t.Parallel()
	r := runner{from: "testdata", progress: io.Discard}
	results, err := r.measure(context.Background(), []bar{
		{fleet, "a limit is used", "alone", metric("BulkAlone/requests", "used"), atLeast(0.96)},
		{fleet, "a row comes back", "alone", cell("bulk alone", "reschedules a row", "measured"), atMost(0.5)},
		{rows, "rows a second", "enqueue", metric("Enqueue", "rows/s"), want{}},
		{rows, "what is gone", "enqueue", metric("Enqueue", "no such unit"), atLeast(1)},
		{errs, "a test", "errors", passes("BesideTheNaiveRule"), atLeast(1)},
		{errs, "a test that fails", "errors", passes("ExhaustedProject"), atLeast(1)},
		{scale, "what was not kept", "scale", metric("Scale", "calls/s"), atLeast(1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := machine{cpu: "a processor", cores: 2, began: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC), before: "0.10", redis: "8.0.0", commit: "abc1234", modules: []string{"asynq v0.26.0"}}
	m.took, m.after = time.Minute, "1.10"
	var b bytes.Buffer
	if missed := printTable(&b, results, m, true); missed != 4 {
		t.Errorf("%d missed or without a figure, want 4\n%s", missed, b.String())
	}
	for _, want := range []string{
		"2026-12-01 02:00 UTC: a processor, 2 cores", "load 0.10 before and 1.10 after", "Redis 8.0.0, commit abc1234; asynq v0.26.0", "--quick",
		"| fleet | a limit is used | 1.053 | ≥ 0.96 | held |",
		"| fleet | a row comes back | 0.99 | ≤ 0.5 | **missed** |",
		"| rows | rows a second | 47461 |  |  |",
		"| rows | what is gone | – | ≥ 1 | **no figure**: not printed: no such unit of BenchmarkEnqueue |",
		"| errors | a test | passes | passes | held |",
		"| errors | a test that fails | fails | passes | **missed** |",
		"| scale | what was not kept | – | ≥ 1 | **no figure**: open ",
		"7 bars: 2 held, 2 missed, 2 without a figure, 1 without a bound.",
		"| fleet | `go test ./cmd/nightshift -run '^$' -bench '^BenchmarkBulkAlone$'",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestBarsAreWhole: each names a source that is there and no two are the same; each
// source is some bar's, and its benchmarks and tests are in the package that it runs.
func TestBarsAreWhole(t *testing.T) {
	t.Parallel()
	used, seen := map[string]bool{}, map[string]bool{}
	for _, b := range bars {
		if _, ok := sources[b.source]; !ok {
			t.Errorf("%s: no source %q", b.what, b.source)
		}
		if key := b.source + b.at.String() + string(rune(b.at.nth)); seen[key] {
			t.Errorf("%s is there twice", b.what)
		} else {
			seen[key] = true
		}
		used[b.source] = true
		if b.at.bench != "" {
			name, _, _ := strings.Cut(b.at.bench, "/")
			wantFunc(t, sources[b.source], "Benchmark"+name)
		}
		if b.at.test != "" {
			wantFunc(t, sources[b.source], "Test"+b.at.test)
		}
	}
	for name := range sources {
		if !used[name] {
			t.Errorf("no bar is of source %q", name)
		}
	}
}

func wantFunc(t *testing.T, s source, name string) {
	t.Helper()
	dir := filepath.Join("../../..", s.dir, s.args[2])
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("func "+name+"(")) {
			return
		}
	}
	t.Errorf("%s has no %s", dir, name)
}

// TestEveryBenchmarkIsKnown: one that is in no source is said here to have no bar.
func TestEveryBenchmarkIsKnown(t *testing.T) {
	t.Parallel()
	without := map[string]string{
		"Tidy": "no bar", "Row": "no bar", "Canned": "the stand-in of another", "RateLimited": "BulkAlone measures real processes", "Decision": "peers measure it beside others",
		"Held": "no bar", "Callers": "peers measure it", "RoundTrip": "the stand-in of another", "InPlace": "no bar",
	}
	out, err := exec.Command("git", "-C", "../../..", "grep", "-hE", `^func Benchmark\w+\(b`, "--", "*_test.go").Output()
	if err != nil {
		t.Skip("needs a git work tree:", err)
	}
	for _, m := range regexp.MustCompile(`Benchmark(\w+)`).FindAllStringSubmatch(string(out), -1) {
		known := without[m[1]] != ""
		for _, s := range sources {
			known = known || strings.Contains(strings.Join(s.args, " "), "Benchmark"+m[1]+"$")
		}
		if !known {
			t.Errorf("Benchmark%s is of no source", m[1])
		}
	}
}

func TestQuick(t *testing.T) {
	t.Parallel()
	s := sources["plan"]
	if got := s.command(true); !strings.Contains(got, "PLAN_ROWS=20000 go test") || strings.Contains(got, "1000000") {
		t.Error(got)
	}
	if got := s.command(false); !strings.HasPrefix(got, "PLAN_ROWS=1000000 go test ./cmd/internal/cli -run '^$'") {
		t.Error(got)
	}
	if got := sources["window"].command(true); got != "cd limiter/peers && go run . -only window -rounds 3 -calls 300" {
		t.Error(got)
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--only", "("}, {"window"}, {"--only", "nothing is called so"}, {"--no-such"}} {
		if _, err := run(context.Background(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
