package main

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

var (
	benchFor     = flag.Duration("steady", 5*time.Minute, "BulkAlone: how long is measured after the first minute")
	benchWorkers = flag.Int("workers", 2, "fleet benchmarks: worker processes")
)

// BenchmarkBulkAlone says how much of a limit bulk uses when nobody else is
// there: real processes, and a server that counts exact sliding minutes. The
// first minute, in which the limiter's window is filled, is left out.
//
//	go test ./cmd/nightshift -run '^$' -bench BulkAlone -benchtime 1x -timeout 30m [-steady 1m]
func BenchmarkBulkAlone(b *testing.B) {
	b.Run("requests", func(b *testing.B) {
		bulkAlone(b, quota{rpm: 1200}, 1200, "requests", func(int) string { return words(20) })
	})
	b.Run("tokens", func(b *testing.B) { // 2 % of the rows are fifty times larger
		bulkAlone(b, quota{inputTPM: 200_000}, 1300, "input tokens", func(i int) string {
			if i%50 == 7 {
				return words(50 * 80)
			}
			return words(80)
		})
	})
}

func words(n int) string {
	return strings.TrimSpace(strings.Repeat("some plain words of ordinary text ", n/6+1))
}

// bulkAlone gives the fleet so many rows a minute that it never runs out.
func bulkAlone(b *testing.B, q quota, rowsPerMinute int, unit string, text func(int) string) {
	for b.Loop() {
		f := newFleet(b, q, bulkAloneConf)
		run := f.enqueue("bulk", int(float64(rowsPerMinute)*(benchFor.Minutes()+2)), jobs.Normal, text)
		f.startWorkers(*benchWorkers)
		f.await("the first call", time.Minute, func() bool { return len(f.calls()) > 0 })
		time.Sleep(time.Minute)
		from, before, waits, done := time.Now(), f.redisLoad(), f.waits(), f.counts(run)[jobs.Done]
		time.Sleep(*benchFor)
		to, after := time.Now(), f.redisLoad()
		waits, done = f.waits()-waits, f.counts(run)[jobs.Done]-done
		calls, all := f.calls(), f.counts(run)
		report{b: b, f: f, q: q, unit: unit, from: from, to: to}.print(calls, []string{
			fmt.Sprintf("| reschedules a row that was looked at, the sweep included | %.2f | ≤ 1.3 |", float64(f.waits())/float64(max(1, all.Total()-all[jobs.Queued]))),
			fmt.Sprintf("| reschedules a job after the sweep | %.2f | |", float64(waits)/float64(max(1, done))),
			fmt.Sprintf("| rows left when it ended | %d | > 0 |", all.Open()),
			fmt.Sprintf("| Redis for a job | %s | |", after.perJob(before, done)),
			fmt.Sprintf("| Redis | %s | |", after.since(before)),
			fmt.Sprintf("| workers' CPU for a job | %.0f µs | |", float64(f.stopWorkers().Microseconds())/float64(max(1, all[jobs.Done]))),
		})
	}
	b.ReportMetric(0, "ns/op")
}

// report is what the server admitted from one moment to another.
type report struct {
	b        *testing.B
	f        *fleet
	q        quota
	unit     string
	from, to time.Time
}

func (r report) print(calls []simCall, more []string) {
	limit := max(r.q.rpm, r.q.inputTPM)
	var refused int
	perMinute := make([]int64, int(r.to.Sub(r.from).Minutes())+1) // the last is a moment only
	var sum int64
	for _, c := range calls {
		if c.Status == 429 {
			refused++
		}
		if !c.Admitted || c.At.Before(r.from) || !c.At.Before(r.to) {
			continue
		}
		sum += r.amount(c)
		perMinute[int(c.At.Sub(r.from).Minutes())] += r.amount(c)
	}
	used := float64(sum) / (float64(limit) * r.to.Sub(r.from).Minutes())
	r.b.ReportMetric(used, "used")
	r.b.ReportMetric(float64(refused), "429s")
	rows := append([]string{
		fmt.Sprintf("| share of the limit (%d %s a minute) | %.3f | ≥ 0.96 |", limit, r.unit, used),
		fmt.Sprintf("| minute by minute | %.3f | |", shares(perMinute[:len(perMinute)-1], limit)),
		fmt.Sprintf("| fullest sliding minute | %.3f | ≤ 1 |", float64(r.fullest(calls))/float64(limit)),
		fmt.Sprintf("| provider 429s, of %d calls | %d | 0 |", len(calls), refused),
	}, more...)
	printTable(fmt.Sprintf("bulk alone, %v after the first minute, %d workers", r.to.Sub(r.from).Round(time.Second), len(r.f.workers)), rows)
}

// printTable prints to standard output: package testing cuts a benchmark's log
// after ten lines.
func printTable(title string, rows []string) {
	fmt.Printf("\n%s\n\n| | measured | wanted |\n|---|---|---|\n%s\n\n", title, strings.Join(rows, "\n"))
}

func (r report) amount(c simCall) int64 {
	if r.q.rpm > 0 {
		return 1
	}
	return c.PromptTokens
}

// fullest is the largest amount of any 60 s that begin with a call.
func (r report) fullest(calls []simCall) (most int64) {
	var sum int64
	last := 0
	for first := range calls {
		for last < len(calls) && calls[last].At.Sub(calls[first].At) < time.Minute {
			if calls[last].Admitted {
				sum += r.amount(calls[last])
			}
			last++
		}
		most = max(most, sum)
		if calls[first].Admitted {
			sum -= r.amount(calls[first])
		}
	}
	return most
}

func shares(amounts []int64, limit int64) []float64 {
	out := make([]float64, len(amounts))
	for i, a := range amounts {
		out[i] = float64(a) / float64(limit)
	}
	return out
}
