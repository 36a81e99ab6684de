package worker

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"google.golang.org/genai"
)

const (
	testModel = "gemini-3.5-flash-lite" // one that does not think, so that answers are short
	testLane  = "gemini/test/global/" + testModel
)

// rig is a whole system around workers: embedded Redis, ledger, a gate that the
// test can shut, and the simulated Gemini. Inside synctest it runs in virtual
// time.
type rig struct {
	testing.TB
	mini  *miniredis.Miniredis
	rdb   redis.UniversalClient
	store *jobs.Store
	gate  *testGate
	sim   *geminitest.Server
	log   *logLines

	update bool // enqueue changes runs that exist
}

func newRig(t testing.TB, faults ...geminitest.Fault) *rig {
	t.Helper()
	m := miniredis.NewMiniRedis()
	r := &rig{TB: t, mini: m, rdb: pipeClient(t, m), gate: &testGate{}, log: &logLines{}}
	r.store = jobs.NewStore(r.rdb, jobs.StoreOptions{Batch: 1})
	r.sim = geminitest.MustNew(geminitest.Config{Faults: faults, Latency: geminitest.Latency{Base: time.Second}})
	return r
}

// client is the SDK over the governed transport over the simulated Gemini.
func (r *rig) client() *genai.Client { return r.clientOver(r.gate) }

func (r *rig) clientOver(gate gemini.Gate) *genai.Client { return r.clientVia(r.sim, gate) }

// clientVia sends over another way than straight to the simulated Gemini.
func (r *rig) clientVia(base http.RoundTripper, gate gemini.Gate) *genai.Client {
	r.Helper()
	tr, err := gemini.NewTransport(gemini.TransportConfig{Base: base, APIKey: "test-key", Gate: gate, Lanes: testLanes()})
	if err != nil {
		r.Fatal(err)
	}
	c, err := gemini.NewClient(r.Context(), tr, "")
	if err != nil {
		r.Fatal(err)
	}
	return c
}

func (r *rig) config() Config {
	return Config{Redis: r.rdb, Store: r.store, Gate: r.gate, Client: r.client(), Concurrency: 4, CallTimeout: time.Minute, Logger: r.log.logger(), poll: time.Second}
}

// start runs a worker; stop drains it and gives what Run returned.
func (r *rig) start(cfg Config) (w *Worker, stop func() error) {
	r.Helper()
	w, err := New(cfg)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- w.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-result })
	r.Cleanup(func() { _ = stop() })
	return w, stop
}

func spec(changes ...func(*jobs.Spec)) jobs.Spec {
	s := jobs.Spec{Kind: jobs.Generate, Model: testModel, Lane: testLane, Template: "id: {{.id}} say {{.word}}",
		Feature: "test", Class: "bulk", Priority: jobs.Normal, IDColumn: "id", Attempts: 5}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// enqueue makes a run of n rows named r0, r1, ….
func (r *rig) enqueue(n int, s jobs.Spec) jobs.Run {
	r.Helper()
	var b strings.Builder
	b.WriteString("id,word\n")
	for i := range n {
		fmt.Fprintf(&b, "r%d,word%d\n", i, i)
	}
	path := filepath.Join(r.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		r.Fatal(err)
	}
	return r.enqueueFile(path, s)
}

func (r *rig) enqueueFile(path string, s jobs.Spec) jobs.Run {
	r.Helper()
	p, err := jobs.Prepare(r.Context(), jobs.Input{Path: path}, s, jobs.PrepareOptions{})
	if err != nil {
		r.Fatal(err)
	}
	defer p.Close()
	report, err := r.store.Enqueue(r.Context(), p, jobs.EnqueueOptions{Update: r.update})
	if err != nil {
		r.Fatal(err)
	}
	return report.Run
}

// await lets time pass until all rows of the run have ended.
func (r *rig) await(run jobs.Run, within time.Duration) jobs.Counts {
	r.Helper()
	return r.until(run, within, "all rows have ended", func(c jobs.Counts) bool { return c.Open() == 0 })
}

func (r *rig) until(run jobs.Run, within time.Duration, what string, ok func(jobs.Counts) bool) jobs.Counts {
	r.Helper()
	for limit := time.Now().Add(within); ; pass(100 * time.Millisecond) {
		c, err := r.store.Counts(r.Context(), run.ID)
		if err != nil {
			r.Fatal(err)
		}
		if ok(c) {
			return c
		}
		if time.Now().After(limit) {
			r.Fatalf("not within %v: %s; rows are %s\n%s", within, what, tally(c), r.log.text())
		}
	}
}

// tally is a run's counters as text: "done 3, failed 1".
func tally(c jobs.Counts) string {
	var parts []string
	for s, n := range c {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%v %d", jobs.State(s), n))
		}
	}
	return strings.Join(parts, ", ")
}

// results gives the run's results by row; a row with two is an error.
func (r *rig) results(run jobs.Run) map[string]jobs.Result {
	r.Helper()
	all := map[string]jobs.Result{}
	if err := r.store.Results(r.Context(), run.ID, jobs.ResultsOptions{}, func(res jobs.Result) error {
		if _, twice := all[res.Row]; twice {
			r.Errorf("row %s has two results", res.Row)
		}
		all[res.Row] = res
		return nil
	}); err != nil {
		r.Fatal(err)
	}
	return all
}

// queues are the tasks that asynq has of a lane, by state.
func (r *rig) queue(p jobs.Priority) *asynq.QueueInfo {
	r.Helper()
	info, err := asynq.NewInspectorFromRedisClient(r.rdb).GetQueueInfo(jobs.Queue(p, testLane))
	if err != nil {
		r.Fatal(err)
	}
	return info
}

// testGate gives every permit until told otherwise, and counts.
type testGate struct {
	mu       sync.Mutex
	deny     func(limiter.Request) *limiter.Denied // nil, or a nil answer, grants
	pulled   []limiter.Pulled                      // what the next pull releases
	slots    []int                                 // of each pull
	granted  int
	refused  int
	settled  []limiter.Settlement
	cooled   []string
	requests []limiter.Request
	dropped  []string
}

func (g *testGate) Acquire(_ context.Context, q limiter.Request) (*limiter.Permit, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests = append(g.requests, q)
	if g.deny != nil {
		if d := g.deny(q); d != nil {
			g.refused++
			return nil, d
		}
	}
	if q.Full {
		g.refused++
		return nil, &limiter.Denied{Reason: limiter.ReasonSlots, RetryAfterMS: 3000}
	}
	g.granted++
	return &limiter.Permit{ID: q.ID, Lane: q.Lane, Class: q.Class, Granted: time.Now(), Expires: time.Now().Add(5 * time.Minute), Amounts: q.Amounts}, nil
}

func (g *testGate) Settle(_ context.Context, s limiter.Settlement) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settled = append(g.settled, s)
	return nil
}

func (g *testGate) Cool(_ context.Context, l limiter.Lane, d time.Duration, why limiter.Reason, _ string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cooled = append(g.cooled, fmt.Sprintf("%s %v %s", l.Model, d, why))
	return nil
}

func (g *testGate) Pull(_ context.Context, _ limiter.Lane, slots int) ([]limiter.Pulled, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slots = append(g.slots, slots)
	p := g.pulled
	g.pulled = nil
	return p, nil
}

func (g *testGate) Drop(_ context.Context, _ limiter.Lane, tickets ...string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropped = append(g.dropped, tickets...)
	return nil
}

// set changes the gate while workers run.
func (g *testGate) set(change func(*testGate)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(g)
}

func (g *testGate) count() (granted, refused int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.granted, g.refused
}

// logLines keeps what was logged.
type logLines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logLines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// task is what asynqmon shows of a run's first row.
func (r *rig) task(run jobs.Run) *asynq.TaskInfo {
	r.Helper()
	info, err := asynq.NewInspectorFromRedisClient(r.rdb).GetTaskInfo(jobs.Queue(run.Spec.Priority, testLane), jobs.Task{Run: run.ID}.ID())
	if err != nil {
		r.Fatal(err)
	}
	return info
}
