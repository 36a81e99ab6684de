package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

type diffOptions struct {
	*factory
	Live     string
	Key      string
	Map      map[string]string
	Encoding string
	Between  string // cells
	Spaces   bool
	Fields   []string
	Only     string
	N        int
	Accept   []string
	Reject   []string
	Status   bool
}

func newDiffCmd(f *factory) *cobra.Command {
	o := &diffOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "diff [RUN] --live FILE",
		Short: "Compare a run's answers with what is live, and accept or reject them",
		Long: "Compares the fields of a run's answers with the columns of a live file (CSV, TSV, JSONL or JSON) by row id:\n" +
			"first how many changed, then side by side. --accept and --reject decide by filter; decisions stay with the\n" +
			"run, and `nightshift results --accepted` writes what was accepted. Failed rows are never accepted.\n\n" +
			"A filter is terms between commas that must all hold: field=NAME, status=changed|added, change>50%,\n" +
			"id=ID, ids=@FILE, new~REGEXP, live~REGEXP (last), or all.",
		Example: "  nightshift diff tags --live catalog.csv --map output=description\n" +
			"  nightshift diff tags --live catalog.csv --field title -n 20 | less\n" +
			"  nightshift diff tags --live catalog.csv --accept field=title --reject 'field=price,change>50%'",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Live == "" && !o.Status {
				return usageErrorf("diff: --live FILE names what is live now (--status shows what was decided)")
			}
			if o.N < 0 {
				return usageErrorf("-n %d: it is how many are shown side by side", o.N)
			}
			if o.Only != "" && !slices.Contains(jobs.Changes(), jobs.Change(o.Only)) {
				return usageErrorf("--only %s: it is same, changed, added, missing or failed", o.Only)
			}
			return quietPipe(f.withRun(cmd.Context(), firstArg(args), func(be *backend, run jobs.Run) error {
				return runDiff(cmd.Context(), o, be, run)
			}))
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&o.Live, "live", "", "`FILE` with what is live now")
	fl.StringVar(&o.Key, "key", "id", "`COLUMN` of the live file that has the rows' ids")
	fl.StringToStringVar(&o.Map, "map", nil, "a field's column where the names differ: `FIELD=COLUMN`, …; the text of an answer is the field output")
	fl.StringVar(&o.Encoding, "encoding", "", "the live file's `ENCODING` (default utf-8)")
	fl.StringVar(&o.Between, "delimiter", "", "the `CHARACTER` between the live file's CSV cells, or tab (default: a comma, a tab in .tsv files)")
	fl.BoolVar(&o.Spaces, "spaces", false, "white space counts (default: runs of it are one space)")
	fl.StringSliceVar(&o.Fields, "field", nil, "show these `FIELDS` side by side")
	fl.StringVar(&o.Only, "only", "", "show rows that are same, changed, added, missing or failed (default: changed and added)")
	fl.IntVarP(&o.N, "lines", "n", 0, "show so many side by side (default 20 with --field or --only)")
	fl.StringArrayVar(&o.Accept, "accept", nil, "accept what a `FILTER` takes; several are one or the other")
	fl.StringArrayVar(&o.Reject, "reject", nil, "reject what a `FILTER` takes, also of what is accepted here")
	fl.BoolVar(&o.Status, "status", false, "with --live, count what was decided; without, say how many fields were")
	f.addOutputFlag(cmd)
	return cmd
}

// fieldCount is a field's line of the first table.
type fieldCount struct {
	Field    string                `json:"field"`
	Column   string                `json:"column,omitempty"`
	Count    map[jobs.Change]int64 `json:"counts"`
	Accepted int64                 `json:"accepted"`
	Rejected int64                 `json:"rejected"`
	Open     int64                 `json:"open"`
}

// diffReport is what diff found.
type diffReport struct {
	Run        string            `json:"run"`
	Live       string            `json:"live"`
	Fields     []*fieldCount     `json:"fields"`
	Failed     int64             `json:"failed_rows"`
	Unfinished int64             `json:"unfinished_rows"` // of the input
	NotInRun   int64             `json:"live_rows_not_in_run"`
	NotInLive  int64             `json:"rows_not_live"`
	Uncompared []string          `json:"fields_without_column,omitempty"`
	Rows       []jobs.Difference `json:"rows,omitempty"`
	decided    int64
	example    string // of NotInRun
}

func runDiff(ctx context.Context, o *diffOptions, be *backend, run jobs.Run) error {
	picks, err := be.store.Picks(ctx, run.ID)
	if err != nil {
		return err
	}
	if o.Live == "" {
		return o.sayPicks(run, picks)
	}
	pick, err := o.filters()
	if err != nil {
		return err
	}
	between, err := delimiter(o.Between)
	if err != nil {
		return &usageError{err}
	}
	live, err := jobs.ReadLive(ctx, jobs.Input{Path: o.Live, Encoding: o.Encoding, Delimiter: between}, o.Key)
	if err != nil {
		return inputError(err)
	}
	d := &jobs.Differ{Live: live, Map: o.Map, Spaces: o.Spaces}
	d.Join, _ = jobs.JoinOf(run.Spec)
	if err := checkMap(o.Map, live); err != nil {
		return err
	}
	rep, err := o.compare(ctx, be, run, d, picks, pick)
	if err != nil {
		return err
	}
	if err := firstError(rep.comparable(o, live), rep.knows(o, live)); err != nil {
		return err
	}
	if len(o.Accept)+len(o.Reject) > 0 {
		picks.How = jobs.PickedBy{Key: o.Key, Map: o.Map, Delimiter: between}
		if err := be.store.SavePicks(ctx, run.ID, picks); err != nil {
			return err
		}
	}
	return o.show(rep, run)
}

// inputError is what is wrong with a file that was to be read.
func inputError(err error) error {
	var in *jobs.InputError
	if errors.As(err, &in) {
		return invalid(err)
	}
	return err
}

func checkMap(m map[string]string, live *jobs.Live) error {
	for field, column := range m {
		if !slices.Contains(live.Columns, column) {
			return usageErrorf("--map %s=%s: %s has no such column; there are: %s", field, column, live.Path, strings.Join(live.Columns, ", "))
		}
	}
	return nil
}

// decision is what a filter on the command line does.
type decision struct {
	filter jobs.PickFilter
	pick   jobs.Pick
}

func (o *diffOptions) filters() ([]decision, error) {
	var list []decision
	for pick, texts := range map[jobs.Pick][]string{jobs.Accepted: o.Accept, jobs.Rejected: o.Reject} {
		for _, text := range texts {
			f, err := jobs.ParsePickFilter(text)
			if err != nil {
				return nil, &usageError{err}
			}
			list = append(list, decision{f, pick})
		}
	}
	// Rejected comes last and counts: what nobody wants is not let through by a wider filter.
	slices.SortStableFunc(list, func(a, b decision) int { return int(a.pick) - int(b.pick) })
	return list, nil
}

// compare goes over all results once.
func (o *diffOptions) compare(ctx context.Context, be *backend, run jobs.Run, d *jobs.Differ, picks *jobs.Picks, decide []decision) (*diffReport, error) {
	rep := &diffReport{Run: run.ID, Live: d.Live.Path}
	seen, byField := map[string]bool{}, map[string]*fieldCount{}
	err := be.store.ResultLines(ctx, run.ID, jobs.ResultsOptions{}, func(line []byte) error {
		list, row, others, err := d.Of(line)
		if err != nil {
			return err
		}
		if !seen[row] && !d.Live.Has(row) {
			rep.NotInLive++
		}
		seen[row] = true
		for _, name := range others {
			if !slices.Contains(rep.Uncompared, name) && len(rep.Uncompared) < 100 && name != d.Live.Key {
				rep.Uncompared = append(rep.Uncompared, name)
			}
		}
		for _, x := range list {
			for _, one := range decide {
				if one.filter.Takes(x) && picks.Set(x, one.pick) {
					rep.decided++
				}
			}
			rep.add(x, picks.Get(x), byField)
			if o.shows(x, len(rep.Rows)) {
				rep.Rows = append(rep.Rows, x)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	open := map[string]bool{}
	err = be.store.OpenRows(ctx, run.ID, func(row string) { open[row], seen[row] = true, true })
	rep.Unfinished = int64(len(open))
	rep.NotInRun, rep.example = d.Live.Others(seen)
	return rep, err
}

func (r *diffReport) add(x jobs.Difference, pick jobs.Pick, byField map[string]*fieldCount) {
	if x.Change == jobs.NoGood {
		r.Failed++
		return
	}
	c := byField[x.Field]
	if c == nil {
		c = &fieldCount{Field: x.Field, Column: x.Column, Count: map[jobs.Change]int64{}}
		byField[x.Field] = c
		r.Fields = append(r.Fields, c)
	}
	c.Count[x.Change]++
	switch {
	case pick == jobs.Accepted:
		c.Accepted++
	case pick == jobs.Rejected:
		c.Rejected++
	case x.Change == jobs.Changed || x.Change == jobs.Added:
		c.Open++
	}
}

// comparable refuses to report on two files that have nothing to do with each other.
func (r *diffReport) comparable(o *diffOptions, live *jobs.Live) error {
	switch {
	case len(r.Fields) == 0 && r.Failed == 0 && len(r.Uncompared) == 0:
		return fmt.Errorf("the run has no results yet to compare with %s", live.Path)
	case len(r.Fields) == 0 && len(r.Uncompared) > 0:
		return usageErrorf("no field of the answers (%s) is a column of %s (%s): say which with --map %s=COLUMN",
			strings.Join(r.Uncompared, ", "), live.Path, strings.Join(live.Columns, ", "), r.Uncompared[0])
	case int64(live.Len()) == r.NotInRun && live.Len() > 0:
		return usageErrorf("no id of %s (%s: %s, …) is a row of the run: --key names the column with the ids; there are: %s",
			live.Path, o.Key, r.example, strings.Join(live.Columns, ", "))
	}
	return nil
}

// shows says whether a difference is to be seen side by side.
func (o *diffOptions) shows(x jobs.Difference, have int) bool {
	most := o.N
	if most == 0 && (len(o.Fields) > 0 || o.Only != "") {
		most = 20
	}
	if have >= most || len(o.Fields) > 0 && x.Change != jobs.NoGood && !slices.Contains(o.Fields, x.Field) {
		return false
	}
	if o.Only != "" {
		return string(x.Change) == o.Only
	}
	return x.Change == jobs.Changed || x.Change == jobs.Added
}

func (o *diffOptions) sayPicks(run jobs.Run, picks *jobs.Picks) error {
	if !picks.Any() {
		o.say("%s: nothing was accepted or rejected yet; nightshift diff %s --live FILE compares", run.Title(), typed(run))
	}
	t := newTable("FIELD", "ACCEPTED", "REJECTED").numeric(1, 2)
	counts := picks.Counts()
	for _, c := range counts {
		t.row(c.Field, humanize.Comma(c.Accepted), humanize.Comma(c.Rejected))
	}
	return o.print(t, counts)
}
