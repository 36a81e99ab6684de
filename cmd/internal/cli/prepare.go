package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// laneMap maps every configured model, with its aliases, to its lane.
func (l *loaded) laneMap() (*gemini.LaneMap, error) {
	var models []gemini.Model
	for name, m := range l.Models {
		models = append(models, l.model(name, m))
	}
	lanes, err := gemini.NewLaneMap(l.Gemini.Project, l.Gemini.Region, models...)
	if err != nil {
		return nil, configErrorf("models: %v", err)
	}
	return lanes, nil
}

// model takes what the configuration does not say of it from the price book. The
// context of models that only embed is not taken from there: whether a longer text is
// refused or cut is documented nowhere.
func (l *loaded) model(name string, m ModelConfig) gemini.Model {
	limits := l.prices().Limits(l.priceOf(name))
	out := gemini.Model{Name: name, Aliases: m.Aliases, Context: m.ContextTokens, MaxOutput: cmp.Or(m.OutputTokens, limits.Output)}
	if out.Context == 0 && limits.Output > 0 {
		out.Context = limits.Context
	}
	return out
}

// invalid is an error of the input: nothing was enqueued.
func invalid(err error) error { return &codedError{exitInvalidInput, err} }

// batch is a prepared input with the quota it will count against.
type batch struct {
	*jobs.Prepared
	quota  laneQuota
	tokens int64 // estimated input tokens of all rows
	texts  gemini.Texts
	sized  sizes
	dups   *repeats // nil: nobody asks
	large  []string // ids of rows that could never be sent
	left   *leftOut // nil: no row may be left out
	caps   answerCaps

	samples map[string]gemini.Usage // that are kept, by key
	sampled []gemini.Usage          // those of these rows
}

// prepare reads and checks the whole input; whatever is wrong, nothing was
// enqueued yet.
func (o *specOptions) prepare(ctx context.Context, f *factory, cmd *cobra.Command, inputs []string) (*batch, error) {
	c, err := f.config()
	if err != nil {
		return nil, invalid(err)
	}
	spec, err := o.spec(cmd, c)
	if err != nil {
		return nil, err
	}
	if err := o.steer(cmd, c, &spec, f.now()); err != nil {
		return nil, err
	}
	in, err := o.input(f, c, inputs)
	if err != nil {
		return nil, err
	}
	b := &batch{dups: o.dups}
	if spec.Model != "" {
		if err := b.goTo(c, &spec, f.now()); err != nil {
			return nil, invalid(err)
		}
	}
	left, err := o.leaveOut(inputs)
	if err != nil {
		return nil, err
	}
	b.left, b.samples = left, c.samples(spec)
	opts := jobs.PrepareOptions{Check: b.check, Invalid: left.tell(), Tokens: b.fileTokens, Model: b.namedModel(c, spec, f.now())}
	o.templates(&opts)
	b.Prepared, err = jobs.Prepare(ctx, in, spec, opts)
	err = left.end(f, err)
	if err == nil && left != nil && left.count > 0 {
		b.LeftIn = left.path
	}
	if err == nil && b.Spec.Lines != "" {
		if err = b.linesTooDear(c, f.now()); err != nil {
			b.close()
		}
	}
	switch {
	case errors.Is(err, jobs.ErrNoTemplate):
		return nil, usageErrorf("no prompt: give --template FILE (-t) or --prompt TEXT")
	case err != nil && ctx.Err() == nil:
		return nil, invalid(b.withLarge(err))
	}
	return b, err
}

// goTo sets the lane that a run of this model goes to, if its rows may go there.
func (b *batch) goTo(c *loaded, spec *jobs.Spec, now time.Time) (err error) {
	if b.quota, err = c.quotaOf(spec.Model); err != nil {
		return err
	}
	spec.Lane = b.quota.lane.String()
	b.sized = sizes{long: c.longPrompts(spec.Model, now)}
	if b.caps.model, err = c.longestAnswer(jobs.Spec{Model: spec.Model}); err != nil {
		return err
	}
	err = c.unpriced(*spec, b.quota.lane)
	if ofLines(*spec) { // which say each how long an answer may get: see linesTooDear
		return err
	}
	return firstError(err, c.tooDear(*spec, b.quota.lane, now), c.cannotCap(*spec, now))
}

// close removes what was kept of standard input; what stays is the system's to clean.
func (b *batch) close() { _ = b.Close() }

// check refuses a row that the model or its minute could never take, and adds
// the others up.
func (b *batch) check(r jobs.RenderedRow) error {
	n := b.weigh(&r.Request)
	switch {
	case n > b.quota.context:
		b.large = append(b.large, r.ID)
		return fmt.Errorf("about %d input tokens; %s takes %d at most", n, b.quota.model, b.quota.context)
	case b.quota.most > 0 && n > b.quota.most:
		b.large = append(b.large, r.ID)
		return fmt.Errorf("about %d input tokens; of %s's input_tpm bulk may use %d at most, so this row could never be sent",
			n, b.quota.model, b.quota.most)
	}
	b.tokens += n
	b.sized.add(n)
	b.caps.add(r.Settings)
	b.dups.add(r.Key, r.File, r.Line)
	if u, ok := b.samples[r.Key]; ok {
		b.sampled = append(b.sampled, u)
	}
	return nil
}

// noLimits is the error for a model without limits, with the lines to add.
func (l *loaded) noLimits(model string) error {
	where := orElse(l.File, configName)
	return fmt.Errorf("no limits for model %s: nightshift has to know them before it may call. Add to %s:\n%s", model, where, modelExample(model))
}
