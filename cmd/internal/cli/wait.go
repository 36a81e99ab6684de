package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

type waitOptions struct {
	*factory
	Timeout time.Duration
	Tell    tellFlags
}

func newWaitCmd(f *factory) *cobra.Command {
	o := &waitOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "wait [RUN]",
		Short: "Wait until a run has ended, and exit with its code",
		Long: "Waits until every row of RUN (default: the latest) has ended. Exits with 0 when all rows are good\n" +
			"and with 3 when some are not, so that `enqueue && wait && results` works from cron; with 4 as soon as the run's\n" +
			"brake or its --max-cost has stopped it, with 5 when rows ended at its deadline, and with 124, as timeout(1) does, when\n" +
			"--timeout has run out: the run goes on.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Tell.check(); err != nil {
				return err
			}
			return f.withRun(cmd.Context(), firstArg(args), func(be *backend, run jobs.Run) error {
				return o.Tell.after(cmd.Context(), f, be, run, runWait(cmd.Context(), o, be, run))
			})
		},
	}
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, "give up after this long, with exit code 124; the run goes on")
	o.Tell.addThenFlags(cmd.Flags())
	return cmd
}

func firstArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func runWait(ctx context.Context, o *waitOptions, be *backend, run jobs.Run) error {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	counts, err := be.follow(ctx, o.streams, run)
	if err != nil {
		if o.Timeout > 0 && ctx.Err() == context.DeadlineExceeded {
			return &codedError{exitTimeout, fmt.Errorf("%s has not ended after %s and goes on: %s open", run.Title(), o.Timeout, plural(int(counts.Open()), "row"))}
		}
		return err
	}
	o.say("%s: %s", run.Title(), countsLine(counts))
	if note := be.lateNote(ctx, run, o.now()); note != "" {
		o.say("%s", note)
	}
	return firstError(be.missedError(ctx, run), exitFor(counts))
}

// follow shows a run's progress until no row is open.
func (b *backend) follow(ctx context.Context, s *streams, run jobs.Run) (jobs.Counts, error) {
	var counts jobs.Counts
	bar := s.newBar(run.Title(), run.Rows)
	defer bar.stop()
	var why stall
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		c, err := b.store.Counts(ctx, run.ID)
		if err != nil {
			return counts, err
		}
		counts = c
		if counts.Open() == 0 {
			return counts, nil
		}
		if err := b.stopped(ctx, run); err != nil {
			return counts, err
		}
		bar.show(counts.Total()-counts.Open(), countsLine(counts))
		b.sayStall(ctx, s, &why, run, counts, time.Now())
		select {
		case <-ctx.Done():
			return counts, ctx.Err()
		case <-t.C:
		}
	}
}

// exitFor is the exit code of a run that has ended.
func exitFor(c jobs.Counts) error {
	if c.Bad() > 0 {
		return &codedError{code: exitRowsFailed}
	}
	return nil
}

// countsLine says where the rows are, in the order of their way.
func countsLine(c jobs.Counts) string {
	line := ""
	for s := jobs.Queued; s < jobs.NumStates; s++ {
		if c[s] > 0 {
			if line != "" {
				line += ", "
			}
			line += humanize.Comma(c[s]) + " " + s.String()
		}
	}
	return orElse(line, "no rows")
}
