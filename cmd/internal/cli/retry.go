package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/scheduler"
)

type retryOptions struct {
	*factory
	Only []string
}

func newRetryCmd(f *factory) *cobra.Command {
	o := &retryOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "retry [RUN]",
		Short: "Enqueue the rows of a run that have no good answer again",
		Long: "Enqueues the rows of RUN (default: the latest) that ended without a good answer again: all of them, or with\n" +
			"--only those of some causes or states, as `nightshift errors` lists them: --only rate_limit,expired. What still\n" +
			"keeps the run from working (its brake, its cap, a pause) is said.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("only") && len(slices.DeleteFunc(slices.Clone(o.Only), func(s string) bool { return s == "" })) < max(len(o.Only), 1) {
				return usageErrorf("--only names no cause: give some that `nightshift errors` lists, or leave --only away for all rows; nothing was enqueued")
			}
			return f.withRun(cmd.Context(), firstArg(args), func(be *backend, run jobs.Run) error {
				return f.deed.toRun(cmd.Context(), be, run, func() error { return runRetry(cmd.Context(), o, be, run) })
			})
		},
	}
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "only rows of these `CAUSES` or states, as `errors` lists them")
	return cmd
}

func runRetry(ctx context.Context, o *retryOptions, be *backend, run jobs.Run) error {
	before, err := be.store.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	if err := be.pastDeadline(run, o.Only, o.now()); err != nil && before.Bad() > 0 {
		return err
	}
	n, err := be.retry(ctx, run, o.Only)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s: %s enqueued again\n", run.Title(), plural(int(n), "row"))
	if n == 0 {
		o.say("nothing to retry; `nightshift errors %s` lists what failed", typed(run))
		return nil
	}
	after, err := be.store.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	o.say("before: %s", countsLine(before))
	o.say("now:    %s", countsLine(after))
	return be.retryHeld(ctx, o.streams, run, o.now())
}

// pastDeadline refuses a retry whose rows would end at once.
func (b *backend) pastDeadline(run jobs.Run, only []string, now time.Time) error {
	if run.Spec.Steer.Late(now) == 0 {
		return nil
	}
	name := typed(run)
	again := "nightshift retry " + name
	if len(only) > 0 {
		again += " --only " + shellWord(strings.Join(only, ","))
	}
	return fmt.Errorf("the deadline of %s has passed (%s): its rows would end at once, nothing was enqueued.\n"+
		"  nightshift set %s --deadline TIME (or none) first, then %s",
		run.Title(), showDeadline(b.conf, run.Spec, now), name, again)
}

// retryHeld says what keeps the rows from being called for all the same.
func (b *backend) retryHeld(ctx context.Context, s *streams, run jobs.Run, now time.Time) error {
	if _, tripped, err := b.store.Brake(ctx, run.ID); err != nil {
		return err
	} else if tripped {
		s.say("its brake holds it: nightshift resume %s lets them go on", typed(run))
		return nil
	}
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return err
	}
	if p := pauseOf(pauses, run); p != nil {
		s.say("they wait: %s", pauseSentence(called(p, run), now))
		return nil
	}
	return b.retryAtCap(ctx, s, run, now)
}

// retryAtCap says that a run's cap stops the rows: the pause that a scheduler made of it
// ended with the run's last row, and comes again with the first.
func (b *backend) retryAtCap(ctx context.Context, s *streams, run jobs.Run, now time.Time) error {
	most := run.Spec.Steer.MaxCost
	if most == 0 || b.otherProject(run) != "" {
		return nil
	}
	used, err := b.moneyOf(ctx, run, now)
	if err != nil {
		return err
	}
	counts, err := b.store.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	if words := capStands(typed(run), used, most, counts); words != "" {
		s.say("%s", words)
	}
	return nil
}

// capStands says how far the open rows of a run come before its cap stops them, if they
// cost what those that have ended did; "" where they fit.
func capStands(name string, used, most int64, c jobs.Counts) string {
	called := c[jobs.Done] + c[jobs.Failed] + c[jobs.Blocked] + c[jobs.Truncated]
	row := max(used/max(called, 1), 1)
	fit := min(max(most-used, 0)/row, c.Open())
	goesOn := fmt.Sprintf("nightshift set %s --max-cost %s", name, scheduler.CapDollars(max(scheduler.EnoughCap(used, row*c.Open(), row), most*11/10)))
	switch {
	case used < most*9/10 && fit >= c.Open():
		return ""
	case fit == 0 || used >= most:
		return fmt.Sprintf("they will stand: %s of --max-cost %s is spent. They go on after\n  %s", usd(used), usd(most), goesOn)
	case fit >= c.Open(): // what a call may cost at most has to fit too
		return fmt.Sprintf("they may stand: %s of --max-cost %s is spent. If they do:\n  %s", usd(used), usd(most), goesOn)
	}
	return fmt.Sprintf("about %s of them will go, then the run stands: %s of --max-cost %s is spent. For all:\n  %s",
		humanize.Comma(fit), usd(used), usd(most), goesOn)
}

// checkCauses refuses a word that is no state and no cause of this run: it is
// mistyped, and "0 rows" would not say so.
func (b *backend) checkCauses(ctx context.Context, run jobs.Run, words []string) error {
	if len(words) == 0 {
		return nil
	}
	causes := causeTable{}
	if err := b.eachFailed(ctx, run, causes.add); err != nil {
		return err
	}
	var known []string
	for _, c := range causes.sorted() {
		known = append(known, orElse(c.Cause, c.State))
	}
	known = slices.Compact(known)
	for _, word := range words {
		if len(known) > 0 && !slices.Contains(known, word) {
			return usageErrorf("--only %s: no row of %s failed of it; there are: %s", word, run.Title(), strings.Join(known, ", "))
		}
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
	if err := b.checkCauses(ctx, run, causes); err != nil {
		return 0, err
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
