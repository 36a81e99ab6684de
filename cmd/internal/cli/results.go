package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

type resultsOptions struct {
	*factory
	Ref       string
	Out       string
	Good      bool
	Completed bool
}

func newResultsCmd(f *factory) *cobra.Command {
	o := &resultsOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "results [RUN]",
		Short: "Write a run's results, one JSON object a line, in input order",
		Long:  "Writes the results of the rows that have ended. Failed rows are there too, with their error; --good leaves them out.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Ref = firstArg(args)
			return runResults(cmd.Context(), o)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&o.Out, "out", "o", "-", "`FILE` to write, replaced when it is there; - for standard output")
	fl.BoolVar(&o.Good, "good", false, "only rows with a good answer")
	fl.BoolVar(&o.Completed, "completed-order", false, "in the order the rows ended")
	return cmd
}

func runResults(ctx context.Context, o *resultsOptions) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	run, err := be.store.Find(ctx, o.Ref)
	if err != nil {
		return err
	}
	opts := jobs.ResultsOptions{Completed: o.Completed}
	if o.Good {
		opts.States = []jobs.State{jobs.Done, jobs.Cached}
	}
	n, err := o.export(ctx, be, run, opts)
	if err != nil {
		return err
	}
	counts, err := be.store.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	if open := counts.Open(); open > 0 {
		o.say("%s of %s rows; %s are not finished", humanize.Comma(n), humanize.Comma(run.Rows), humanize.Comma(open))
	} else if o.Out != "-" {
		o.say("%s results in %s", humanize.Comma(n), o.Out)
	}
	return nil
}

// export writes to a file beside the target and renames it, so that nobody
// ever reads half of it.
func (o *resultsOptions) export(ctx context.Context, be *backend, run jobs.Run, opts jobs.ResultsOptions) (int64, error) {
	if o.Out == "-" {
		return writeResults(ctx, be, run, opts, o.streams.Out)
	}
	tmp, err := os.CreateTemp(filepath.Dir(o.Out), ".nightshift-*")
	if err != nil {
		return 0, fmt.Errorf("results: %w", err)
	}
	defer os.Remove(tmp.Name())
	n, err := writeResults(ctx, be, run, opts, tmp)
	err = firstError(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), o.Out)
	}
	if err != nil {
		return n, fmt.Errorf("results: %w; the results are still in Redis", err)
	}
	return n, nil
}

func writeResults(ctx context.Context, be *backend, run jobs.Run, opts jobs.ResultsOptions, to io.Writer) (int64, error) {
	w := bufio.NewWriterSize(to, 1<<16)
	var n int64
	err := be.store.ResultLines(ctx, run.ID, opts, func(line []byte) error {
		n++
		if _, err := w.Write(line); err != nil {
			return err
		}
		return w.WriteByte('\n')
	})
	return n, firstError(err, w.Flush())
}

// errorsOptions are those of the errors command.
type errorsOptions struct {
	*factory
	Ref  string
	Rows bool
}

func newErrorsCmd(f *factory) *cobra.Command {
	o := &errorsOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "errors [RUN]",
		Short: "Show why rows have no good answer, by cause",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Ref = firstArg(args)
			return runErrors(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Rows, "rows", false, "every row instead of one example a cause")
	f.addOutputFlag(cmd)
	return cmd
}

// cause is what several rows failed of.
type cause struct {
	State   string `json:"state"`
	Cause   string `json:"cause"`
	Rows    int64  `json:"rows"`
	Example string `json:"example"`
	Message string `json:"message"`
}

type failedRow struct {
	Row      string `json:"id"`
	State    string `json:"state"`
	Cause    string `json:"cause"`
	Status   int    `json:"status,omitempty"`
	Attempts int    `json:"attempts"`
	Message  string `json:"message"`
}

var badStates = []jobs.State{jobs.Failed, jobs.Blocked, jobs.Truncated, jobs.Expired}

func runErrors(ctx context.Context, o *errorsOptions) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	run, err := be.store.Find(ctx, o.Ref)
	if err != nil {
		return err
	}
	causes := map[string]*cause{}
	var rows []failedRow
	err = be.store.Results(ctx, run.ID, jobs.ResultsOptions{States: badStates}, func(r jobs.Result) error {
		row := failedRow{Row: r.Row, State: r.Status, Attempts: r.Attempts}
		if r.Error != nil {
			row.Cause, row.Status, row.Message = r.Error.Cause, r.Error.Status, r.Error.Message
		}
		if o.Rows {
			rows = append(rows, row)
		}
		c := causes[row.State+" "+row.Cause]
		if c == nil {
			c = &cause{State: row.State, Cause: row.Cause, Example: row.Row, Message: row.Message}
			causes[row.State+" "+row.Cause] = c
		}
		c.Rows++
		return nil
	})
	if err != nil {
		return err
	}
	if o.Rows {
		return o.printRows(rows)
	}
	return o.printCauses(run, causes)
}

func (o *errorsOptions) printRows(rows []failedRow) error {
	t := newTable("ROW", "STATE", "CAUSE", "STATUS", "ATTEMPTS", "MESSAGE").numeric(3, 4)
	for _, r := range rows {
		t.row(r.Row, r.State, r.Cause, r.Status, r.Attempts, r.Message)
	}
	return o.print(t, rows)
}

func (o *errorsOptions) printCauses(run jobs.Run, causes map[string]*cause) error {
	var list []*cause
	for _, c := range causes {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *cause) int {
		if a.Rows != b.Rows {
			return int(b.Rows - a.Rows)
		}
		return strings.Compare(a.Cause, b.Cause)
	})
	if len(list) == 0 {
		o.say("%s: no row has failed", run.Title())
		if o.opts.output != "json" {
			return nil
		}
		list = []*cause{}
	}
	t := newTable("ROWS", "STATE", "CAUSE", "EXAMPLE", "MESSAGE").numeric(0)
	for _, c := range list {
		t.row(humanize.Comma(c.Rows), c.State, c.Cause, c.Example, c.Message)
	}
	if err := o.print(t, list); err != nil || len(list) == 0 {
		return err
	}
	o.say("again: nightshift retry %s --only %s", run.Title(), orElse(list[0].Cause, list[0].State))
	return nil
}
