// Command benchtable measures every speed bar of the project, one benchmark after the
// other, and prints one Markdown table: what was measured, the bound, and whether it was
// held, with machine, versions and commit. A bar that a benchmark does not print any more
// is said to be missing. Run it on a machine that does nothing else:
//
//	go run ./cmd/internal/benchtable            # about an hour and a half
//	go run ./cmd/internal/benchtable --quick    # smaller inputs, to see that all of it runs
//	go run ./cmd/internal/benchtable --list
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	missed, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, pflag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(2)
	case missed > 0:
		os.Exit(1)
	}
}

type options struct {
	only       *regexp.Regexp
	list       bool
	quick      bool
	keep, from string
}

func parse(args []string, errs io.Writer) (o options, err error) {
	fl := pflag.NewFlagSet("benchtable", pflag.ContinueOnError)
	fl.SetOutput(errs)
	only := fl.String("only", "", "bars whose group, words or source match this `REGEXP`")
	fl.BoolVar(&o.list, "list", false, "list the bars and their commands, and measure nothing")
	fl.BoolVar(&o.quick, "quick", false, "smaller inputs and fewer rounds: figures for a look, not for a claim")
	fl.StringVar(&o.keep, "keep", "", "keep what each benchmark printed in this `DIR`")
	fl.StringVar(&o.from, "from", "", "measure nothing: read what was kept in this `DIR`")
	if err := fl.Parse(args); err != nil {
		return o, err
	}
	if fl.NArg() > 0 {
		return o, fmt.Errorf("%q: want flags only; choose bars with --only", fl.Arg(0))
	}
	if o.only, err = regexp.Compile("(?i)" + *only); err != nil {
		return o, fmt.Errorf("--only: %w", err)
	}
	return o, nil
}

// run gives how many bars were missed, or could not be measured.
func run(ctx context.Context, args []string, w, errs io.Writer) (missed int, err error) {
	o, err := parse(args, errs)
	if err != nil {
		return 0, err
	}
	list := chosen(o.only)
	if len(list) == 0 {
		return 0, fmt.Errorf("--only: no bar matches; see --list")
	}
	if o.list {
		printList(w, list)
		return 0, nil
	}
	began := time.Now()
	m, err := machineNow(ctx)
	if err != nil {
		return 0, err
	}
	r := runner{root: m.root, quick: o.quick, keep: o.keep, from: o.from, progress: errs}
	results, err := r.measure(ctx, list)
	if err != nil {
		return 0, err
	}
	m.ended(time.Since(began))
	return printTable(w, results, m, o.quick), nil
}
