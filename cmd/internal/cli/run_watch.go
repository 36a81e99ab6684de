package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/worker"
)

// watchRun shows the run until no row is open or the context ends. When the
// worker stopped by itself, it says so and gives the reason.
func (s *session) watchRun(ctx context.Context, f *factory, run jobs.Run, e *engine, worked <-chan error) (stopped bool, err error) {
	bar := f.newBar(run.Title(), run.Rows)
	defer bar.stop()
	var why stall
	var held sampleHold
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	for {
		counts, err := s.store.Counts(ctx, run.ID)
		if err != nil && ctx.Err() == nil {
			return false, err
		}
		if err == nil {
			bar.show(counts.Total()-counts.Open(), s.runNote(e, counts, f.now()))
			if counts.Open() == 0 {
				return false, nil
			}
			if err := s.stopped(ctx, run); err != nil {
				return false, err
			}
			own := e.worker.Info()
			if err := s.heldSample(ctx, &held, run, counts, own, e.worker.Stats(), f.now()); err != nil {
				return false, err
			}
			s.sayStall(ctx, f.streams, &why, run, counts, f.now(), own)
		}
		select {
		case <-ctx.Done():
			return false, nil
		case err := <-worked:
			return true, err
		case <-t.C:
		}
	}
}

// runNote is what stands beside the bar: calls, tokens, money, and what the
// rest waits for.
func (s *session) runNote(e *engine, counts jobs.Counts, now time.Time) string {
	st := e.worker.Stats()
	parts := []string{fmt.Sprintf("%d in flight", st.InFlight), strings.TrimSpace(humanize.SIWithDigits(float64(e.tokens.Load()), 1, "")) + " tokens"}
	if cost := e.microUS.Load(); cost > 0 {
		parts = append(parts, usd(cost))
	}
	if counts.Bad() > 0 {
		parts = append(parts, humanize.Comma(counts.Bad())+" failed")
	}
	if counts[jobs.Waiting] > 0 {
		parts = append(parts, humanize.Comma(counts[jobs.Waiting])+" "+waitingFor(st, now))
	}
	return strings.Join(parts, ", ")
}

// runClosing is the end of a run: the counts, what it took, what failed, and the exit
// code. about may be nil.
func (f *factory) runClosing(ctx context.Context, counts jobs.Counts, out string, about *runReport) error {
	f.say("%s; results in %s", countsLine(counts), out)
	if about != nil {
		for _, line := range about.short() {
			f.say("%s", line)
		}
	}
	if ctx.Err() != nil {
		f.say("interrupted; the same command goes on with the %s rows that are left", humanize.Comma(counts.Open()))
		return &codedError{code: exitInterrupted}
	}
	if counts.Bad() > 0 {
		f.say("the failed rows are in the file with their error; the same command tries them again, nightshift report has the whole page")
	}
	return exitFor(counts)
}

// waitingFor says what the rows that were put back wait for. The time at which
// they come back at the latest is worth a word only while nothing goes on: a
// line that moves is pulled long before.
func waitingFor(st worker.Stats, now time.Time) string {
	for _, l := range st.Lanes {
		switch {
		case l.Waiting != "" && st.InFlight == 0:
			return fmt.Sprintf("%s, until %s at the latest", l.Waiting, clock(l.Until, now))
		case l.Waiting != "":
			return l.Waiting
		}
	}
	return "waiting for quota"
}
