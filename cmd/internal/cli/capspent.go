package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// countSpent lets a run's cap know what its calls have cost before there was one: a
// cap counts the run's whole life. What is counted already stays.
func (b *backend) countSpent(ctx context.Context, run jobs.Run, before int64, now time.Time) error {
	if run.Spec.Steer.MaxCost == 0 {
		return nil
	}
	used, err := b.moneyOf(ctx, run, now)
	if err != nil {
		return err
	}
	used += before
	lane, err := limiter.ParseLane(run.Spec.Lane)
	if used == 0 || err != nil {
		return err
	}
	return b.lim.Restore(ctx, limiter.Snapshot{Scope: b.conf.scope(), At: now, Counters: []limiter.Counter{{
		Lane: lane, Node: "run/" + run.ID, Class: run.Spec.Class, Unit: limiter.MicroUSD, Window: limiter.Ever, Start: time.UnixMilli(0), Used: used}}})
}

// moneyOf is what a run's calls have cost so far, in micro-dollars: as workers counted
// them, and never less than its results say. A worker that is killed counts less.
func (b *backend) moneyOf(ctx context.Context, run jobs.Run, now time.Time) (int64, error) {
	zone := b.conf.spendZone()
	samples, err := gemini.ReadMoney(ctx, b.rdb, b.conf.scope(), run.Created.In(zone), now.In(zone))
	if err != nil {
		return 0, err
	}
	metered, more, err := b.metered(ctx, run, samples)
	return metered + more, err
}

// metered is what workers counted of a run's calls, of samples since it was made, and
// how much more its results say that they cost.
func (b *backend) metered(ctx context.Context, run jobs.Run, samples []gemini.MoneySample) (sum, more int64, err error) {
	for _, s := range samples {
		if s.Run == run.ID {
			sum += s.MicroUSD
		}
	}
	paid, err := b.store.Paid(ctx, run.ID)
	return sum, max(0, paid-sum), err
}

// moneySince is what calls have cost from a day on. What workers did not count since they
// were killed, and results say, is of the day on which the run was made.
func (b *backend) moneySince(ctx context.Context, from, now time.Time) ([]gemini.MoneySample, error) {
	samples, err := gemini.ReadMoney(ctx, b.rdb, b.conf.scope(), from, now)
	if err != nil {
		return nil, err
	}
	runs, err := b.ourRuns(ctx)
	if err != nil {
		return nil, err
	}
	folded := slices.ContainsFunc(samples, func(s gemini.MoneySample) bool { return s.Run == gemini.OtherFeature })
	counted := samples
	for _, run := range runs {
		if run.Created.Before(from) {
			continue
		}
		sum, more, err := b.metered(ctx, run, counted)
		if err != nil {
			return nil, err
		}
		if more == 0 || sum == 0 && folded { // a day with very many runs does not tell all of them apart
			continue
		}
		s := run.Spec
		samples = append(samples, gemini.MoneySample{Day: run.Created.In(from.Location()).Format(time.DateOnly), Model: s.Model, Class: s.Class, Feature: s.Feature,
			Tenant: s.Tenant, Run: run.ID, Tier: b.conf.usedTier(s, run.Created), MicroUSD: more})
	}
	return samples, nil
}

// capEnds says that a run's own cap will stop it before its end, by what the rows that
// were called for have cost so far; "" where it will not, or too few rows tell.
func capEnds(run jobs.Run, called, open, cost int64) string {
	most := run.Spec.Steer.MaxCost
	if most == 0 || called < leastTried || open == 0 {
		return ""
	}
	each := max(1, cost/called)
	if fit := max(0, most-cost) / each; fit < open {
		return fmt.Sprintf("its --max-cost stops it after about %s of %s open rows: nightshift set %s --max-cost %s lets all go",
			humanize.Comma(fit), humanize.Comma(open), typed(run), scheduler.CapDollars(scheduler.EnoughCap(cost, each*open, each)))
	}
	return ""
}

// readEnded adds when a run ended, and how many rows were called for at what cost.
func (b *backend) readEnded(ctx context.Context, run jobs.Run, s *runStatus, now time.Time) (err error) {
	if s.project != "" {
		return nil // another project's calls are in its own books
	}
	if s.counts.Open() == 0 && s.counts.Total() > 0 {
		ended, err := b.store.Ended(ctx, run)
		if err != nil {
			return err
		}
		s.Ended = &ended
	}
	if s.called, err = b.store.Called(ctx, run.ID, s.counts); err != nil {
		return err
	}
	s.Cost, err = b.moneyOf(ctx, run, now)
	return err
}

// steeredWith is steered where the results file knows what was spent before: a Redis
// of our own forgets it with the process.
func (s *session) steeredWith(sink *jobs.FileSink) func(context.Context, jobs.Run) error {
	return func(ctx context.Context, run jobs.Run) error {
		if err := s.steered(ctx, run); err != nil || s.embedded == nil {
			return err
		}
		return s.countSpent(ctx, run, sink.Spent(), time.Now())
	}
}
