package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/worker"
)

type errorsOptions struct {
	*factory
	Rows    bool
	Unknown bool
}

func newErrorsCmd(f *factory) *cobra.Command {
	o := &errorsOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "errors [RUN]",
		Short: "Show why rows have no good answer, by cause",
		Args:  cobra.MaximumNArgs(1),
		Long: "Adds the rows of a run without a good answer up by cause. With --unknown it shows instead what the API has\n" +
			"answered to any call, of people too, that nobody can explain: without keys, project names and prompts, so\n" +
			"that it can go into a bug report.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Unknown {
				return runUnknown(cmd.Context(), o, args)
			}
			return f.withRun(cmd.Context(), firstArg(args), func(be *backend, run jobs.Run) error {
				return runErrors(cmd.Context(), o, be, run)
			})
		},
	}
	cmd.Flags().BoolVar(&o.Unknown, "unknown", false, "answers of the API that cannot be explained, of all calls")
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

func runErrors(ctx context.Context, o *errorsOptions, be *backend, run jobs.Run) error {
	causes := causeTable{}
	var rows []failedRow
	err := be.eachFailed(ctx, run, func(r failedRow) {
		if o.Rows {
			rows = append(rows, r)
		}
		causes.add(r)
	})
	if err != nil {
		return err
	}
	if o.Rows {
		err = o.printRows(rows)
	} else {
		err = o.printCauses(run, causes.sorted())
	}
	return firstError(err, o.noteCancelled(ctx, be, run), o.noteRetries(ctx, be, run), o.noteHold(ctx, be, run), o.noteUnknown(ctx, be))
}

// noteHold: what keeps every row from being tried is in no row's result.
func (o *errorsOptions) noteHold(ctx context.Context, be *backend, run jobs.Run) error {
	counts, err := be.store.Counts(ctx, run.ID)
	if err != nil || counts.Open() == 0 {
		return err
	}
	fleet, err := worker.Fleet(ctx, be.rdb)
	if err != nil {
		return err
	}
	h, err := be.holdOf(ctx, run.Spec.Lane, fleet, o.now())
	if err == nil && h.why != "" {
		o.say("%s rows are open: %s", humanize.Comma(counts.Open()), h.why)
	}
	return err
}

// noteCancelled: such rows have no cause, and are not in the table.
func (o *errorsOptions) noteCancelled(ctx context.Context, be *backend, run jobs.Run) error {
	counts, err := be.store.Counts(ctx, run.ID)
	if n := counts[jobs.Cancelled]; err == nil && n > 0 {
		o.say("%s rows are cancelled; to make them: %s", humanize.Comma(n), retryCommand(run, "cancelled", o.now()))
	}
	return err
}

func (b *backend) eachFailed(ctx context.Context, run jobs.Run, fn func(failedRow)) error {
	return b.store.Results(ctx, run.ID, jobs.ResultsOptions{States: badStates}, func(r jobs.Result) error {
		row := failedRow{Row: r.Row, State: r.Status, Attempts: r.Attempts}
		if r.Error != nil {
			row.Cause, row.Status, row.Message = r.Error.Cause, r.Error.Status, r.Error.Message
		}
		fn(row)
		return nil
	})
}

// causeTable adds rows up by state and cause.
type causeTable map[string]*cause

func (t causeTable) add(r failedRow) {
	c := t[r.State+" "+r.Cause]
	if c == nil {
		c = &cause{State: r.State, Cause: r.Cause, Example: r.Row, Message: r.Message}
		t[r.State+" "+r.Cause] = c
	}
	c.Rows++
}

// sorted has the most frequent first.
func (t causeTable) sorted() []*cause {
	return slices.SortedFunc(maps.Values(t), func(a, b *cause) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), strings.Compare(a.Cause, b.Cause), strings.Compare(a.State, b.State))
	})
}

func (o *errorsOptions) printRows(rows []failedRow) error {
	t := newTable("ROW", "STATE", "CAUSE", "STATUS", "ATTEMPTS", "MESSAGE").numeric(3, 4)
	for _, r := range rows {
		t.row(r.Row, r.State, r.Cause, r.Status, r.Attempts, r.Message)
	}
	return o.print(t, rows)
}

func (o *errorsOptions) printCauses(run jobs.Run, list []*cause) error {
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
	o.say("again: %s", retryCommand(run, orElse(list[0].Cause, list[0].State), o.now()))
	return nil
}
