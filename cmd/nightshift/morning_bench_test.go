package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"nightshift/jobs"
	"nightshift/limiter"
)

var (
	morningFor = flag.Duration("morning", 4*time.Minute, "Morning: how long people come")
	morningRPM = flag.Int64("morning-rpm", 6000, "Morning: requests a minute")
)

// BenchmarkMorning is the long form of TestNights/Morning: a morning in which bulk would
// take 82 % of the requests, with default settings. The same people come three
// times: without bulk, with bulk behind the gate, and with bulk and no gate at
// all, where both use the SDK's own retries. What counts is what a caller sees at
// the first try.
//
//	go test ./cmd/nightshift -run '^$' -bench Morning -benchtime 1x -timeout 60m
func BenchmarkMorning(b *testing.B) {
	for b.Loop() {
		alone := morningArm(b, false)
		gated := morningArm(b, true)
		direct := morningDirect(b)
		rows := []string{"| people alone, behind the gate | " + alone.String() + " | |", "| **with bulk, behind the gate** | " + gated.String() + " | ≤ 0.03 %, no 429 |", "| with bulk, no gate | " + direct.String() + " | |",
			fmt.Sprintf("| p95 with bulk / without | %.2f | ≤ 1.1 |", float64(gated.p95)/float64(alone.p95))}
		printTable(fmt.Sprintf("a morning of %v at %d rpm: calls, refused at the first try, p95, provider 429s, bulk rows a minute", *morningFor, *morningRPM), rows)
		b.ReportMetric(float64(gated.failed)/float64(max(1, gated.calls)), "refused")
	}
	b.ReportMetric(0, "ns/op")
}

// arm is what was measured of one way.
type arm struct {
	calls, failed int
	p95           time.Duration
	refused       int // 429s of the provider, whoever got them
	bulk          float64
}

func (a arm) String() string {
	return fmt.Sprintf("%d, %d (%.3f %%), %.2f s, %d, %.0f", a.calls, a.failed, 100*float64(a.failed)/float64(max(1, a.calls)), a.p95.Seconds(), a.refused, a.bulk)
}

// morningCurve goes from 2 % of the limit to 18 % within a minute.
func morningCurve(at time.Duration) float64 {
	return float64(*morningRPM) * (0.02 + 0.16*min(1, at.Minutes()))
}

func morningArm(b *testing.B, bulk bool) arm {
	n := newNight(b, *morningRPM, "")
	n.scheduler("scheduler")
	if bulk {
		n.startWorkers(2)
		n.enqueue("rows", int(float64(*morningRPM)*(morningFor.Minutes()+2)), jobs.Normal, func(int) string { return "one lamp" })
		n.await("bulk has borrowed all that it may", 2*time.Minute, func() bool { return n.used("rpm") >= *morningRPM*82/100 })
	}
	before := len(of(n.calls(), "rows"))
	chat := n.people(n.client("interactive", "chat"))
	chat.come(context.Background(), 3, morningCurve, float64(*morningRPM)*0.18, *morningFor)
	a := measure(chat.answers(), n.calls())
	a.bulk = float64(len(of(n.calls(), "rows"))-before) / morningFor.Minutes()
	n.stopAll()
	return a
}

// morningDirect has bulk in as many callers as two workers have slots.
func morningDirect(b *testing.B) arm {
	n := &night{fleet: newFleet(b, quota{rpm: *morningRPM, inputTPM: 100_000 * *morningRPM}, defaultConf)}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var row atomic.Int64
	client := n.retrying()
	for range 64 {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = client.Models.GenerateContent(ctx, benchModel, genai.Text(fmt.Sprintf("id: rows-%06d\none lamp", row.Add(1))), nil)
			}
		})
	}
	time.Sleep(time.Minute)
	before := len(admitted(of(n.calls(), "rows")))
	chat := n.people(client)
	chat.come(ctx, 3, morningCurve, float64(*morningRPM)*0.18, *morningFor)
	calls := n.calls()
	stop()
	all.Wait()
	a := measure(chat.answers(), calls)
	// a caller's first try is the first call that the provider saw with its id
	first := map[string]simCall{}
	for _, c := range of(calls, "chat") {
		if _, seen := first[c.ID]; !seen {
			first[c.ID] = c
		}
	}
	a.failed = 0
	for _, c := range first {
		if c.Status != http.StatusOK {
			a.failed++
		}
	}
	a.bulk = float64(len(admitted(of(calls, "rows")))-before) / morningFor.Minutes()
	n.stopAll()
	return a
}

// retrying is the SDK straight to the provider, with its default retries.
func (n *night) retrying() *genai.Client {
	c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "direct", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{},
		HTTPOptions: genai.HTTPOptions{BaseURL: n.sim + "/", RetryOptions: &genai.HTTPRetryOptions{}},
	})
	n.must(err)
	return c
}

func admitted(calls []simCall) (out []simCall) {
	for _, c := range calls {
		if c.Admitted {
			out = append(out, c)
		}
	}
	return out
}

func measure(heard []answer, calls []simCall) arm {
	a := arm{calls: len(heard), failed: len(failed(heard))}
	took := make([]time.Duration, 0, len(heard))
	for _, h := range heard {
		took = append(took, h.took)
	}
	slices.Sort(took)
	if len(took) > 0 {
		a.p95 = took[(len(took)*95+99)/100-1]
	}
	for _, c := range calls {
		if c.Status == http.StatusTooManyRequests {
			a.refused++
		}
	}
	return a
}

// BenchmarkSpike lets a hundred, and then three hundred, people ask within a
// second at a thousand requests a minute, of which bulk has borrowed all that it
// may. Up to the floor none is refused; of the larger spike as many pass as the
// arithmetic says: the room of the moment, and what leaves the window while the
// last of them wait.
//
//	go test ./cmd/nightshift -run '^$' -bench Spike -benchtime 1x -timeout 30m
func BenchmarkSpike(b *testing.B) {
	for b.Loop() {
		var rows []string
		for _, people := range []int{100, 300} {
			rows = append(rows, spike(b, people))
		}
		printTable("people within a second at 1000 rpm, bulk has the rest", rows)
	}
	b.ReportMetric(0, "ns/op")
}

func spike(b *testing.B, people int) string {
	n := newNight(b, 1000, "")
	n.startWorkers(1)
	n.enqueue("rows", 3000, jobs.Normal, func(int) string { return "one lamp" })
	chat := n.people(n.client("interactive", "chat"))
	var state limiter.LimitState
	n.await("bulk has borrowed all that it may, and its first calls leave the window", 2*time.Minute, func() bool {
		state = n.rpm()
		return state.Used >= 820 && time.Until(state.NextFree) < time.Second
	})
	room := int64(0)
	for _, c := range state.Classes {
		if c.Class == "interactive" {
			room = c.Room
		}
	}
	var all sync.WaitGroup
	for range people {
		all.Go(func() { chat.ask(context.Background()) })
		time.Sleep(time.Second / time.Duration(people))
	}
	all.Wait()
	heard := chat.answers()
	passed := people - len(failed(heard))
	// while they come and wait, each second frees a sixty-first of what was used
	expected := min(int64(people), room+state.Used*13/610)
	wait := n.waited("interactive", people)
	n.stopAll()
	return fmt.Sprintf("| %d people | %d passed, %d refused (%.1f %%), p95 wait %v | arithmetic: %d pass (room %d + %d that leave in 1.3 s) |",
		people, passed, people-passed, 100*float64(people-passed)/float64(people), wait.Round(time.Millisecond), expected, room, state.Used*13/610)
}

func (n *night) rpm() limiter.LimitState {
	lanes, err := n.limits.Lanes(context.Background())
	n.must(err)
	s, err := n.limits.State(context.Background(), lanes[0].Lane)
	n.must(err)
	return s.Limits[slices.IndexFunc(s.Limits, func(l limiter.LimitState) bool { return l.Name == "rpm" })]
}
