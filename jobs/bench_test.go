package jobs

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

const (
	benchRounds = 9 // alternating with the peer; medians are reported
	benchBytes  = 1024
)

// benchFile has n rows of 1 kB of text that does not compress to nothing.
func benchFile(b testing.TB, n int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "rows.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		var s strings.Builder
		fmt.Fprintf(&s, `{"id":"row-%07d","text":"`, i)
		for s.Len() < benchBytes-3 {
			s.WriteString(strconv.FormatUint(rng.Uint64(), 36))
			s.WriteByte(' ')
		}
		fmt.Fprintf(w, "%s\"}\n", s.String()[:benchBytes-3])
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	_ = f.Close()
	return path
}

func benchPrepare(b testing.TB, path string) *Prepared {
	b.Helper()
	p, err := Prepare(context.Background(), Input{Path: path}, specOf("Tag this: {{.text}}"), PrepareOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	return p
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// BenchmarkEnqueue enqueues 100,000 rows of 1 kB, ledger included, beside
// asynq's one-by-one Enqueue of the same rows, in alternating rounds. Ratio is
// ours to asynq's rate; that of "looked-up" has another run's 100,000 good rows
// searched for answers, of which none fits. CPU time is this process's and Redis's:
// on a machine that is busy with other things it says more than the rates.
func BenchmarkEnqueue(b *testing.B) {
	const n = 100_000
	p := benchPrepare(b, benchFile(b, n))
	var rows []RenderedRow
	if err := p.Each(context.Background(), func(r RenderedRow) error { rows = append(rows, r); return nil }); err != nil {
		b.Fatal(err)
	}
	rdb := redisClient(b)
	good := goodRowsOf(n)
	var ours, theirs, looked []time.Duration
	var cpu [2]float64
	for range benchRounds {
		at := allSeconds(b, rdb)
		theirs = append(theirs, enqueueOneByOne(b, rdb, rows))
		cpu[0], at = cpu[0]+allSeconds(b, rdb)-at, allSeconds(b, rdb)
		ours = append(ours, enqueueOurs(b, rdb, p))
		cpu[1] += allSeconds(b, rdb) - at
		looked = append(looked, enqueueBeside(b, rdb, p, good))
	}
	o, t := median(ours), median(theirs)
	b.ReportMetric(cpu[0]*1e6/n/benchRounds, "asynq-cpu-µs/row")
	b.ReportMetric(cpu[1]*1e6/n/benchRounds, "cpu-µs/row")
	b.ReportMetric(t.Seconds()/median(looked).Seconds(), "ratio-looked-up")
	b.ReportMetric(float64(n)/o.Seconds(), "rows/s")
	b.ReportMetric(float64(n)/t.Seconds(), "asynq-rows/s")
	b.ReportMetric(t.Seconds()/o.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}

func enqueueOurs(b *testing.B, rdb redis.UniversalClient, p *Prepared) time.Duration {
	b.Helper()
	rdb.FlushDB(context.Background())
	start := time.Now()
	r, err := NewStore(rdb, StoreOptions{}).Enqueue(context.Background(), p, EnqueueOptions{})
	if err != nil || r.New != p.Rows {
		b.Fatalf("%+v (%v)", r, err)
	}
	return time.Since(start)
}

// goodRowsOf is what a run of n good rows that nobody else's are like leaves behind.
func goodRowsOf(n int) []byte {
	rng, made := rand.New(rand.NewPCG(3, 4)), uint32(time.Now().Unix())
	var out []byte
	for i := range uint32(n) {
		out = binary.BigEndian.AppendUint64(out, rng.Uint64())
		for _, v := range []uint32{rng.Uint32(), made, i} {
			out = binary.BigEndian.AppendUint32(out, v)
		}
	}
	return out
}

// enqueueBeside enqueues where another run has good rows, and looks through them.
func enqueueBeside(b *testing.B, rdb redis.UniversalClient, p *Prepared, good []byte) time.Duration {
	b.Helper()
	ctx := context.Background()
	rdb.FlushDB(ctx)
	s := NewStore(rdb, StoreOptions{})
	r, err := s.Enqueue(ctx, benchPrepare(b, benchFile(b, 1)), EnqueueOptions{})
	if err != nil {
		b.Fatal(err)
	}
	if err := rdb.Set(ctx, goodKey(r.Run.ID), good, 0).Err(); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	l, err := s.LookUp(ctx, p, LookUpOptions{})
	if err != nil || len(l.places) != 1 || l.Same != 0 {
		b.Fatalf("%+v (%v)", l, err)
	}
	again, err := s.Enqueue(ctx, p, EnqueueOptions{Reuse: l})
	if err != nil || again.New != p.Rows {
		b.Fatalf("%+v (%v)", again, err)
	}
	return time.Since(start)
}

func enqueueOneByOne(b *testing.B, rdb redis.UniversalClient, rows []RenderedRow) time.Duration {
	b.Helper()
	rdb.FlushDB(context.Background())
	client := asynq.NewClientFromRedisClient(rdb)
	start := time.Now()
	for i, r := range rows {
		task := asynq.NewTask(TaskType, r.Fields)
		if _, err := client.Enqueue(task, asynq.TaskID(Task{Run: "run", Index: int64(i)}.ID()), asynq.Queue("q"), asynq.MaxRetry(1<<20)); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// BenchmarkPrepare reads 100,000 rows of 1 kB beside a bare encoding/json read
// of the same file.
func BenchmarkPrepare(b *testing.B) {
	path := benchFile(b, 100_000)
	var ours, theirs []time.Duration
	for range benchRounds {
		start := time.Now()
		bareRead(b, path)
		theirs = append(theirs, time.Since(start))
		start = time.Now()
		benchPrepare(b, path)
		ours = append(ours, time.Since(start))
	}
	o, t := median(ours), median(theirs)
	b.ReportMetric(100_000/o.Seconds(), "rows/s")
	b.ReportMetric(100_000/t.Seconds(), "json-rows/s")
	b.ReportMetric(t.Seconds()/o.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}

func bareRead(b testing.TB, path string) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
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

// BenchmarkMemory says what a waiting row costs in Redis beyond 1.2 × its bytes.
func BenchmarkMemory(b *testing.B) {
	const n = 100_000
	p := benchPrepare(b, benchFile(b, n))
	rdb := redisClient(b)
	used := func() int64 {
		info := rdb.Info(context.Background(), "memory").Val()
		_, after, _ := strings.Cut(info, "used_memory:")
		v, _, _ := strings.Cut(after, "\r")
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	before := used()
	enqueueOurs(b, rdb, p)
	each := float64(used()-before) / n
	b.ReportMetric(each, "B/row")
	b.ReportMetric(each-1.2*float64(p.Bytes)/n, "B/row-over-1.2x")
	b.ReportMetric(0, "ns/op")
}

// redisSeconds is the CPU time that Redis has taken.
func redisSeconds(rdb redis.UniversalClient) (sum float64) {
	info := rdb.Info(context.Background(), "cpu").Val()
	for _, k := range []string{"used_cpu_sys:", "used_cpu_user:"} {
		_, after, _ := strings.Cut(info, k)
		v, _, _ := strings.Cut(after, "\r")
		f, _ := strconv.ParseFloat(v, 64)
		sum += f
	}
	return sum
}

// allSeconds is the CPU time that Redis and this process have taken.
func allSeconds(b *testing.B, rdb redis.UniversalClient) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return redisSeconds(rdb) + time.Duration(u.Utime.Nano()+u.Stime.Nano()).Seconds()
}

// BenchmarkRow is the ledger's part of one job: Begin and Finish from 64
// goroutines, 1 kB in and 0.5 kB out.
func BenchmarkRow(b *testing.B) {
	rdb := redisClient(b)
	s := NewStore(rdb, StoreOptions{})
	p := benchPrepare(b, benchFile(b, max(b.N, 1)))
	r, err := s.Enqueue(context.Background(), p, EnqueueOptions{})
	if err != nil {
		b.Fatal(err)
	}
	cpu := func() float64 { return redisSeconds(rdb) }
	next := make(chan int64, 1024)
	go func() {
		for i := range int64(b.N) {
			next <- i
		}
		close(next)
	}()
	before := cpu()
	b.ReportAllocs()
	b.ResetTimer()
	done := make(chan error, 64)
	for range 64 {
		go func() {
			for i := range next {
				t := Task{Run: r.Run.ID, Index: i}
				begun, err := s.Begin(context.Background(), t)
				if err == nil {
					_, err = s.Finish(context.Background(), t, Result{Row: begun.Row, Status: "done", Output: strings.Repeat("word ", 100), Fields: begun.Fields, Key: "0123456789abcdef0123456789abcdef"})
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 64 {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric((cpu()-before)*1e6/float64(b.N), "redis-µs/op")
}
