package cli

import (
	"context"
	"errors"
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
	d := &jobs.Differ{Live: live, Map: picks.How.Map, All: true}
	d.Join, _ = jobs.JoinOf(run.Spec)
	in := intoLive{to: o.accepted.Into, taken: map[[2]string]bool{}}
	err = be.store.ResultLines(ctx, run.ID, jobs.ResultsOptions{States: []jobs.State{jobs.Done, jobs.Cached}}, func(line []byte) error {
		list, _, _, err := d.Of(line)
		for _, x := range list {
			if picks.Get(x) == jobs.Accepted {
				in.take(x, live, picks.Stale(x) && !o.accepted.Overwrite)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if err = o.file().write(o.streams, o.Out, func(w io.Writer) error { return live.WriteInto(w, in.puts) }); err != nil {
		return err
	}
	o.say("%s put in; all else is as in %s", plural(in.written(), "accepted value"), o.accepted.Into)
	return errors.Join(in.nowhere(o.streams), o.editedSince(in.edited, run))
}

// intoLive is what becomes of accepted values.
type intoLive struct {
	to     string
	puts   []*jobs.Put
	taken  map[[2]string]bool // a row's column that has its value
	edited []jobs.Difference  // somebody has edited the live value since
	gone   []string           // rows and columns that the live file has no place for
}

func (in *intoLive) take(x jobs.Difference, live *jobs.Live, stale bool) {
	switch {
	case !live.Has(x.Row):
		in.gone = append(in.gone, fmt.Sprintf("%s, column %s: %s has no such row", x.Row, x.Column, in.to))
	case stale && x.Change != jobs.Same:
		in.edited = append(in.edited, x)
	case in.taken[[2]string{x.Row, x.Column}]:
		in.gone = append(in.gone, fmt.Sprintf("%s, column %s: another field goes there too (%s)", x.Row, x.Column, x.Field))
	default:
		in.taken[[2]string{x.Row, x.Column}] = true
		in.puts = append(in.puts, &jobs.Put{Row: x.Row, Column: x.Column, Value: x.New})
	}
}

// written counts what is in the new file; the rest has no place in it.
func (in *intoLive) written() (n int) {
	for _, p := range in.puts {
		if p.Done {
			n++
			continue
		}
		in.gone = append(in.gone, fmt.Sprintf("%s: %s has no column %s", p.Row, in.to, p.Column))
	}
	return n
}

// mostNamed values that were left out have a line each.
const mostNamed = 20

// nowhere names the accepted values for which the live file has no place.
func (in *intoLive) nowhere(s *streams) error {
	if len(in.gone) == 0 {
		return nil
	}
	for _, line := range in.gone[:min(len(in.gone), mostNamed)] {
		s.say("%s", line)
	}
	if more := len(in.gone) - mostNamed; more > 0 {
		s.say("and %s more", humanize.Comma(int64(more)))
	}
	return fmt.Errorf("%s not put in, since %s has no place for them: add the rows and columns that are named, then give the same command again",
		plural(len(in.gone), "accepted value"), in.to)
}

// editedSince names accepted values that were left out, since somebody has edited the
// live one after they were compared.
func (o *resultsOptions) editedSince(list []jobs.Difference, run jobs.Run) error {
	if len(list) == 0 {
		return nil
	}
	for _, x := range list[:min(len(list), mostNamed)] {
		o.say("%s, column %s: left as it is, %.60q is not what was compared", x.Row, x.Column, x.LiveText())
	}
	if more := len(list) - mostNamed; more > 0 {
		o.say("and %s more", humanize.Comma(int64(more)))
	}
	return fmt.Errorf("%s not put in, since the live value was edited after it was compared:\n"+
		"  nightshift diff %s --live %s … compares and decides again; --overwrite puts the accepted ones in all the same",
		plural(len(list), "accepted value"), typed(run), shellWord(o.accepted.Into))
}
