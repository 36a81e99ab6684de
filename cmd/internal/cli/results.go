package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

type resultsOptions struct {
	*factory
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
			return f.withRun(cmd.Context(), firstArg(args), func(be *backend, run jobs.Run) error {
				return runResults(cmd.Context(), o, be, run)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&o.Out, "out", "o", "-", "`FILE` to write, replaced when it is there; - for standard output")
	fl.BoolVar(&o.Good, "good", false, "only rows with a good answer")
	fl.BoolVar(&o.Completed, "completed-order", false, "in the order the rows ended")
	return cmd
}

func runResults(ctx context.Context, o *resultsOptions, be *backend, run jobs.Run) error {
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
	target, regular := fileBehind(o.Out)
	if !regular {
		return writeThrough(ctx, be, run, opts, target)
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), ".nightshift-*")
	if err != nil {
		return 0, fmt.Errorf("results: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when it was renamed
	n, err := writeResults(ctx, be, run, opts, tmp)
	err = firstError(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), target)
	}
	if err != nil {
		return n, fmt.Errorf("results: %w; the results are still in Redis", err)
	}
	return n, nil
}

// fileBehind follows links to what a path means, and tells whether it may be
// replaced: a device or a pipe is written to instead.
func fileBehind(path string) (target string, regular bool) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	st, err := os.Stat(path)
	return path, err != nil || st.Mode().IsRegular()
}

// writeThrough writes to something that is there and is no plain file.
func writeThrough(ctx context.Context, be *backend, run jobs.Run, opts jobs.ResultsOptions, path string) (int64, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return 0, fmt.Errorf("results: %w", err)
	}
	n, err := writeResults(ctx, be, run, opts, f)
	if err := firstError(err, f.Close()); err != nil {
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
