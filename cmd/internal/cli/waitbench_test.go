package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// BenchmarkWaiting says how status and why answer about a run of many rows that
// all wait, beside one of 1,000, and what such a row takes in Redis beyond 1.2 × its
// bytes: ledger, task, ticket and what it waits for. WAIT_ROWS is how many
// (default 100,000), of 1 kB.
func BenchmarkWaiting(b *testing.B) {
	rows, _ := strconv.Atoi(orElse(os.Getenv("WAIT_ROWS"), "100000"))
	for b.Loop() {
		few, many := newWaitRig(b, 1000), newWaitRig(b, rows)
		b.ReportMetric(many.memory, "B/row-over-1.2x")
		b.ReportMetric(many.enqueued, "enqueued-rows/s")
		for _, args := range [][]string{{"status"}, {"status", "night"}, {"why", "night"}, {"why", "row-0"}, {"why", "row-500"}, {"why", "row-%d"}} {
			took, least := many.ask(args), few.ask(args)
			name := strings.ReplaceAll(strings.Join(args, "-"), "%d", "last")
			b.ReportMetric(float64(took)/float64(least), name+"-times-1000")
			b.ReportMetric(float64(took.Microseconds())/1000, name+"-ms")
		}
		few.stop()
		many.stop()
	}
	b.ReportMetric(0, "ns/op")
}

// waitRig is a Redis with a run whose rows all wait for quota.
type waitRig struct {
	*testing.B
	dir, conf string
	limits    string // of the configuration
	rows      int
	be        *backend
	cmd       *exec.Cmd
	memory    float64
	enqueued  float64
}

func newWaitRig(b *testing.B, rows int) *waitRig {
	b.Helper()
	return newWaitRigOf(b, rows, "models: {gemini-2.5-flash: {rpm: 1000}}\n")
}

// newWaitRigOf is one with limits of one's own, gemini-2.5-flash's among them.
func newWaitRigOf(b *testing.B, rows int, limits string) *waitRig {
	b.Helper()
	w := &waitRig{B: b, dir: b.TempDir(), rows: rows, limits: limits}
	w.start()
	path := filepath.Join(w.dir, "rows.jsonl")
	writeRows(b, path, rows)
	before, start := w.used(), time.Now()
	w.run("enqueue", path, "--name", "night", "--prompt", "Describe {{.name}}: {{.text}}")
	w.enqueued = float64(rows) / time.Since(start).Seconds()
	w.refuseAll()
	size, err := os.Stat(path)
	w.must(err)
	w.memory = (float64(w.used()-before) - 1.2*float64(size.Size())) / float64(rows)
	return w
}

func (w *waitRig) start() {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		w.Skip("no redis-server in PATH")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	w.must(l.Close())
	w.cmd = exec.Command(bin, "--port", port, "--bind", "127.0.0.1", "--dir", w.dir, "--save", "", "--maxmemory-policy", "noeviction")
	w.must(w.cmd.Start())
	w.Cleanup(w.stop)
	w.conf = filepath.Join(w.dir, "nightshift.yaml")
	text := "gemini: {api: simulated}\nredis: redis://127.0.0.1:" + port + "/0\nstate_dir: " + w.dir +
		"\n" + w.limits + "run: {model: gemini-2.5-flash}\n"
	w.must(os.WriteFile(w.conf, []byte(text), 0o600))
	f := &factory{streams: &streams{Out: new(bytes.Buffer), Err: new(bytes.Buffer)}, now: time.Now}
	f.opts.config = w.conf
	for range 100 {
		if w.be, err = f.openAny(w.Context()); err == nil {
			break
		}
		<-time.After(50 * time.Millisecond)
	}
	w.must(err)
	w.must(w.be.configure(w.Context()))
}

// stop ends its Redis, whose memory the next one needs.
func (w *waitRig) stop() {
	if w.be != nil {
		w.be.close()
		w.be = nil
	}
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}

// refuseAll does with every row what a worker does that gets no permit.
func (w *waitRig) refuseAll() {
	w.Helper()
	run, err := w.be.store.Find(w.Context(), "night")
	w.must(err)
	lane, err := limiter.ParseLane(run.Spec.Lane)
	w.must(err)
	var all sync.WaitGroup
	for k := range 64 {
		all.Go(func() {
			for i := k; i < w.rows; i += 64 {
				if err := w.refuse(run, lane, jobs.Task{Run: run.ID, Index: int64(i)}); err != nil {
					w.Errorf("row %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
}

func (w *waitRig) refuse(run jobs.Run, lane limiter.Lane, t jobs.Task) error {
	begun, err := w.be.store.Begin(w.Context(), t)
	if err != nil {
		return err
	}
	_, err = w.be.lim.Acquire(w.Context(), limiter.Request{
		ID: t.ID(), Lane: lane, Class: run.Spec.Class, Feature: run.Spec.Feature, Ticket: t.ID(), Path: runPath(run),
		Amounts: limiter.Amounts{limiter.Requests: 1, limiter.InputTokens: 250}, Full: true,
	})
	if no := (*limiter.Denied)(nil); !errors.As(err, &no) {
		return fmt.Errorf("admitted, or %w", err)
	}
	return w.be.store.Wait(w.Context(), t, jobs.WaitQuota, begun.Waits)
}

func (w *waitRig) used() int64 {
	w.Helper()
	return w.be.redisMemory(context.Background()).used
}

// ask gives the median time of a command.
func (w *waitRig) ask(args []string) time.Duration {
	w.Helper()
	var took []time.Duration
	for range 15 {
		w.beat()
		line := slices.Clone(args)
		if last := len(line) - 1; strings.Contains(line[last], "%d") {
			line[last] = fmt.Sprintf(line[last], w.rows-1)
		}
		start := time.Now()
		w.run(line...)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// beat has a worker serve the lane, as far as the commands can tell.
func (w *waitRig) beat() {
	w.Helper()
	run, err := w.be.store.Find(w.Context(), "night")
	w.must(err)
	now, err := w.be.rdb.Time(w.Context()).Result()
	w.must(err)
	info := fmt.Sprintf(`%d|{"id":"w","host":"h","pid":1,"lanes":[{"lane":%q,"slots":10}]}`, now.UnixMilli(), run.Spec.Lane)
	w.must(w.be.rdb.HSet(w.Context(), "nightshift:fleet", "w", info).Err())
}

func (w *waitRig) run(args ...string) {
	w.Helper()
	var out, errs bytes.Buffer
	cmd := newRootCmd(&streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	cmd.SetArgs(append(args, "--config", w.conf))
	if err := cmd.ExecuteContext(w.Context()); err != nil {
		w.Fatalf("%v: %v\n%s", args, err, errs.String())
	}
	if os.Getenv("WAIT_SHOW") != "" {
		fmt.Fprintf(os.Stderr, "%v\n%s%s", args, out.String(), errs.String())
	}
}

func (w *waitRig) must(err error) {
	if err != nil {
		w.Helper()
		w.Fatal(err)
	}
}
