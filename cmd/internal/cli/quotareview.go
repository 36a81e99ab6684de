package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
)

type reviewOptions struct {
	*factory
	Model string
	Days  int
}

func newQuotaReviewCmd(f *factory) *cobra.Command {
	o := &reviewOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "review [MODEL]",
		Short: "Judge limits, reserves and estimates by the last days, with what to change",
		Long: "Says of the last days how far estimates were off, what of the quota nobody used while bulk was at work,\n" +
			"which reserve was never needed, and how often the provider refused what was admitted; and the commands that\n" +
			"would change it. Hours are kept for 36 days, minutes for two.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = firstArg(args)
			return runQuotaReview(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Days, "days", 7, "how many days back, up to 35")
	f.addOutputFlag(cmd)
	return cmd
}

func runQuotaReview(ctx context.Context, o *reviewOptions) error {
	if o.Days < 1 || o.Days > 35 {
		return usageErrorf("--days %d: want 1 to 35", o.Days)
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	in, err := be.reviewInput(ctx, o.Model, o.Days, o.now())
	if err != nil {
		return err
	}
	r := newReview(in)
	if o.opts.output == "json" {
		return o.print(nil, r)
	}
	if r.Seen.IsZero() {
		o.say("no calls in the last %s%s", plural(o.Days, "day"), ofModel(o.Model))
		return nil
	}
	o.printReview(r)
	return nil
}

// reviewInput reads hours, and minutes for as long as they are kept.
func (b *backend) reviewInput(ctx context.Context, model string, days int, now time.Time) (reviewInput, error) {
	in := reviewInput{from: now.AddDate(0, 0, -days).Truncate(time.Hour), to: now}
	conf, err := b.lim.Effective(ctx)
	if err != nil {
		return in, err
	}
	in.classes = conf.Classes
	for _, l := range conf.Lanes {
		if model == "" || equalModel(model, l.Lane) {
			in.lanes = append(in.lanes, l)
		}
	}
	if len(in.lanes) == 0 {
		return in, noLane(model, conf.Lanes)
	}
	minutes := now.Add(-gemini.StepMinute.Kept()).Truncate(time.Hour).Add(time.Hour)
	if in.from.After(minutes) {
		minutes = in.from
	}
	if in.hours, err = b.usage(ctx, model, gemini.StepHour, in.from, minutes); err != nil {
		return in, err
	}
	if in.minutes, err = b.usage(ctx, model, gemini.StepMinute, minutes, now); err != nil {
		return in, err
	}
	in.peaks, err = b.control().Peaks(ctx, in.from)
	return in, err
}

// usage is what the meter counted of one model, or of all.
func (b *backend) usage(ctx context.Context, model string, step gemini.Step, from, to time.Time) ([]gemini.UsageSample, error) {
	if !from.Before(to) {
		return nil, nil
	}
	all, err := gemini.ReadMeter(ctx, b.rdb, b.conf.scope(), step, from, to)
	kept := all[:0]
	for _, s := range all {
		if model == "" || strings.EqualFold(model, s.Model) {
			kept = append(kept, s)
		}
	}
	return kept, err
}

func (o *reviewOptions) printReview(r *quotaReview) {
	fmt.Fprintf(o.Out, "%s to %s; the first call was at %s\n", clock(r.From, r.To), clock(r.To, r.To), clock(r.Seen, r.To))
	if o.opts.output == "plain" {
		for _, t := range []*dataTable{r.estimateTable(), r.limitTable(), r.reserveTable(), r.refusalTable()} {
			t.plain(o.Out)
		}
		return
	}
	section(o.Out, "estimates: charged before the call, against what the provider counted", r.estimateTable())
	section(o.Out, "minute limits while bulk was at work, in parts of the limit", r.limitTable())
	r.printHours(o.Out)
	section(o.Out, "reserves", r.reserveTable())
	section(o.Out, "refusals", r.refusalTable())
	r.printFindings(o.Out)
	printAdvice(o.Out, r.Advice)
}

func (r *quotaReview) estimateTable() *dataTable {
	t := newTable("FEATURE", "CLASS", "CALLS", "INPUT", "TOO LITTLE", "OUTPUT", "TOO LITTLE").numeric(2, 3, 4, 5, 6)
	for _, e := range r.Estimates {
		t.row(e.Feature, e.Class, humanize.Comma(e.Calls), signed(e.InputError), percent(e.InputUnder), signed(e.OutputError), percent(e.OutputUnder))
	}
	return t
}

// signed is by how much more or less was charged; a multiple where that says more.
func signed(share float64) string {
	if share >= 9 {
		return humanize.Comma(int64(share+1.5)) + " x"
	}
	return fmt.Sprintf("%+.1f %%", share*100)
}

func (r *quotaReview) limitTable() *dataTable {
	t := newTable("MODEL", "LIMIT", "SET", "AT WORK", "USED", "OUTSIDE", "RESERVED", "REST", "FULLEST", "AT").numeric(2, 3, 4, 5, 6, 7, 8)
	for _, l := range r.Limits {
		work, used, outside, reserved, rest := "", "", "", "", ""
		if l.AtWorkMS > 0 {
			work, used = ago(time.Duration(l.AtWorkMS)*time.Millisecond), percent(l.Used)
		}
		if l.Binds { // what another limit keeps from being used is not lost
			outside, reserved, rest = percent(l.Outside), percent(l.Reserved), percent(l.Rest)
		}
		at := ""
		if !l.PeakAt.IsZero() {
			at = cellClock(l.PeakAt, r.To)
		}
		t.row(l.Model, l.Limit, humanize.Comma(l.Amount), work, used, outside, reserved, rest, percent(l.Peak), at)
	}
	return t
}

func (r *quotaReview) reserveTable() *dataTable {
	t := newTable("CLASS", "FULLEST", "LIMIT", "AT", "FLOOR", "GUARANTEE", "ENOUGH", "REFUSED BY US").numeric(1, 4, 5, 6, 7)
	for _, v := range r.Reserves {
		if v.Model == "" {
			t.row(v.Class, "no call", "", "", shareText(v.Floor), shareText(v.Guarantee), "", v.Refused)
			continue
		}
		t.row(v.Class, percent(v.Peak), v.Limit+" of "+v.Model, cellClock(v.PeakAt, r.To), shareText(v.Floor), shareText(v.Guarantee), shareText(v.Enough), humanize.Comma(v.Refused))
	}
	return t
}

func (r *quotaReview) refusalTable() *dataTable {
	t := newTable("MODEL", "CLASS", "CALLS", "429S", "SHARE", "REFUSED BY US").numeric(2, 3, 4, 5)
	for _, f := range r.Refusals {
		t.row(f.Model, f.Class, humanize.Comma(f.Sent), humanize.Comma(f.Provider429), percent(ratio(f.Provider429, f.Sent)), humanize.Comma(f.Refused))
	}
	return t
}

// printHours draws the use by hour of the day of the limit that binds.
func (r *quotaReview) printHours(w io.Writer) {
	for _, l := range r.Limits {
		if l.Binds {
			fmt.Fprintf(w, "\n%s of %s by hour of the day (0 to 23 h, local; a full block is the limit)\n%s\n", l.Limit, l.Model, sparks(l.ByHour[:]))
		}
	}
}

// sparks is a small chart; anything above nothing is seen.
func sparks(shares []float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	out := make([]rune, len(shares))
	for i, s := range shares {
		switch {
		case s <= 0:
			out[i] = '·'
		default:
			out[i] = blocks[min(len(blocks)-1, int(s*float64(len(blocks))))]
		}
	}
	return string(out)
}

// printFindings says in sentences what was lost, and to what.
func (r *quotaReview) printFindings(w io.Writer) {
	fmt.Fprintln(w)
	for _, l := range r.Limits {
		if l.Binds && l.stranded() >= time.Minute {
			fmt.Fprintf(w, "%s: of %s of bulk at work, %s worth %s stayed unused: %s outside, %s reserved and not needed, %s by pace, worker slots, throttles or limits of nodes.\n",
				l.Model, ago(time.Duration(l.AtWorkMS)*time.Millisecond), l.Limit, ago(l.stranded()), percent(l.Outside), percent(l.Reserved), percent(l.Rest))
		}
	}
	for _, v := range r.Reserves {
		if s := v.sentence(r.To); !r.advised(s) {
			fmt.Fprintf(w, "%s.\n", strings.ToUpper(s[:1])+s[1:])
		}
	}
	if r.To.Sub(r.Seen) < reviewSpan {
		fmt.Fprintln(w, "That is less than a day: too little to change a reserve by.")
	}
}
