package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

type errorsOptions struct {
	*factory
	Rows bool
}

func newErrorsCmd(f *factory) *cobra.Command {
	o := &errorsOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "errors [RUN]",
		Short: "Show why rows have no good answer, by cause",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withRun(cmd.Context(), firstArg(args), func(be *backend, run jobs.Run) error {
				return runErrors(cmd.Context(), o, be, run)
			})
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

func runErrors(ctx context.Context, o *errorsOptions, be *backend, run jobs.Run) error {
	causes := map[string]*cause{}
	var rows []failedRow
	err := be.store.Results(ctx, run.ID, jobs.ResultsOptions{States: badStates}, func(r jobs.Result) error {
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
