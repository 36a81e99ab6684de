package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

type purgeOptions struct {
	*factory
	Yes         bool
	Cancel      bool
	KeepResults bool
}

func newPurgeCmd(f *factory) *cobra.Command {
	o := &purgeOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "purge RUN",
		Short: "Remove a run, its rows and its results for good",
		Long: "Removes RUN: its record, rows, results and tasks in Redis, and the files that its results were drained to.\n" +
			"--keep-results first writes what is not in files yet, and leaves the files: gzipped JSON lines that any program reads.\n" +
			"A results file that you had written yourself is not touched.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withRun(cmd.Context(), args[0], func(be *backend, run jobs.Run) error {
				return runPurge(cmd.Context(), o, be, run)
			})
		},
	}
	cmd.Flags().BoolVar(&o.Yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&o.Cancel, "cancel", false, "also when rows are still open: they are cancelled, and answers to calls in flight are dropped")
	cmd.Flags().BoolVar(&o.KeepResults, "keep-results", false, "leave the results in files")
	return cmd
}

func runPurge(ctx context.Context, o *purgeOptions, be *backend, run jobs.Run) error {
	counts, err := be.store.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	if open := counts.Open(); open > 0 && !o.Cancel {
		return fmt.Errorf("%s has %s open rows: wait for them (`nightshift wait %s`) or give --cancel, which ends them", run.Title(), humanize.Comma(open), typed(run))
	}
	if err := o.confirm(run, counts); err != nil {
		return err
	}
	kept, err := o.keepResults(ctx, be, run, counts)
	if err != nil {
		return err
	}
	rep, err := be.store.Purge(ctx, run.ID, jobs.PurgeOptions{Drained: !o.KeepResults})
	var elsewhere *jobs.DrainedElsewhereError
	if errors.As(err, &elsewhere) {
		return fmt.Errorf("%w; --keep-results removes the run and leaves them", err)
	}
	if err != nil {
		return err
	}
	if err := be.dropTickets(ctx, run); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s: removed %s\n", run.Title(), purged(rep, counts))
	if rep.Kept != "" {
		o.say("%s results stay in %s", humanize.Comma(kept), rep.Kept)
	}
	return nil
}

// purged says what was removed.
func purged(rep jobs.PurgeReport, c jobs.Counts) string {
	parts := []string{humanize.Comma(rep.Rows) + " rows"}
	if open := c.Open(); open > 0 {
		parts = append(parts, humanize.Comma(open)+" of them open")
	}
	if rep.Files > 0 {
		parts = append(parts, plural(rep.Files, "file")+" of results")
	}
	return strings.Join(parts, ", ")
}

// keepResults writes what is in Redis only to files, with --keep-results, and
// says how many results there are in all of them. Rows have their ends first, so
// that nothing is left out.
func (o *purgeOptions) keepResults(ctx context.Context, be *backend, run jobs.Run, c jobs.Counts) (int64, error) {
	if !o.KeepResults {
		return 0, nil
	}
	if c.Open() > 0 {
		if _, err := be.store.Cancel(ctx, run.ID); err != nil {
			return 0, err
		}
	}
	rep, err := be.store.Drain(ctx, run.ID, filepath.Join(be.conf.stateDir(), "results"))
	return rep.Total, err
}

// confirm asks the person at the keyboard, or refuses where nobody is.
func (o *purgeOptions) confirm(run jobs.Run, c jobs.Counts) error {
	if o.Yes {
		return nil
	}
	what := fmt.Sprintf("%s, %s rows, %s of them with a good answer", run.Title(), humanize.Comma(c.Total()), humanize.Comma(c[jobs.Done]+c[jobs.Cached]))
	if o.KeepResults {
		what += " (results stay in files)"
	}
	fmt.Fprintf(o.Err, "Remove %s, for good? [y/N] ", what)
	line, err := bufio.NewReader(o.In).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	}
	o.say("")
	if err != nil {
		return usageErrorf("nobody answers: --yes removes without asking")
	}
	return errors.New("nothing was removed")
}
