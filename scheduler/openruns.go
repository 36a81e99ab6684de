package scheduler

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/limiter"
)

// openRun is a run that is not finished.
type openRun struct {
	jobs.Run
	counts jobs.Counts
	queue  string
}

func (c *Control) eachOpen(ctx context.Context, f func(openRun)) error {
	runs, err := c.Store.Runs(ctx)
	if err != nil {
		return fmt.Errorf("listing runs: %w", err)
	}
	for _, run := range runs {
		counts, err := c.Store.Counts(ctx, run.ID)
		if err != nil {
			return fmt.Errorf("run %s: %w", run.ID, err)
		}
		if counts.Open() > 0 {
			f(openRun{run, counts, jobs.Queue(run.Spec.Priority, run.Spec.Lane)})
		}
	}
	return nil
}

// inFlight counts the target's rows that workers hold.
func (c *Control) inFlight(ctx context.Context, t Target) (n int64, err error) {
	queue := t.Queue()
	err = c.eachOpen(ctx, func(o openRun) {
		if o.ID == t.Run || o.Spec.Class == t.Class || o.queue == queue {
			n += o.counts[jobs.Running]
		}
	})
	return n, err
}

// heldBy gives the pauses that hold a target: its own; of a class also those of
// queues that stand for a health pause while one of them is overridden; of a run
// also those of its class and queue; of a queue all that close it.
func (c *Control) heldBy(ctx context.Context, t Target, r Reconciled) ([]limiter.Pause, error) {
	if t.Lane != "" {
		return r.Holding[t.Queue()], nil
	}
	targets := []Target{t}
	if t.Run != "" {
		run, err := c.Store.Load(ctx, t.Run)
		if err != nil {
			return nil, err
		}
		targets = append(targets, Target{Class: run.Spec.Class}, Target{Lane: run.Spec.Lane, Priority: run.Spec.Priority})
	}
	var out []limiter.Pause
	for _, p := range r.Pauses {
		for _, t := range targets {
			if targetOf(p) == t || t.Class != "" && p.Lane != "" && p.Reason == ReasonHealth {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// pause is the target as the limiter names it.
func (t Target) pause() limiter.Pause {
	return limiter.Pause{Class: t.Class, Run: t.Run, Lane: t.Lane, Priority: limiter.Priority(t.Priority)}
}

func targetOf(p limiter.Pause) Target {
	return Target{Class: p.Class, Run: p.Run, Lane: p.Lane, Priority: jobs.Priority(p.Priority)}
}
