package main

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

var benchRows = flag.Int("rows", 50_000, "Backlog: rows that wait")

// BenchmarkBacklog has rows wait for 100 permits a second: 60 % of them of
// normal and 40 % of low priority. It measures what they cost Redis and how soon
// those who come behind them have their share.
//
//	go test ./cmd/nightshift -run '^$' -bench Backlog -benchtime 1x -timeout 30m
func BenchmarkBacklog(b *testing.B) {
	for b.Loop() {
		newBacklog(b).measure()
	}
	b.ReportMetric(0, "ns/op")
}

type backlog struct {
	*fleet
	runs  []string // all that were enqueued
	table []string
}

func newBacklog(b *testing.B) *backlog {
	return &backlog{fleet: newFleet(b, quota{rpm: 6000}, bulkAloneConf)}
}

func (l *backlog) row(what, wanted, format string, a ...any) {
	line := fmt.Sprintf("| %s | %s | %s |", what, fmt.Sprintf(format, a...), wanted)
	l.table = append(l.table, line)
	fmt.Println(line) // at once: the whole takes minutes
}

func (l *backlog) add(name string, n int, p jobs.Priority) string {
	run := l.enqueue(name, n, p, func(int) string { return words(30) })
	l.runs = append(l.runs, run)
	return run
}

func (l *backlog) measure() {
	normal := *benchRows * 6 / 10
	l.add("normal", normal, jobs.Normal)
	l.add("low", *benchRows-normal, jobs.Low)
	l.sweep()
	l.steady()
	l.behind("third", "a run of 100 rows behind those that were seen: first result")
	l.high()
	l.row("reschedules a job, the sweep included", "≤ 1.3", "%.2f", float64(l.waits())/float64(l.seen()))
	l.row("provider 429s", "0", "%d", refusals(l.calls()))
	done := l.sum(jobs.Done)
	cpu := l.stopWorkers()
	l.row("workers' CPU for a finished job, the sweep included", "", "%.0f µs", float64(cpu.Microseconds())/float64(done))
	printTable(fmt.Sprintf("%d rows, 100 permits/s, %d workers", *benchRows, *benchWorkers), l.table)
}

// sum is how many rows of all runs are in a state.
func (l *backlog) sum(s jobs.State) (n int64) {
	for _, run := range l.runs {
		n += l.counts(run)[s]
	}
	return n
}

// seen is how many rows a worker has looked at.
func (l *backlog) seen() (n int64) {
	for _, run := range l.runs {
		c := l.counts(run)
		n += c.Total() - c[jobs.Queued]
	}
	return n
}

// sweep lets the workers come and see every row, with a second run right behind
// them that nobody has seen either.
func (l *backlog) sweep() {
	second := l.add("second", 100, jobs.Normal)
	rows := l.sum(jobs.Queued)
	l.startWorkers(*benchWorkers)
	l.await("the first look", time.Minute, func() bool { return l.sum(jobs.Queued) < rows })
	begin, before, cpu, first := time.Now(), l.redisLoad(), l.workerCPU(), time.Duration(0)
	took := l.await("all rows were looked at", 10*time.Minute, func() bool {
		if first == 0 && l.counts(second)[jobs.Done] > 0 {
			first = time.Since(begin)
		}
		return l.sum(jobs.Queued) == 0
	})
	l.row("first looks a second", "≥ 2,000", "%.0f (%.1f s for %d)", float64(rows)/took.Seconds(), took.Seconds(), rows)
	after := l.redisLoad()
	l.row("Redis in the sweep", "", "%s", after.since(before))
	l.row("CPU for a look, the calls of meanwhile included", "", "workers %.0f µs, Redis %s", float64((l.workerCPU()-cpu).Microseconds())/float64(rows), after.perJob(before, rows))
	l.row("calls a second meanwhile", "", "%.0f", float64(l.sum(jobs.Done))/took.Seconds())
	if first == 0 {
		first = took + l.await("a result of the second run", 5*time.Minute, func() bool { return l.counts(second)[jobs.Done] > 0 })
	}
	l.row("100 rows right behind them, not seen either: first result", "≤ 30 s", "%.1f s", first.Seconds())
}

// steady is the minute after the sweep.
func (l *backlog) steady() {
	from, before, cpu, done, waits := time.Now(), l.redisLoad(), l.workerCPU(), l.sum(jobs.Done), l.waits()
	time.Sleep(time.Minute)
	after := l.redisLoad()
	n := l.sum(jobs.Done) - done
	l.row("Redis after the sweep", "≤ 10 % of a core", "%s", after.since(before))
	l.row("CPU for a job", "", "workers %.0f µs, Redis %s", float64((l.workerCPU()-cpu).Microseconds())/float64(max(1, n)), after.perJob(before, n))
	l.row("results a second", "≥ 96", "%.1f", float64(n)/time.Since(from).Seconds())
	l.row("calls a second in steps of 5 s", "", "%.0f", perSecond(l.calls(), from, 12))
	l.row("reschedules a job after the sweep", "", "%.2f", float64(l.waits()-waits)/float64(max(1, n)))
}

func (l *backlog) behind(name, what string) {
	run := l.add(name, 100, jobs.Normal)
	first := l.await("a result of "+name, 5*time.Minute, func() bool { return l.counts(run)[jobs.Done] > 0 })
	l.row(what, "≤ 30 s", "%.1f s after the enqueue", first.Seconds())
	last := l.await("the end of "+name, 5*time.Minute, func() bool { return l.counts(run).Open() == 0 })
	l.row("and its last", "", "%.1f s", (first + last).Seconds())
}

// high puts a run of high priority behind them, and says in steps of 5 s which
// share of the calls was whose.
func (l *backlog) high() {
	l.add("high", 5000, jobs.High)
	from := time.Now()
	time.Sleep(45 * time.Second)
	steps := make([]map[string]int, 9)
	for i := range steps {
		steps[i] = map[string]int{}
	}
	for _, c := range l.calls() {
		if since := c.At.Sub(from); c.Admitted && since >= 0 && since < 45*time.Second {
			name, _, _ := strings.Cut(c.ID, "-")
			steps[since/(5*time.Second)][name]++
			steps[since/(5*time.Second)]["all"]++
		}
	}
	for _, name := range []string{"high", "normal", "low"} {
		var text []string
		for _, s := range steps {
			text = append(text, fmt.Sprintf("%.2f", float64(s[name])/float64(max(1, s["all"]))))
		}
		l.row("share of "+name+" in steps of 5 s", map[string]string{"high": "4/7 = 0.57 within 30 s", "normal": "0.29", "low": "0.14"}[name], "%s", strings.Join(text, " "))
	}
}

// perSecond is how many calls a second came in each step of 5 s.
func perSecond(calls []simCall, from time.Time, steps int) []float64 {
	out := make([]float64, steps)
	for _, c := range calls {
		if i := int(c.At.Sub(from) / (5 * time.Second)); c.At.After(from) && i < steps {
			out[i] += 0.2
		}
	}
	return out
}

func refusals(calls []simCall) (n int) {
	for _, c := range calls {
		if c.Status == 429 {
			n++
		}
	}
	return n
}
