package cli

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

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
			return f.withRun(cmd.Context(), args[0], func(be *backend, run jobs.Run) error {
				return f.deed.toRun(cmd.Context(), be, run, func() error { return runCancel(cmd.Context(), o, be, run) })
			})
		},
	}
	cmd.Flags().BoolVar(&o.Now, "now", false, "abort calls in flight")
	return cmd
}

func runCancel(ctx context.Context, o *cancelOptions, be *backend, run jobs.Run) error {
	rep, err := be.store.Cancel(ctx, run.ID)
	if err != nil {
		return err
	}
	if err := be.dropTickets(ctx, run); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s: %s\n", run.Title(), cancelled(rep))
	return o.inFlight(ctx, be, run, rep.InFlight)
}

func cancelled(rep jobs.CancelReport) string {
	line := humanize.Comma(rep.Cancelled) + " rows cancelled"
	if rep.Before > 0 {
		line += fmt.Sprintf(", %s were cancelled before", humanize.Comma(rep.Before))
	}
	if rep.Finished > 0 {
		line += fmt.Sprintf(", %s had finished and stay", humanize.Comma(rep.Finished))
	}
	return line
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
