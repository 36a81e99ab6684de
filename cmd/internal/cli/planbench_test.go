package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkPlan reads rows of 1 kB as plan does, beside a bare encoding/json read of
// the same file, and says how much memory the process took at most. PLAN_ROWS is how
// many (default 100,000).
func BenchmarkPlan(b *testing.B) {
	rows, _ := strconv.Atoi(orElse(os.Getenv("PLAN_ROWS"), "100000"))
	dir := b.TempDir()
	path := filepath.Join(dir, "rows.jsonl")
	writeRows(b, path, rows)
	conf := "gemini: {api: simulated}\nstate_dir: " + dir + "\nmodels: {gemini-2.5-flash: {rpm: 1000}}\nrun: {model: gemini-2.5-flash}\n"
	if err := os.WriteFile(filepath.Join(dir, "nightshift.yaml"), []byte(conf), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		start := time.Now()
		readBare(b, path)
		bare := time.Since(start)
		start = time.Now()
		var out, errs bytes.Buffer
		cmd := newRootCmd(&streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		cmd.SetArgs([]string{"plan", path, "--config", filepath.Join(dir, "nightshift.yaml"), "--prompt", "Describe {{.name}}: {{.text}}"})
		if err := cmd.ExecuteContext(b.Context()); err != nil {
			b.Fatalf("%v\n%s", err, errs.String())
		}
		b.ReportMetric(float64(rows)/time.Since(start).Seconds(), "rows/s")
		b.ReportMetric(bare.Seconds()/time.Since(start).Seconds(), "of-bare-json")
	}
	b.ReportMetric(peakMB(b), "peak-MB")
}

func writeRows(b *testing.B, path string, rows int) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	text := strings.Repeat("a fine thing of the catalog ", 34)
	for i := range rows {
		fmt.Fprintf(w, `{"id":"row-%d","name":"item %d","text":"%s"}`+"\n", i, i, text)
	}
	if err := firstError(w.Flush(), f.Close()); err != nil {
		b.Fatal(err)
	}
}

func readBare(b *testing.B, path string) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		var v map[string]any
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Err(); err != nil {
		b.Fatal(err)
	}
}

// peakMB is the most memory that the process had, as Linux counts it; 0 elsewhere.
func peakMB(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kb / 1024
		}
	}
	return 0
}
