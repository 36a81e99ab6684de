package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

type sampleOptions struct {
	specOptions
	N    int
	Seed uint64
}

func newSampleCmd(f *factory) *cobra.Command {
	o := &sampleOptions{}
	cmd := &cobra.Command{
		Use:   "sample INPUT... -t TEMPLATE -n 20",
		Short: "Try the prompt on random rows with real calls, and project cost and time of all",
		Long: "Makes a few random rows of INPUT now, shows what came back, and says what all rows are likely to\n" +
			"cost and how long they take: the mean of the tried rows ± t·s/√n at 95 %, corrected for the\n" +
			"input's size. The same seed tries the same rows, so that a changed prompt can be compared. What\n" +
			"was paid for is kept: enqueue and run take these rows' answers over. It calls at once, whatever\n" +
			"--window says, and none but its own rows; what is paused it does not wait for.",
	}
	own := func() {
		cmd.Flags().IntVarP(&o.N, "number", "n", 20, "how many `ROWS` to try")
		cmd.Flags().Uint64Var(&o.Seed, "seed-rows", 1, "which rows chance takes: another `NUMBER` tries others")
		f.addOutputFlag(cmd)
	}
	return inputCommand(cmd, &o.specOptions, own, func(ctx context.Context, inputs []string) error { return runSample(ctx, f, o, cmd, inputs) })
}

// sampleOutcome is what sample prints.
type sampleOutcome struct {
	Run      string        `json:"run"`
	Seed     uint64        `json:"seed"`
	Rows     []jobs.Result `json:"rows"`
	Failed   int           `json:"failed"`
	FailLow  float64       `json:"failed_part_low"` // of all rows, at 95 %
	FailHigh float64       `json:"failed_part_high"`
	Spent    int64         `json:"spent_micro_usd"` // now, by all calls: also of rows that have no answer yet
	Plan     *planReport   `json:"all_rows,omitempty"`
}

func runSample(ctx context.Context, f *factory, o *sampleOptions, cmd *cobra.Command, inputs []string) error {
	if o.N < 1 {
		return usageErrorf("-n %d: want 1 row or more", o.N)
	}
	b, err := o.prepare(ctx, f, cmd, inputs)
	if err != nil {
		return err
	}
	defer b.close()
	if int64(o.N) > b.Rows {
		return usageErrorf("-n %d: %s has %s; -n %d tries all of them", o.N, b.Name, plural(int(b.Rows), "row"), b.Rows)
	}
	s, err := f.openSession(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	s.sampleOf = b.Spec.Priority
	picked, err := o.pick(ctx, b, f.now())
	if err != nil {
		return err
	}
	if w := b.Spec.Steer.Window; w != "" {
		f.say("the window (%s) is for run and enqueue: a sample calls now", w)
	}
	t, err := o.try(ctx, f, s, picked)
	if t.run.ID == "" {
		return err
	}
	if s.embedded != nil && len(t.made) > 0 {
		if err := s.conf.rememberAnswers(b.Spec, s.conf.sampleFile(b.Spec), f.now()); err != nil {
			f.say("warning: run will not know these answers: %v", err)
		}
	}
	r := o.report(t)
	var held *heldError
	if len(t.made) == 0 && errors.As(err, &held) {
		return err // there is nothing to show
	}
	if len(t.made) > 0 {
		if err := f.projection(ctx, s, b, &r); err != nil {
			return err
		}
	}
	if printErr := f.print(sampleTable(r, b, s.conf.takenOverWords(), f.now()), r); printErr != nil {
		return printErr
	}
	return o.end(ctx, f, s, r, err)
}

// pick chooses the rows. They run first and at any time of day, since somebody waits
// for them; only pauses, quotas and caps hold them up.
func (o *sampleOptions) pick(ctx context.Context, b *batch, now time.Time) (*jobs.Prepared, error) {
	p, err := b.Pick(ctx, o.N, o.Seed)
	if err != nil {
		return nil, err
	}
	p.Spec.Name, p.Spec.Sample, p.Spec.Priority = "", true, jobs.High
	if o.Force { // without a name it is the run of the former sample, which has these rows' answers
		p.Spec.Name = "sample-" + now.UTC().Format("20060102-150405")
	}
	p.Spec.Steer = jobs.Steering{MaxCost: p.Spec.Steer.MaxCost, ServiceTier: p.Spec.Steer.ServiceTier}
	return p, nil
}

// report adds up what was tried.
func (o *sampleOptions) report(t tried) sampleOutcome {
	r := sampleOutcome{Run: t.run.ID, Seed: o.Seed, Rows: t.made, Spent: t.spent}
	for _, row := range t.made {
		if !jobs.ParseState(row.Status).Good() {
			r.Failed++
		}
	}
	r.FailLow, r.FailHigh = rate(r.Failed, len(t.made))
	return r
}

// projection is what all rows are likely to need, by those that were tried.
func (f *factory) projection(ctx context.Context, s *session, b *batch, r *sampleOutcome) error {
	ctx = context.WithoutCancel(ctx)
	e, err := f.conf.evidence(ctx, nil, b, "")
	if err != nil {
		return err
	}
	e.source, e.from, e.tried = jobs.PlannedSample, plural(len(r.Rows), "tried row"), nil
	for _, row := range r.Rows {
		if row.Usage != nil {
			e.tried = append(e.tried, usageOf(*row.Usage))
		}
	}
	if len(e.tried) == 0 {
		return nil // nothing answered: there is nothing to go by
	}
	all, err := f.conf.planOf(ctx, s.backend, b, e, r.Run, b.Rows, f.now())
	if err == nil {
		r.Plan = &all
	}
	return err
}

// end says what is left to say, and gives the exit code.
func (o *sampleOptions) end(ctx context.Context, f *factory, s *session, r sampleOutcome, err error) error {
	switch {
	case ctx.Err() != nil:
		f.say("interrupted after %d of %d rows; %s", len(r.Rows), o.N, o.interruptedWords(s))
		return &codedError{code: exitInterrupted}
	case err != nil:
		var braked *brakedError
		if errors.As(err, &braked) {
			return &codedError{exitStopped, fmt.Errorf("%w; mend what is wrong before more is paid", braked)}
		}
		return err
	case r.Failed > 0:
		return &codedError{code: exitRowsFailed}
	}
	return nil
}

// sampleTable shows each row with the beginning of its answer, then all rows.
func sampleTable(r sampleOutcome, b *batch, kept string, now time.Time) *dataTable {
	t := newTable("ROW", "STATUS", "TOKENS", "COST", "ANSWER")
	for _, row := range r.Rows {
		tokens, cost := "", ""
		if row.Usage != nil {
			tokens = humanize.Comma(row.Usage.Prompt) + " + " + humanize.Comma(row.Usage.Output+row.Usage.Thoughts)
		}
		if row.MicroUSD != nil {
			cost = usd(*row.MicroUSD)
		}
		t.row(row.Row, row.Status, tokens, cost, answerLine(row))
	}
	t.narrow(56, "ROW", "STATUS", "TOKENS", "COST")
	all := newTable("", "")
	if r.Failed > 0 {
		all.row("failed", fmt.Sprintf("%d of %d: %.0f %% to %.0f %% of all rows may", r.Failed, len(r.Rows), 100*r.FailLow, 100*r.FailHigh))
	}
	all.row("spent", usd(r.Spent)+", "+kept)
	t.after = all
	if p := r.Plan; p != nil {
		all.row("all rows", humanize.Comma(p.Rows)+", by "+p.From+", at 95 %")
		all.row("input", tokensLine(p.Input))
		if b.Spec.Kind != jobs.Embed {
			all.row("output", tokensLine(p.Output))
		}
		p.costRows(all)
		p.priceRows(all, now)
		p.timeRows(all, now)
	} else {
		all.row("all rows", unprojected(r.Rows))
	}
	return t
}

// unprojected says why the rows that were tried tell nothing of all.
func unprojected(rows []jobs.Result) string {
	if len(rows) > 0 && !slices.ContainsFunc(rows, func(r jobs.Result) bool { return r.Status != jobs.Cached.String() }) {
		return "no projection: these were answered before, so that no call was made now; --force asks and pays again, another --seed-rows takes other rows"
	}
	return "no projection: no call came back that tells what one takes"
}
