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
	"nightshift/limiter"
	"nightshift/scheduler"
)

type purgeOptions struct {
	*factory
	Yes         bool
	Cancel      bool
	KeepResults bool
	Finished    bool
	OlderThan   string
	DryRun      bool
}

func newPurgeCmd(f *factory) *cobra.Command {
	o := &purgeOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "purge [RUN...]",
		Short: "Remove runs, their rows and their results for good",
		Long: "Removes each RUN: its record, rows, results and tasks in Redis, and the files that its results were drained to;\n" +
			"or, without RUN, all that --finished or --older-than choose. It shows what they take, and asks.\n" +
			"--keep-results first writes what is not in files yet, and leaves the files: gzipped JSON lines that any program reads.\n" +
			"A results file that you had written yourself is not touched. Rows of later runs can take no answers from a run that is gone.",
		RunE: func(cmd *cobra.Command, args []string) error { return runPurge(cmd.Context(), o, args) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&o.Finished, "finished", false, "all runs that have no open rows")
	fl.StringVar(&o.OlderThan, "older-than", "", "all runs that ended this `TIME` ago or longer: 30d, 2w, 36h")
	fl.BoolVar(&o.DryRun, "dry-run", false, "show what would go, and remove nothing")
	fl.BoolVar(&o.Yes, "yes", false, "do not ask")
	fl.BoolVar(&o.Cancel, "cancel", false, "also when rows are still open: they are cancelled, and answers to calls in flight are dropped")
	fl.BoolVar(&o.KeepResults, "keep-results", false, "leave the results in files")
	f.addOutputFlag(cmd)
	return cmd
}

func runPurge(ctx context.Context, o *purgeOptions, refs []string) error {
	if err := o.check(refs); err != nil {
		return err
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	list, err := o.choose(ctx, be, refs)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		o.deed.changesNothing()
		o.say("no run is to be removed")
		return nil
	}
	if o.DryRun {
		return o.print(purgeTable(list, o.now()), list)
	}
	if err := o.confirm(list); err != nil {
		return err
	}
	var gone []string
	defer func() {
		o.deed.says(plural(len(gone), "run") + " removed: " + orElse(strings.Join(gone, ", "), "none"))
	}()
	o.deed.about(titles(list))
	o.deed.changed(doomedWords(list), "")
	for _, d := range list {
		if err := o.one(ctx, be, d); err != nil {
			return err
		}
		gone = append(gone, d.run.Title())
	}
	o.deed.changed(doomedWords(list), "removed")
	return nil
}

func titles(list []doomed) string {
	var out []string
	for _, d := range list {
		out = append(out, d.run.Title())
	}
	return strings.Join(out, ", ")
}

func (o *purgeOptions) check(refs []string) error {
	chosen := o.Finished || o.OlderThan != ""
	switch {
	case len(refs) == 0 && !chosen:
		return usageErrorf("purge what? Name runs, or give --finished or --older-than 30d")
	case len(refs) > 0 && chosen:
		return usageErrorf("name runs, or choose them by --finished and --older-than: not both")
	case chosen && o.Cancel:
		return usageErrorf("--cancel is for runs that are named: --finished and --older-than leave open ones alone")
	}
	if o.OlderThan != "" {
		if _, err := parseDays(o.OlderThan); err != nil {
			return usageErrorf("--older-than %v", err)
		}
	}
	return nil
}

// one removes one run.
func (o *purgeOptions) one(ctx context.Context, be *backend, d doomed) error {
	kept, err := o.keepResults(ctx, be, d.run, d.counts)
	if err != nil {
		return err
	}
	rep, err := be.store.Purge(ctx, d.run.ID, jobs.PurgeOptions{Drained: !o.KeepResults})
	var elsewhere *jobs.DrainedElsewhereError
	if errors.As(err, &elsewhere) {
		return fmt.Errorf("%w; --keep-results removes the run and leaves them", err)
	}
	if err != nil {
		return err
	}
	if err := be.dropTickets(ctx, d.run); err != nil {
		return err
	}
	what := purged(rep, d.counts)
	fmt.Fprintf(o.Out, "%s: removed %s\n", d.run.Title(), what)
	gone := limiter.Event{Kind: scheduler.EventRun, Subject: d.run.ID, By: o.operator(), Text: fmt.Sprintf("run %s, purge: removed %s", d.run.Title(), what)}
	if err := be.lim.Note(ctx, gone); err != nil {
		o.say("warning: no event tells that %s was removed: %v", d.run.Title(), err)
	}
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
func (o *purgeOptions) confirm(list []doomed) error {
	if o.Yes {
		return nil
	}
	if len(list) > 1 {
		purgeTable(list, o.now()).render(o.Err)
	}
	what := doomedWords(list)
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
		return errors.New("nothing was removed, since nobody answers here: --yes removes without asking")
	}
	return errors.New("nothing was removed")
}
