package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
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
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withRun(cmd.Context(), firstArg(args), func(be *backend, run jobs.Run) error {
				return runRetry(cmd.Context(), o, be, run)
			})
		},
	}
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "only rows of these `CAUSES` or states, as `errors` lists them")
	return cmd
}

func runRetry(ctx context.Context, o *retryOptions, be *backend, run jobs.Run) error {
	n, err := be.retry(ctx, run, o.Only)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s: %s rows enqueued again\n", run.Title(), humanize.Comma(n))
	if n == 0 {
		o.say("nothing to retry; `nightshift errors %s` lists what failed", typed(run))
	}
	return nil
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
