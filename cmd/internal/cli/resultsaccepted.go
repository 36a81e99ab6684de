package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"nightshift/jobs"
)

// acceptedOptions choose what diff has accepted.
type acceptedOptions struct {
	Accepted bool
	Into     string

	Overwrite bool
}

func (a *acceptedOptions) addFlags(fl *pflag.FlagSet) {
	fl.BoolVar(&a.Accepted, "accepted", false, "only rows of which diff accepted something")
	fl.StringVar(&a.Into, "into", "", "with --accepted: the live `FILE` with the accepted values put in, all else as it is")
	fl.BoolVar(&a.Overwrite, "overwrite", false, "with --into: put them in also where the live value is another than the one that was compared")
}

func (a *acceptedOptions) check(o *resultsOptions) error {
	switch {
	case a.Into != "" && !a.Accepted:
		return usageErrorf("--into FILE goes with --accepted: only accepted values are put into live data")
	case a.Into != "" && (o.Follow || o.Join || o.Flatten || o.csv.ExcelSafe || o.csv.Encoding != ""):
		return usageErrorf("--into writes the live file's own form: it goes with -o only")
	case a.Overwrite && a.Into == "":
		return usageErrorf("--overwrite goes with --into FILE")
	case a.Accepted && o.Follow:
		return usageErrorf("--accepted is decided about a run that has ended: it does not go with --follow")
	}
	return nil
}

// acceptedLines leaves rows out of which nothing is accepted.
func (b *backend) acceptedLines(ctx context.Context, run jobs.Run, all lineSource) (lineSource, error) {
	picks, err := b.acceptedPicks(ctx, run)
	if err != nil {
		return nil, err
	}
	d := jobs.AnswersOf(run.Spec)
	return func(fn func([]byte) error) error {
		return all(func(line []byte) error {
			list, _, _, err := d.Of(line)
			if err != nil {
				return err
			}
			for _, x := range list {
				if picks.Get(x) == jobs.Accepted {
					return fn(line)
				}
			}
			return nil
		})
	}, nil
}

func (b *backend) acceptedPicks(ctx context.Context, run jobs.Run) (*jobs.Picks, error) {
	picks, err := b.store.Picks(ctx, run.ID)
	if err == nil && !picks.Any() {
		err = usageErrorf("nothing of run %s is accepted: nightshift diff %s --live FILE --accept FILTER does that", run.Title(), typed(run))
	}
	return picks, err
}

// writeInto writes the live file with what is accepted.
func (o *resultsOptions) writeInto(ctx context.Context, be *backend, run jobs.Run) error {
	picks, err := be.acceptedPicks(ctx, run)
	if err != nil {
		return err
	}
	live, err := jobs.ReadLive(ctx, jobs.Input{Path: o.accepted.Into, Delimiter: picks.How.Delimiter}, picks.How.Key)
	if err != nil {
		return inputError(err)
	}
	d := &jobs.Differ{Live: live, Map: picks.How.Map}
	d.Join, _ = jobs.JoinOf(run.Spec)
	values, edited := map[[2]string][]byte{}, []jobs.Difference{}
	err = be.store.ResultLines(ctx, run.ID, jobs.ResultsOptions{States: []jobs.State{jobs.Done, jobs.Cached}}, func(line []byte) error {
		list, _, _, err := d.Of(line)
		for _, x := range list {
			switch {
			case picks.Get(x) != jobs.Accepted || !live.Has(x.Row):
			case picks.Stale(x) && x.Change != jobs.Same && !o.accepted.Overwrite:
				edited = append(edited, x)
			default:
				values[[2]string{x.Row, x.Column}] = x.New
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	var n int64
	err = o.file().write(o.streams, o.Out, func(w io.Writer) (err error) {
		n, err = live.WriteInto(w, func(id, column string) ([]byte, bool) {
			v, ok := values[[2]string{id, column}]
			return v, ok
		})
		return err
	})
	if err == nil {
		o.say("%s accepted values put in; all else is as in %s", humanize.Comma(n), o.accepted.Into)
		err = o.editedSince(edited, run)
	}
	return err
}

// editedSince names accepted values that were left out, since somebody has edited the
// live one after they were compared.
func (o *resultsOptions) editedSince(list []jobs.Difference, run jobs.Run) error {
	if len(list) == 0 {
		return nil
	}
	for _, x := range list[:min(len(list), 20)] {
		o.say("%s, column %s: left as it is, %.60q is not what was compared", x.Row, x.Column, x.LiveText())
	}
	if more := len(list) - 20; more > 0 {
		o.say("and %s more", humanize.Comma(int64(more)))
	}
	return fmt.Errorf("%s not put in, since the live value was edited after it was compared:\n"+
		"  nightshift diff %s --live %s … compares and decides again; --overwrite puts the accepted ones in all the same",
		plural(len(list), "accepted value"), typed(run), shellWord(o.accepted.Into))
}
