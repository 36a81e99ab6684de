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
)

var (
	besideFor = flag.Duration("beside", 90*time.Second, "PeopleBesideBulk: how long people come")
	besideRPM = flag.Int64("beside-rpm", 6000, "PeopleBesideBulk: requests a minute, a tenth of which are people's")
)

// BenchmarkPeopleBesideBulk says what those who wait notice of bulk at full load.
// People come at random moments, the same ones three times, to an API that takes
// 500 ms and has a limit: alone through the gateway; through the gateway while two
// workers take all that the limit has left; and with no gate at all, where both use
// the SDK's own retries.
//
//	go test ./cmd/nightshift -run '^$' -bench PeopleBesideBulk -benchtime 1x -timeout 30m
func BenchmarkPeopleBesideBulk(b *testing.B) {
	for b.Loop() {
		alone, gated, direct := besideArm(b, false), besideArm(b, true), besideDirect(b)
		ratio := float64(gated.p99) / float64(alone.p99)
		printTable(fmt.Sprintf("people beside bulk, %v at %d rpm: p50, p95, p99; without an answer; 429s of the provider; bulk rows a minute", *besideFor, *besideRPM), []string{
			"| people alone, through the gateway | " + alone.String() + " | |",
			"| **beside bulk, both behind the gate** | " + gated.String() + " | no 429 |",
			"| beside bulk, no gate | " + direct.String() + " | |",
			fmt.Sprintf("| p99 beside bulk / alone | %.2f | ≤ 1.3 |", ratio),
			fmt.Sprintf("| … without the gate | %.2f | |", float64(direct.p99)/float64(alone.p99)),
		})
		b.ReportMetric(ratio, "times-p99-alone")
	}
	b.ReportMetric(0, "ns/op")
}

// beside is what was measured of one way.
type beside struct {
	people, failed, refused int
	p50, p95, p99           time.Duration
	bulk                    float64
}

func (a beside) String() string {
	return fmt.Sprintf("%.3f, %.3f, %.3f s; %d of %d; %d; %.0f", a.p50.Seconds(), a.p95.Seconds(), a.p99.Seconds(), a.failed, a.people, a.refused, a.bulk)
}

func besideQuota() quota {
	return quota{rpm: *besideRPM, inputTPM: 100_000 * *besideRPM, sim: []string{"--latency", "500ms", "--sigma", "0"}}
}

// peopleRate is a tenth of the limit, a minute.
func peopleRate(time.Duration) float64 { return float64(*besideRPM) / 10 }

func besideArm(b *testing.B, bulk bool) beside {
	n := newNightOn(b, besideQuota(), "")
	n.scheduler("scheduler")
	if bulk {
		n.enqueue("rows", int(float64(*besideRPM)*(besideFor.Minutes()+2)), jobs.Normal, func(int) string { return "one lamp" })
		n.startWorkers(2)
		n.await("bulk has borrowed all that it may", 3*time.Minute, func() bool { return n.used("rpm") >= *besideRPM*82/100 })
	}
	before := len(of(n.calls(), "rows"))
	chat := n.people(n.client("interactive", "chat"))
	chat.come(context.Background(), 6, peopleRate, peopleRate(0), *besideFor)
	return n.besideOf(chat, before)
}

// besideDirect has bulk in as many callers as two workers have slots.
func besideDirect(b *testing.B) beside {
	n := &night{fleet: newFleet(b, besideQuota(), defaultConf)}
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
	n.await("the limit is used up", 3*time.Minute, func() bool {
		return slices.ContainsFunc(n.calls(), func(c simCall) bool { return c.Status == http.StatusTooManyRequests })
	})
	before := len(admitted(of(n.calls(), "rows")))
	chat := n.people(client)
	chat.come(ctx, 6, peopleRate, peopleRate(0), *besideFor)
	a := n.besideOf(chat, before)
	stop()
	all.Wait()
	return a
}

// besideOf measures what people heard, and how many rows came since there were
// that many.
func (n *night) besideOf(chat *people, rows int) beside {
	heard, calls := chat.answers(), n.calls()
	n.stopAll()
	a := beside{people: len(heard), failed: len(failed(heard)), bulk: float64(len(admitted(of(calls, "rows")))-rows) / besideFor.Minutes()}
	took := make([]time.Duration, 0, len(heard))
	for _, h := range heard {
		took = append(took, h.took)
	}
	slices.Sort(took)
	at := func(percent int) time.Duration { return took[max(0, (len(took)*percent+99)/100-1)] }
	if len(took) > 0 {
		a.p50, a.p95, a.p99 = at(50), at(95), at(99)
	}
	for _, c := range calls {
		if c.Status == http.StatusTooManyRequests {
			a.refused++
		}
	}
	return a
}
