package cli

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

type resultsOptions struct {
	*factory
	Out       string
	Format    string // "": by Out's name
	Good      bool
	Completed bool
	Join      bool
	Flatten   bool
	Follow    bool
	From      string
	csv       jobs.CSVWriterOptions
	accepted  acceptedOptions
	every     time.Duration // between two looks of Follow; 1 s when 0
}

func newResultsCmd(f *factory) *cobra.Command {
	o := &resultsOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "results [RUN]",
		Short: "Write a run's results as JSONL or CSV, in input order",
		Long: "Writes the results of the rows that have ended. Failed rows are there too, with their error; --good leaves\n" +
			"them out. CSV has the rows' own columns first, as they were, then what became of them.\n" +
			"With --from the results are those of a file that `run` wrote: nothing else is needed.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			if o.From != "" {
				return quietPipe(o.fromFile(args))
			}
			return quietPipe(f.withRun(cmd.Context(), firstArg(args), func(be *backend, run jobs.Run) error {
				return runResults(cmd.Context(), o, be, run)
			}))
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&o.Out, "out", "o", "-", "`FILE` to write, replaced when it is there; - for standard output")
	fl.StringVar(&o.From, "from", "", "in the place of RUN: the JSONL `FILE` that run wrote, as rows ended")
	fl.StringVar(&o.Format, "format", "", "jsonl or csv (default: by the file's name, else jsonl)")
	fl.BoolVar(&o.Good, "good", false, "only rows with a good answer")
	fl.BoolVar(&o.Completed, "completed-order", false, "in the order the rows ended")
	fl.BoolVar(&o.Join, "join", false, "several outputs of an input row side by side, in one line")
	fl.BoolVar(&o.Follow, "follow", false, "go on as rows end, until the run has; again with the same FILE it goes on after what is there")
	fl.BoolVar(&o.Flatten, "flatten", false, "CSV: a column for each field of the answers' JSON objects")
	fl.BoolVar(&o.csv.ExcelSafe, "excel-safe", false, "CSV for a spreadsheet: ' before what would be a formula, byte order mark, CRLF")
	fl.StringVar(&o.csv.Encoding, "encoding", "", "CSV in this `ENCODING`: cp932, utf-16, euc-jp, … (default utf-8)")
	fl.BoolVar(&o.csv.Replace, "replace", false, "write a ? for what --encoding cannot say")
	o.accepted.addFlags(fl)
	return cmd
}

// check refuses what does not go together, before anything is asked.
func (o *resultsOptions) check(cmd *cobra.Command) error {
	switch {
	case o.Format == "" && strings.EqualFold(filepath.Ext(o.Out), ".csv"):
		o.Format = "csv"
	case o.Format == "":
		o.Format = "jsonl"
	case o.Format != "csv" && o.Format != "jsonl":
		return usageErrorf("--format %s: it is jsonl or csv", o.Format)
	}
	for _, name := range []string{"flatten", "excel-safe", "encoding", "replace"} {
		if o.Format != "csv" && cmd.Flags().Changed(name) {
			return usageErrorf("--%s is for CSV: add --format csv, or -o NAME.csv", name)
		}
	}
	if err := jobs.CheckEncoding(o.csv.Encoding); err != nil {
		return &usageError{err}
	}
	if o.csv.Replace && o.csv.Encoding == "" {
		return usageErrorf("--replace goes with --encoding: UTF-8 says everything")
	}
	switch {
	case o.Join && o.Completed:
		return usageErrorf("--join writes input rows, in input order: it does not go with --completed-order")
	case o.Follow && (o.Format == "csv" || o.Join):
		return usageErrorf("--follow writes JSONL as rows end: columns and joined rows are known when the run has ended")
	}
	return o.accepted.check(o)
}

// quietPipe: whoever reads from us may stop reading; there is nothing to say to that.
func quietPipe(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

func runResults(ctx context.Context, o *resultsOptions, be *backend, run jobs.Run) error {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write
	join, err := o.joinOf(run)
	if err != nil {
		return err
	}
	if o.Follow {
		return o.follow(ctx, be, run)
	}
	if o.accepted.Into != "" {
		return o.writeInto(ctx, be, run)
	}
	lines, err := o.lines(ctx, be, run)
	if err != nil {
		return err
	}
	if join != nil {
		l, err := gather(lines, join)
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }() // it was only read
		lines = l.Each
	}
	x := &export{lines: lines, join: join, spec: run.Spec, csv: o.Format == "csv", flatten: o.Flatten, opts: o.csv}
	if err := o.file().write(o.streams, o.Out, x.to); err != nil {
		return err
	}
	if !o.accepted.Accepted { // retention goes by whether somebody has them
		if err := be.store.Fetched(ctx, run.ID); err != nil {
			return err
		}
	}
	return o.sayExported(ctx, be, run, x.n)
}

func (o *resultsOptions) joinOf(run jobs.Run) (*jobs.Join, error) {
	if !o.Join {
		return nil, nil
	}
	join, ok := jobs.JoinOf(run.Spec)
	if !ok {
		return nil, usageErrorf("--join: run %s has one output a row", run.Title())
	}
	return join, nil
}

// lines are the results that are asked for.
func (o *resultsOptions) lines(ctx context.Context, be *backend, run jobs.Run) (lineSource, error) {
	opts := jobs.ResultsOptions{Completed: o.Completed}
	if o.Good || o.accepted.Accepted {
		opts.States = []jobs.State{jobs.Done, jobs.Cached}
	}
	all := func(fn func([]byte) error) error { return be.store.ResultLines(ctx, run.ID, opts, fn) }
	if !o.accepted.Accepted {
		return all, nil
	}
	return be.acceptedLines(ctx, run, all)
}

func (o *resultsOptions) file() resultsFile {
	return resultsFile{what: "results", kept: "the results are still in Redis: the same command writes them once the file can be written"}
}

func (o *resultsOptions) sayExported(ctx context.Context, be *backend, run jobs.Run, n int64) error {
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

// lineSource gives lines of results, each time it is called from the first one.
type lineSource func(fn func(line []byte) error) error

// export writes results in one of their forms.
type export struct {
	lines   lineSource
	join    *jobs.Join // nil: a line a row
	spec    jobs.Spec
	csv     bool
	flatten bool
	keepID  bool
	opts    jobs.CSVWriterOptions
	n       int64 // written
}

func (x *export) to(w io.Writer) error {
	if x.csv {
		return x.toCSV(w)
	}
	return x.toJSONL(w)
}
