package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// fromFile writes the results of a file that `run` wrote: those of an embedded Redis
// are nowhere else once it has ended.
func (o *resultsOptions) fromFile(args []string) error {
	switch {
	case len(args) > 0:
		return usageErrorf("--from FILE takes the place of RUN: leave one of them out")
	case o.Follow || o.accepted.Accepted:
		return usageErrorf("--from has what is in the file: --follow and --accepted are for a RUN")
	}
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write
	l, err := jobs.OpenResultLines(o.From)
	if errors.Is(err, os.ErrNotExist) {
		return usageErrorf("--from %s: there is no such file", o.From)
	}
	if err != nil {
		return invalid(err)
	}
	defer func() { _ = l.Close() }() // it was only read
	if !o.Completed {
		l.InputOrder()
	}
	x := &export{lines: l.Each, csv: o.Format == "csv", flatten: o.Flatten, opts: o.csv}
	if o.Join {
		if x.join, err = l.Join(); err != nil {
			return usageErrorf("--join: %v", err)
		}
	}
	x.keepID = l.KeepID
	if o.Good {
		x.lines = onlyGood(l.Each)
	}
	file := resultsFile{what: "results", kept: "they are all in " + o.From}
	if err := file.write(o.streams, o.Out, x.to); err != nil {
		return err
	}
	o.sayFrom(x.n, l.Torn)
	return nil
}

func (o *resultsOptions) sayFrom(n int64, torn bool) {
	if torn {
		o.say("the last line of %s is cut off and was left out: its writer was stopped, or is at work", o.From)
	}
	if o.Out != "-" {
		o.say("%s results in %s", humanize.Comma(n), o.Out)
	}
}

// onlyGood leaves out what is no answer.
func onlyGood(all lineSource) lineSource {
	return func(fn func([]byte) error) error {
		return all(func(line []byte) error {
			var r struct {
				Status string `json:"status"`
			}
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("results: %w", err)
			}
			if !jobs.ParseState(r.Status).Good() {
				return nil
			}
			return fn(line)
		})
	}
}
