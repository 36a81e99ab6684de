package worker

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"

	"github.com/hibiken/asynq"
	"google.golang.org/genai"
)

// The benchmarks answer the two questions of cost; none of them judges.
//
//	go test ./worker -run '^$' -bench CPUPerJob -benchtime 9x
//	go test ./worker -run '^$' -bench RateLimited -benchtime 1x -timeout 30m
//
// They start a Redis of their own.

// canned answers every call at once with the same body. It stands for the
// provider, whose cost is not ours: a few microseconds a call, reported apart.
type canned struct{ calls atomic.Int64 }

const cannedBody = `{"candidates":[{"content":{"parts":[{"text":"` +
	`The quick brown fox jumps over the lazy dog and is described in about two hundred characters of text, which is what a tag or a short translation takes."}],"role":"model"},` +
	`"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":250,"candidatesTokenCount":40,"totalTokenCount":290},"modelVersion":"gemini-3.5-flash-lite"}`

func (c *canned) RoundTrip(req *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	_, _ = io.Copy(io.Discard, req.Body)
	return &http.Response{StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(cannedBody)), Body: io.NopCloser(strings.NewReader(cannedBody))}, nil
}

// cpuRig is what both sides of BenchmarkCPUPerJob run on.
type cpuRig struct {
	*rig
	addr   string
	gate   *limiter.Redis
	client *genai.Client
}

func newCPURig(b *testing.B) *cpuRig {
	url := realRedis(b)
	return &cpuRig{addr: strings.TrimPrefix(url, "redis://"), rig: &rig{TB: b, rdb: client(b, url), log: &logLines{}}}
}

const benchCalls = 50

// fresh empties Redis and enqueues n rows of about 1 kB.
func (r *cpuRig) fresh(n int) jobs.Run {
	if err := r.rdb.FlushAll(r.Context()).Err(); err != nil {
		r.Fatal(err)
	}
	r.gate = limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
	configure(r.TB, r.gate, limiter.Limits{RPM: 100_000_000, InputTPM: 100_000_000_000})
	tr, err := gemini.NewTransport(gemini.TransportConfig{Base: &canned{}, APIKey: "test-key", Gate: r.gate, Lanes: testLanes()})
	if err != nil {
		r.Fatal(err)
	}
	if r.client, err = gemini.NewClient(r.Context(), tr, ""); err != nil {
		r.Fatal(err)
	}
	r.store = jobs.NewStore(r.rdb, jobs.StoreOptions{})
	return r.enqueueLong(n)
}

// enqueueLong makes a run of n rows of about 1 kB.
func (r *rig) enqueueLong(n int) jobs.Run {
	return r.enqueueText(n, func(int) string { return strings.Repeat("some words of text ", 50) })
}

func (r *rig) enqueueText(n int, text func(i int) string) jobs.Run {
	r.Helper()
	var b strings.Builder
	b.WriteString("id,word\n")
	for i := range n {
		b.WriteString("r" + strconv.Itoa(i) + "," + text(i) + "\n")
	}
	path := filepath.Join(r.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		r.Fatal(err)
	}
	return r.enqueueFile(path, spec())
}

// cpu is the time that this process and Redis have spent, in microseconds.
func (r *cpuRig) cpu() (own, redis float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		r.Fatal(err)
	}
	for line := range strings.Lines(r.rdb.Info(r.Context(), "cpu").Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				r.Fatal(err)
			}
			redis += v * 1e6
		}
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3, redis
}

// spent gives the cost of work for each of n jobs.
func (r *cpuRig) spent(n int, work func()) (own, redis float64) {
	own0, redis0 := r.cpu()
	work()
	own1, redis1 := r.cpu()
	return (own1 - own0) / float64(n), (redis1 - redis0) / float64(n)
}

// bare lets asynq acknowledge the same tasks with a handler that does nothing.
func (r *cpuRig) bare(n int) {
	var done atomic.Int64
	srv := asynq.NewServer(asynq.RedisClientOpt{Addr: r.addr}, asynq.Config{Concurrency: benchCalls, Queues: map[string]int{
		jobs.Queue(jobs.High, testLane): 6, jobs.Queue(jobs.Normal, testLane): 3, jobs.Queue(jobs.Low, testLane): 1}, LogLevel: asynq.FatalLevel})
	if err := srv.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { done.Add(1); return nil })); err != nil {
		r.Fatal(err)
	}
	eventually(r.TB, time.Minute, "asynq is through", func() bool { return done.Load() == int64(n) })
	srv.Shutdown()
}

// ours does the jobs: permit, call, settle, ledger, result.
func (r *cpuRig) ours(n int) {
	var done atomic.Int64
	_, stop := r.start(Config{Redis: r.rdb, Store: r.store, Gate: r.gate, Client: r.client, Concurrency: benchCalls,
		OnResult: func(res jobs.Result) {
			if res.Status == "done" {
				done.Add(1)
			}
		}})
	eventually(r.TB, 2*time.Minute, "we are through", func() bool { return done.Load() == int64(n) })
	if err := stop(); err != nil {
		r.Fatal(err)
	}
}

// BenchmarkCPUPerJob compares the CPU of a job with that of a bare asynq handler
// that does nothing, in alternating rounds over the same tasks: own process plus
// Redis. Every round is 3,000 rows of 1 kB.
func BenchmarkCPUPerJob(b *testing.B) {
	const n = 3000
	r := newCPURig(b)
	var bareOwn, bareRedis, oursOwn, oursRedis []float64
	for b.Loop() {
		r.fresh(n)
		own, red := r.spent(n, func() { r.bare(n) })
		bareOwn, bareRedis = append(bareOwn, own), append(bareRedis, red)
		r.fresh(n)
		own, red = r.spent(n, func() { r.ours(n) })
		oursOwn, oursRedis = append(oursOwn, own), append(oursRedis, red)
	}
	bare, ours := median(bareOwn)+median(bareRedis), median(oursOwn)+median(oursRedis)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(bareOwn), "bare-own-µs/job")
	b.ReportMetric(median(bareRedis), "bare-redis-µs/job")
	b.ReportMetric(median(oursOwn), "ours-own-µs/job")
	b.ReportMetric(median(oursRedis), "ours-redis-µs/job")
	b.ReportMetric(ours/bare, "times-bare")
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// BenchmarkCanned is the cost of the stand-in for the provider.
func BenchmarkCanned(b *testing.B) {
	c := &canned{}
	for b.Loop() {
		req, err := http.NewRequest(http.MethodPost, "http://x/", strings.NewReader(cannedBody))
		if err != nil {
			b.Fatal(err)
		}
		resp, err := c.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// BenchmarkRateLimited runs bulk alone against a limit and reports the share of
// it that was used after the first minute, the most that any sliding minute saw,
// and how often a job was put back. Real time: six minutes a case.
func BenchmarkRateLimited(b *testing.B) {
	b.Run("requests", func(b *testing.B) {
		rateLimited(b, limiter.Limits{RPM: 600}, geminitest.Requests, 600, 4000, func(int) string { return "word" })
	})
	b.Run("tokens", func(b *testing.B) { // 2 % of the rows are fifty times larger
		rateLimited(b, limiter.Limits{InputTPM: 60_000}, geminitest.InputTokens, 60_000, 7000, func(i int) string {
			if i%50 == 7 {
				return strings.Repeat("some words of text ", 250)
			}
			return strings.Repeat("some words of text ", 5)
		})
	})
}

func rateLimited(b *testing.B, limits limiter.Limits, unit geminitest.Unit, perMinute int64, rows int, text func(int) string) {
	for b.Loop() {
		r, redisURL, geminiURL := newFleetRig(b, limits, geminitest.Config{Latency: geminitest.Latency{Base: 300 * time.Millisecond}})
		r.enqueueText(rows, text)
		process(b, redisURL, geminiURL, benchCalls)
		process(b, redisURL, geminiURL, benchCalls)
		pass(time.Minute)
		before := amount(r.sim, unit)
		pass(5 * time.Minute)
		used := amount(r.sim, unit) - before
		b.ReportMetric(float64(used)/float64(5*perMinute), "used")
		b.ReportMetric(float64(r.sim.MaxInWindow(testModel, unit, time.Minute))/float64(perMinute), "most-in-a-minute")
		b.ReportMetric(float64(reschedules(r))/float64(rows), "reschedules/job")
	}
	b.ReportMetric(0, "ns/op")
}

// amount is what the simulated Gemini has counted so far.
func amount(s *geminitest.Server, unit geminitest.Unit) (n int64) {
	for _, c := range s.Calls() {
		switch {
		case !c.Admitted:
		case unit == geminitest.Requests:
			n += c.Requests
		default:
			n += c.PromptTokens
		}
	}
	return n
}

// reschedules is how often jobs were put back without blame.
func reschedules(r *rig) (waits int64) {
	fleet, err := Fleet(r.Context(), r.rdb)
	if err != nil {
		r.Fatal(err)
	}
	for _, w := range fleet {
		waits += w.Waits
	}
	return waits
}
