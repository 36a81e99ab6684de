package main

import (
	"flag"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	speedRounds  = flag.Int("speed-rounds", 5, "GatewaySpeed: alternating rounds")
	speedCalls   = flag.Int("speed-calls", 4000, "GatewaySpeed: unary calls of a round without latency")
	speedStreams = flag.Int("speed-streams", 1000, "GatewaySpeed: streams that are open at once")
)

// BenchmarkGatewaySpeed says what the gateway costs: processor time for a call,
// time that it adds, memory of many open streams. Beside it, in alternating rounds
// over the same simulated API, a bare httputil.ReverseProxy, and
// @portkey-ai/gateway where it is installed (`npm ci` in limiter/peers/portkey), by
// the API that it has for Gemini, OpenAI's. Each is a process of its own, whose CPU
// and memory are read from /proc, so this needs Linux. The gateway is the command as
// it is started by everybody: with identity, permit, settlement, records, metering
// and learning on a redis-server with its append-only file.
//
//	go test ./cmd/nightshift -run '^$' -bench GatewaySpeed -benchtime 1x -timeout 30m
//	go test ./cmd/nightshift -run '^$' -bench GatewaySpeed/CPU …    one of CPU, StreamCPU, Answer, FirstChunk, Streams
func BenchmarkGatewaySpeed(b *testing.B) {
	t := &speedTable{}
	for _, part := range []struct {
		name string
		run  func(*testing.B)
	}{
		{"CPU", func(b *testing.B) { t.cpu(b, false) }},
		{"StreamCPU", func(b *testing.B) { t.cpu(b, true) }},
		{"Answer", func(b *testing.B) { t.times(b, false, "p50 of an answer, upstream 200 ms", "added-p50-%") }},
		{"FirstChunk", func(b *testing.B) {
			t.times(b, true, "p50 of a stream's first chunk, upstream 200 ms", "added-first-%")
		}},
		{"Streams", t.memory},
	} {
		b.Run(part.name, func(b *testing.B) {
			for b.Loop() {
				part.run(b)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	printTable(fmt.Sprintf("a call through the gateway, medians of %d rounds", *speedRounds), t.rows)
}

// speedTable collects the rows.
type speedTable struct{ rows []string }

func (t *speedTable) row(what, measured, wanted string) {
	t.rows = append(t.rows, fmt.Sprintf("| %s | %s | %s |", what, measured, wanted))
}

// cpu compares the processor time of a call of 2 kB at full load, 16 callers: of
// unary ones, or of streams of some fifty chunks.
func (t *speedTable) cpu(b *testing.B, stream bool) {
	tokens, calls, what, wanted := 100, *speedCalls, "a unary call", "≤ 3 ×"
	if stream {
		tokens, calls, what, wanted = 800, *speedCalls/8, "a stream of fifty chunks", ""
	}
	if *gatewayProfile != "" && stream == *profileStreams {
		b.Setenv(profileVar, *gatewayProfile)
	}
	w := newWays(b, simulated{tokens: tokens})
	b.Setenv(profileVar, "")
	own, redis := w.cpuRounds(stream, calls)
	w.stop()
	bare, ours := medianOf(own[w.bare]), medianOf(own[w.ours])
	t.row("CPU of "+what+": the gateway / a bare ReverseProxy", fmt.Sprintf("%.2f × (%.0f µs / %.0f µs)", ours/bare, ours, bare), wanted)
	t.row("… Redis's CPU for it beside", fmt.Sprintf("%.0f µs; both together %.2f ×", redis, (ours+redis)/bare), "")
	if w.portkey != nil {
		t.row("… @portkey-ai/gateway", fmt.Sprintf("%.2f × (%.0f µs)", medianOf(own[w.portkey])/bare, medianOf(own[w.portkey])), "more than ours")
	}
	b.ReportMetric(ours/bare, "times-bare-cpu")
}

// cpuRounds gives the CPU of a call in µs, of each way and round; and Redis's for
// one through the gateway.
func (w *ways) cpuRounds(stream bool, calls int) (own map[*way][]float64, redis float64) {
	own = map[*way][]float64{}
	var shared []float64
	for _, x := range w.list()[1:] {
		w.load(x, stream, 500) // connections, caches, compiled code
	}
	for range *speedRounds {
		for _, x := range w.list()[1:] {
			cpu, before := cpuOf(x.proc), w.redisLoad().cpu
			w.load(x, stream, calls)
			own[x] = append(own[x], float64((cpuOf(x.proc)-cpu).Microseconds())/float64(calls))
			if x == w.ours {
				shared = append(shared, 1e6*(w.redisLoad().cpu-before)/float64(calls))
			}
		}
	}
	return own, medianOf(shared)
}

// load makes n calls from 16 callers.
func (w *ways) load(x *way, stream bool, n int) {
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	client := caller()
	for range 16 {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if first, _, err := x.call(client, stream); err != nil && (!x.openai || first == 0) { // see way.openai
					w.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	client.CloseIdleConnections()
	if w.Failed() {
		w.FailNow()
	}
}

// times compares what each way adds to an upstream of 200 ms, for four callers who
// are not in step.
func (t *speedTable) times(b *testing.B, stream bool, what, metric string) {
	s := simulated{latency: 200 * time.Millisecond, tokens: 100}
	if stream {
		s.perToken = time.Millisecond
	}
	w := newWays(b, s)
	took := map[*way][]float64{}
	for _, x := range w.list() {
		w.medianTime(x, stream, 8)
	}
	for range *speedRounds {
		for _, x := range w.list() {
			took[x] = append(took[x], w.medianTime(x, stream, 60))
		}
	}
	w.stop()
	direct := medianOf(took[w.direct])
	added := func(x *way) string {
		ms := medianOf(took[x])
		return fmt.Sprintf("%.1f %% (%.2f ms to %.2f ms)", 100*(ms/direct-1), ms-direct, direct)
	}
	t.row(what+": added by the gateway", added(w.ours), "≤ 2 %")
	t.row("… by a bare ReverseProxy", added(w.bare), "")
	if w.portkey != nil {
		t.row("… by @portkey-ai/gateway", added(w.portkey), "more than ours")
	}
	b.ReportMetric(100*(medianOf(took[w.ours])/direct-1), metric)
}

// medianTime is that of n calls in ms, to the first byte of streams and to the end
// of others.
func (w *ways) medianTime(x *way, stream bool, n int) float64 {
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []float64
	client := caller()
	for i := range 4 {
		all.Go(func() {
			time.Sleep(time.Duration(i) * 50 * time.Millisecond) // not in step: nobody's calls are
			for range n / 4 {
				first, whole, err := x.call(client, stream)
				if err != nil && (!x.openai || first == 0) { // see way.openai
					w.Error(err)
					return
				}
				if stream {
					whole = first
				}
				mu.Lock()
				took = append(took, float64(whole)/float64(time.Millisecond))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	client.CloseIdleConnections()
	if w.Failed() {
		w.FailNow()
	}
	return medianOf(took)
}

// memory opens streams until all are open at once, and reads the most memory that
// each process had.
func (t *speedTable) memory(b *testing.B) {
	w := newWays(b, simulated{latency: 200 * time.Millisecond, perToken: 60 * time.Millisecond, tokens: 800})
	for _, x := range w.list()[1:] {
		before := memoryOf(w.night, x.proc, "VmRSS")
		w.openStreams(x, *speedStreams)
		most := memoryOf(w.night, x.proc, "VmHWM")
		wanted := ""
		if x == w.ours {
			wanted = "< 200 MB"
			b.ReportMetric(most, "MB-streams")
		}
		t.row(fmt.Sprintf("most resident memory with %d open streams: %s", *speedStreams, x.name), fmt.Sprintf("%.0f MB (%.0f before)", most, before), wanted)
	}
	w.stop()
}

// openStreams holds n streams open for some seconds while they flow.
func (w *ways) openStreams(x *way, n int) {
	client := caller()
	var opened sync.WaitGroup
	stop := make(chan struct{})
	for range n {
		opened.Add(1)
		go w.holdOpen(client, x, opened.Done, stop)
		time.Sleep(4 * time.Second / time.Duration(n))
	}
	opened.Wait()
	time.Sleep(5 * time.Second)
	close(stop)
	if w.Failed() {
		w.FailNow()
	}
}

func (w *ways) holdOpen(c *http.Client, x *way, opened func(), stop <-chan struct{}) {
	resp, err := c.Do(x.request(w.Context(), true))
	if err != nil {
		w.Error(err)
		opened()
		return
	}
	defer resp.Body.Close()
	piece := make([]byte, 4096)
	if _, err := resp.Body.Read(piece); err != nil || resp.StatusCode != http.StatusOK {
		w.Errorf("%s: HTTP %d: %v %.300s", x.name, resp.StatusCode, err, piece)
	}
	opened()
	for {
		select {
		case <-stop:
			return
		default:
		}
		if _, err := resp.Body.Read(piece); err != nil {
			return // the stream's end
		}
	}
}
