package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

type retryOptions struct {
	*factory
	Ref  string
	Only []string
}

func newRetryCmd(f *factory) *cobra.Command {
	o := &retryOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "retry [RUN]",
		Short: "Enqueue the rows of a run that have no good answer again",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Ref = firstArg(args)
			return runRetry(cmd.Context(), o)
		},
	}
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "only rows of these `CAUSES` or states, as `errors` lists them")
	return cmd
}

func runRetry(ctx context.Context, o *retryOptions) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	run, err := be.store.Find(ctx, o.Ref)
	if err != nil {
		return err
	}
	n, err := be.retry(ctx, run, o.Only)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s: %s rows enqueued again\n", run.Title(), humanize.Comma(n))
	if n == 0 {
		o.say("nothing to retry; `nightshift errors %s` lists what failed", run.Title())
	}
	return nil
}

// retry takes each word of only as a state or as a cause.
func (b *backend) retry(ctx context.Context, run jobs.Run, only []string) (int64, error) {
	var states []jobs.State
	var causes []string
	for _, word := range only {
		if s := jobs.ParseState(word); s.Terminal() {
			if s.Good() {
				return 0, usageErrorf("--only %s: those rows are good", word)
			}
			states = append(states, s)
		} else {
			causes = append(causes, word)
		}
	}
	// Two questions, since a filter means rows of these states and causes.
	var n int64
	for _, filter := range []jobs.RetryFilter{{States: states}, {Causes: causes}} {
		if len(filter.States) == 0 && len(filter.Causes) == 0 && len(only) > 0 {
			continue
		}
		more, err := b.store.Retry(ctx, run.ID, filter)
		n += more
		if err != nil || len(only) == 0 {
			return n, err
		}
	}
	return n, nil
}

type cancelOptions struct {
	*factory
	Ref string
	Now bool
}

func newCancelCmd(f *factory) *cobra.Command {
	o := &cancelOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run's rows that are not finished",
		Long: "Ends the rows of RUN that are not finished. Calls in flight finish, and their answers are kept, since they\n" +
			"are paid for; --now aborts them, and they stay charged at their estimate.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Ref = args[0]
			return runCancel(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Now, "now", false, "abort calls in flight")
	return cmd
}

func runCancel(ctx context.Context, o *cancelOptions) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	run, err := be.store.Find(ctx, o.Ref)
	if err != nil {
		return err
	}
	rep, err := be.store.Cancel(ctx, run.ID)
	if err != nil {
		return err
	}
	if err := be.dropTickets(ctx, run); err != nil {
		return err
	}
	line := []string{humanize.Comma(rep.Cancelled) + " rows cancelled", humanize.Comma(rep.Finished) + " had finished and stay"}
	fmt.Fprintf(o.Out, "%s: %s\n", run.Title(), strings.Join(line, ", "))
	return o.inFlight(ctx, be, run, rep.InFlight)
}

// inFlight says what becomes of calls that are on their way.
func (o *cancelOptions) inFlight(ctx context.Context, be *backend, run jobs.Run, calls int64) error {
	switch {
	case o.Now:
		if err := worker.Abort(ctx, be.rdb, run.ID, o.now()); err != nil {
			return err
		}
		o.say("%s in flight are aborted within a second and stay charged at their estimate", plural(int(calls), "call"))
	case calls > 0:
		o.say("%s in flight: they finish, and good answers are kept (--now aborts them)", plural(int(calls), "call"))
	}
	return nil
}

// dropTickets gives the run's places in the line to those behind it.
func (b *backend) dropTickets(ctx context.Context, run jobs.Run) error {
	lane, err := limiter.ParseLane(run.Spec.Lane)
	if err != nil {
		return err
	}
	return b.lim.DropLeaf(ctx, lane, runPath(run).Leaf())
}

// runPath is on whose behalf a run's calls are made.
func runPath(run jobs.Run) limiter.Path {
	s := run.Spec
	return limiter.Path{
		Organization: s.Organization, Tenant: s.Tenant, Team: s.Team, Run: run.ID, Priority: limiter.Priority(s.Priority),
	}
}
