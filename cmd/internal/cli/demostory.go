package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// story tells what a demo does, a line every five seconds and one for each turn
// that things take.
type story struct {
	o     *demoOptions
	api   *demoAPI
	b     *backend
	run   jobs.Run
	start time.Time
	ended time.Duration // when the run had ended; 0 before

	told   map[string]bool
	events time.Time // of the last event that was told
	beat   int
}

// demoTurns are what the story tells by the clock.
var demoTurns = []struct {
	at   time.Duration
	text string
}{
	{0, fmt.Sprintf("Night: a bulk run of %d rows has the quota almost for itself, at an even pace.", demoRows)},
	{demoMorning, "Morning: people begin to ask, seven times as many. Bulk gives back what it had borrowed."},
	{demoSlowFrom, "The provider becomes slow: answers take nine times as long."},
	{demoSlowTo, "The provider is as fast as before."},
}

func (s *story) look(ctx context.Context) error {
	at := time.Since(s.start)
	for _, t := range demoTurns {
		if at >= t.at {
			s.once(at, t.text)
		}
	}
	counts, err := s.b.store.Counts(ctx, s.run.ID)
	if err != nil {
		return err
	}
	if err := s.tellEvents(ctx, at); err != nil {
		return err
	}
	if counts.Open() == 0 && s.ended == 0 {
		s.ended = at
		s.once(at, "The run has ended: "+countsLine(counts)+".")
	}
	if s.beat++; s.beat%5 == 1 {
		return s.tellRates(ctx, at, counts)
	}
	return nil
}

func (s *story) once(at time.Duration, text string) {
	if s.told == nil {
		s.told = map[string]bool{}
	}
	if !s.told[text] {
		s.told[text] = true
		fmt.Fprintf(s.o.Out, "%5s  %s\n", stamp(at), text)
	}
}

func stamp(at time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(at.Minutes()), int(at.Seconds())%60)
}

// tellEvents passes on what the scheduler decided.
func (s *story) tellEvents(ctx context.Context, at time.Duration) error {
	list, err := s.b.lim.Events(ctx, s.start, 0)
	if err != nil {
		return err
	}
	for _, e := range list {
		switch e.Kind {
		case limiter.EventThrottle, limiter.EventPause, limiter.EventResume, limiter.EventHealth, limiter.EventAlert:
			if e.At.After(s.events) {
				s.events = e.At
				fmt.Fprintf(s.o.Out, "%5s  Scheduler: %s.\n", stamp(at), told(e.Text, e.At))
			}
		}
	}
	return nil
}

// tellRates prints what the last five seconds were like at the provider, and how
// long people waited in the last ten or so.
func (s *story) tellRates(ctx context.Context, at time.Duration, counts jobs.Counts) error {
	now := time.Now()
	samples, err := gemini.ReadMeter(ctx, s.b.rdb, s.b.conf.scope(), gemini.Step5s, now.Add(-10*time.Second), now)
	if err != nil {
		return err
	}
	var chat gemini.UsageSample
	for _, x := range samples {
		if x.Class == "interactive" {
			chat.Merge(x)
		}
	}
	health, err := s.b.control().Status(ctx)
	if err != nil {
		return err
	}
	bulk, people := s.api.lately(now, 5*time.Second)
	fmt.Fprintf(s.o.Out, "%5s  bulk %4.1f/s %-14s chat %4.1f/s  p95 %-6s %3d rows to go  %s\n", stamp(at),
		bulk, blocks(bulk, 6), people, orElse(seconds(chat.Latency.Quantile(0.95)), "-"), counts.Open(), phaseMark(health.Phase))
	return nil
}

func blocks(v, full float64) string {
	return strings.Repeat("█", min(14, int(v/full*14+0.5)))
}

func phaseMark(p scheduler.Phase) string {
	if p == scheduler.Healthy {
		return ""
	}
	return "[" + string(p) + "]"
}

// print is the table at the end.
func (r *demoResult) print(o *demoOptions) {
	fmt.Fprintf(o.Out, "\nThe same people, rows and provider, measured side by side:\n\n")
	t := newTable("", "SDK WITH ITS RETRIES", "BEHIND NIGHTSHIFT").numeric(1, 2)
	t.row("people who asked", len(r.direct.heard), len(r.gated.heard))
	t.row("… refused at the first try", share100(failures(r.direct.heard), len(r.direct.heard)), share100(failures(r.gated.heard), len(r.gated.heard)))
	t.row("… p95 until they had an answer", seconds(p95(r.direct.heard)), seconds(p95(r.gated.heard)))
	t.row(fmt.Sprintf("bulk: %d rows took", demoRows), seconds(r.direct.bulk), seconds(r.gated.bulk))
	t.row("calls that the provider counted", r.direct.calls, r.gated.calls)
	t.row("… of them for nothing (429)", r.direct.wasted, r.gated.wasted)
	t.render(o.Out)
	fmt.Fprintf(o.Out, "\nFor %s the provider itself was slow; no gate helps against that. The bulk run had the night to itself; it is the\n"+
		"people who got their quota back. `nightshift init` begins with your own project.\n", demoSlowTo-demoSlowFrom)
}

func share100(n, of int) string {
	return fmt.Sprintf("%d (%s)", n, percent(ratio(int64(n), int64(of))))
}
