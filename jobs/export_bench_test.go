package jobs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkExport writes the results of a run to a file, in input order, beside a
// bare read, encoding/json and copy of the same lines: from Redis as they come in,
// from Redis folded, and from drained files. A ratio is ours to the bare one's rate.
// EXPORT_ROWS is how many rows of 1 kB (default 100,000).
func BenchmarkExport(b *testing.B) {
	rows := int64(100_000)
	if n, err := strconv.ParseInt(os.Getenv("EXPORT_ROWS"), 10, 64); err == nil {
		rows = n
	}
	for b.Loop() {
		x := newExportBench(b, rows)
		x.measure("loose", false)
		_, err := x.s.Fold(x.ctx, x.run)
		x.must(err)
		x.measure("folded", true)
		x.must(drainAndTrim(x.ctx, x.s, x.run, filepath.Join(x.dir, "drained")))
		x.measure("drained", false)
	}
	b.ReportMetric(0, "ns/op")
}

type exportBench struct {
	*testing.B
	ctx  context.Context
	s    *Store
	run  string
	rows int64
	dir  string
}

// newExportBench has a run whose rows all have an answer.
func newExportBench(b *testing.B, rows int64) *exportBench {
	b.Helper()
	x := &exportBench{B: b, ctx: context.Background(), rows: rows, dir: b.TempDir()}
	rdb := redisClient(b)
	b.Cleanup(func() { rdb.FlushDB(context.Background()) })
	x.s = NewStore(rdb, StoreOptions{})
	rng := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(x.dir, "rows.jsonl")
	x.write(path, func(w *bufio.Writer) {
		for i := range rows {
			r := rowOfWords(rng, i)
			_, _ = w.Write(append(r.Fields, '\n'))
		}
	})
	p, err := Prepare(x.ctx, Input{Path: path}, specOf("{{.description}}"), PrepareOptions{})
	x.must(err)
	defer func() { _ = p.Close() }()
	report, err := x.s.Enqueue(x.ctx, p, EnqueueOptions{})
	x.must(err)
	x.run = report.Run.ID
	x.answer(rand.New(rand.NewPCG(1, 2)))
	return x
}

// rowOfWords is an answered row whose input is 1 kB of words.
func rowOfWords(rng *rand.Rand, i int64) Result {
	r := realistic(rng, "", i)
	var text strings.Builder
	for text.Len() < 960 {
		text.WriteString(words[rng.IntN(len(words))] + " ")
	}
	r.Fields, _ = json.Marshal(map[string]any{"id": r.Row, "price": rng.IntN(20000), "description": text.String()})
	return r
}

func (x *exportBench) answer(rng *rand.Rand) {
	x.Helper()
	es := make([]ending, 0, groupMax)
	for i := range x.rows {
		e, err := endOf(Task{Run: x.run, Index: i}, rowOfWords(rng, i))
		x.must(err)
		if es = append(es, e); len(es) == groupMax || i == x.rows-1 {
			_, err := x.s.finishAll(x.ctx, x.run, es)
			x.must(err)
			es = es[:0]
		}
	}
}

// measure exports and then copies what came, a few times in turn.
func (x *exportBench) measure(name string, csv bool) {
	x.Helper()
	from, to := filepath.Join(x.dir, name+".jsonl"), filepath.Join(x.dir, "copy.jsonl")
	var ours, bare, sheet []time.Duration
	for range 3 {
		start := time.Now()
		x.write(from, x.export)
		ours = append(ours, time.Since(start))
		start = time.Now()
		x.write(to, func(w *bufio.Writer) { x.copyParsed(from, w) })
		bare = append(bare, time.Since(start))
		if csv {
			start = time.Now()
			x.write(filepath.Join(x.dir, "out.csv"), x.exportCSV)
			sheet = append(sheet, time.Since(start))
		}
	}
	t := median(bare)
	x.ReportMetric(float64(x.rows)/median(ours).Seconds(), name+"-rows/s")
	x.ReportMetric(t.Seconds()/median(ours).Seconds(), name+"-of-bare")
	x.ReportMetric(float64(x.rows)/t.Seconds(), "bare-rows/s")
	if csv {
		x.ReportMetric(t.Seconds()/median(sheet).Seconds(), "csv-of-bare")
	}
}

func (x *exportBench) export(w *bufio.Writer) {
	n := int64(0)
	x.must(x.s.ResultLines(x.ctx, x.run, ResultsOptions{}, func(line []byte) error {
		n++
		_, _ = w.Write(line)
		return w.WriteByte('\n')
	}))
	if n != x.rows {
		x.Fatalf("%d of %d rows exported", n, x.rows)
	}
}

// exportCSV reads the lines twice, as the command does: what columns there are is
// known when all were seen.
func (x *exportBench) exportCSV(to *bufio.Writer) {
	w, err := NewCSVWriter(to, CSVWriterOptions{})
	x.must(err)
	columns := ColumnsOf(specOf("{{.description}}"), CSVOptions{})
	x.must(x.s.ResultLines(x.ctx, x.run, ResultsOptions{}, columns.See))
	x.must(w.Header(columns.Header()))
	x.must(x.s.ResultLines(x.ctx, x.run, ResultsOptions{}, func(line []byte) error {
		row, cells, err := columns.Cells(line)
		if err != nil {
			return err
		}
		return w.Write(row, cells)
	}))
	x.must(w.Close())
}

func (x *exportBench) copyParsed(path string, w *bufio.Writer) {
	f, err := os.Open(path)
	x.must(err)
	defer f.Close()
	s := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := s.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		x.must(err)
		var v map[string]any
		x.must(json.Unmarshal(bytes.TrimSpace(line), &v))
		_, _ = w.Write(line)
	}
}

func (x *exportBench) write(path string, fn func(*bufio.Writer)) {
	f, err := os.Create(path)
	x.must(err)
	w := bufio.NewWriterSize(f, 1<<16)
	fn(w)
	x.must(w.Flush())
	x.must(f.Close())
}

func (x *exportBench) must(err error) {
	if err != nil {
		x.Helper()
		x.Fatal(err)
	}
}
