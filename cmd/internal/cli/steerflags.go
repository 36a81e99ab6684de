package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// steerFlags say how a run goes on while nobody is at the keyboard.
type steerFlags struct{ texts map[string]*string }

// steeredByFlags are the settings that these flags give, in the order in which they
// are read: a zone before the times that are of it.
var steeredByFlags = []string{jobs.SetZone, jobs.SetWindow, jobs.SetDeadline, jobs.SetOnLate, jobs.SetMaxCost, jobs.SetWeight, jobs.SetRamp}

func (o *steerFlags) addSteerFlags(fl *pflag.FlagSet) {
	o.texts = map[string]*string{}
	for _, name := range steeredByFlags {
		o.texts[name] = fl.String(name, "", settingNamed(name).help)
	}
}

// steer puts them into the run's specification.
func (o *steerFlags) steer(cmd *cobra.Command, c *loaded, s *jobs.Spec, now time.Time) error {
	for _, name := range steeredByFlags {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if err := settingNamed(name).read(c, s, *o.texts[name], now); err != nil {
			return settingError(name, err)
		}
		s.Given = append(s.Given, name)
	}
	for _, name := range []string{jobs.SetHalt, jobs.SetAttempts, jobs.SetMaxWait, jobs.SetServiceTier, jobs.SetKeep} {
		if fl := cmd.Flags().Lookup(name); fl != nil && fl.Changed {
			s.Given = append(s.Given, name)
		}
	}
	if err := s.Steer.Check(); err != nil {
		return usageErrorf("--%v", err)
	}
	return c.cannotCap(*s, now)
}

// settingError names the flag that is wrong; an error of a window says so itself.
func settingError(name string, err error) error {
	if strings.HasPrefix(err.Error(), "--"+name) {
		return &usageError{err}
	}
	return usageErrorf("--%s: %v", name, err)
}

// cannotCap refuses a cap that nothing could hold the run to, or that none of its
// rows fits under.
func (l *loaded) cannotCap(s jobs.Spec, now time.Time) error {
	if s.Steer.MaxCost == 0 || s.Model == "" { // a batch file's lines name the model: see goTo
		return nil
	}
	model := l.priceOf(s.Model)
	if model == "" {
		return invalid(fmt.Errorf("%w.\n--max-cost needs it: without a price nothing could hold the run to %s. Nothing was changed", l.noPrice(s.Model), usd(s.Steer.MaxCost)))
	}
	if s.Kind == jobs.Embed || s.Lines != "" { // lines have caps of their own: see linesTooDear
		return nil
	}
	longest, err := l.longestAnswer(s)
	if err != nil {
		return err
	}
	bill := l.prices().Bill(model, gemini.Usage{Candidates: longest}, now)
	if cost := bill.MicroUSD(); cost > s.Steer.MaxCost {
		return invalid(fmt.Errorf("--max-cost: one row may cost up to %s, since its answer may have %s tokens, and %s is all that the run may cost.\n"+
			"Give --max-output-tokens, or a higher cap: nothing was changed", usd(cost), humanize.Comma(longest), usd(s.Steer.MaxCost)))
	}
	return nil
}

// runWatch looks after how runs are steered.
func (b *backend) runWatch() *scheduler.RunWatch {
	return &scheduler.RunWatch{Control: b.control(), Owner: strings.TrimPrefix(processName(""), ":"), Zone: b.conf.zone(), Ramp: b.conf.windowRamp(), Dearer: b.conf.dearer}
}

// steered puts a run's steering into force before its first row can begin. It fits
// jobs.EnqueueOptions.Claimed.
func (b *backend) steered(ctx context.Context, run jobs.Run) error {
	if !run.Spec.Steer.Watched() {
		return nil
	}
	return firstError(b.runWatch().Apply(ctx, run), b.countSpent(ctx, run, 0, time.Now()))
}

// dearer is how many times the price of one tier another has for a run's model; 0 where
// no price is known.
func (l *loaded) dearer(run jobs.Run, from, to string) float64 {
	model := l.priceOf(run.Spec.Model)
	if model == "" {
		return 0
	}
	at := func(tier string) float64 {
		return float64(l.prices().Bill(model, gemini.Usage{Prompt: 1000, Candidates: 1000, Tier: tier}, time.Now()).PicoUSD)
	}
	return at(to) / max(at(from), 1)
}

// unwatched warns where nobody keeps what the run asks for; "" where somebody does,
// and where it asks for nothing that has to be looked after.
func (b *backend) unwatched(ctx context.Context, s jobs.Steering) (string, error) {
	var what []string
	for name, is := range map[string]bool{"its window": s.Window != "", "its deadline": !s.Deadline.IsZero(), "its ramp": s.Ramp > 0} {
		if is {
			what = append(what, name)
		}
	}
	if len(what) == 0 {
		return "", nil
	}
	slices.Sort(what)
	members, err := b.control().Members(ctx) // one that has just begun leads within seconds
	if err != nil || len(members) > 0 {
		return "", err
	}
	return fmt.Sprintf("warning: no scheduler runs, so that nobody keeps %s; start one with `nightshift scheduler`", strings.Join(what, " and ")), nil
}

// steerRows say how a run is steered, as far as it is.
func (b *backend) steerRows(ctx context.Context, t *dataTable, run jobs.Run, c jobs.Counts, now time.Time) error {
	s := run.Spec.Steer
	_, starts := s.Starts(now)
	show := func(is bool, name, add string) {
		if is {
			t.row(name, settingNamed(name).shown(b.conf, run.Spec, now)+add)
		}
	}
	show(s.Window != "", jobs.SetWindow, "")
	words, err := b.deadlineWords(ctx, run, c, now)
	if words != "" {
		t.row(jobs.SetDeadline, words)
	}
	show(s.MaxCost > 0, jobs.SetMaxCost, "")
	show(s.Weight > 1, jobs.SetWeight, " times the part of others")
	show(starts, jobs.SetRamp, "")
	show(s.ServiceTier != "", jobs.SetServiceTier, "")
	return err
}
