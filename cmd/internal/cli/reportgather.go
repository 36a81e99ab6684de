package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
	"nightshift/worker"
)

// report gathers one run's report. What cannot be found out is said in Unknown;
// an error means that not even the rows' states are known.
func (b *backend) report(ctx context.Context, run jobs.Run, now time.Time) (*runReport, error) {
	r := &runReport{At: now, Run: run, Planned: run.Planned, Rows: run.Rows, From: run.Created, To: now, Do: []reportStep{}, Failed: []*cause{},
		Waits: []reportWait{}, Quota: []reportQuota{}, People: []reportPeople{}, Events: []reportEvent{}, Unknown: []string{}}
	fleet, err := worker.Fleet(ctx, b.rdb)
	if err != nil {
		return nil, err
	}
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	s, err := b.runStatus(ctx, run, pauses, fleet)
	if err != nil {
		return nil, err
	}
	if err := b.runEnd(ctx, &s, now); err != nil {
		r.unknown("when it will be done", err)
	}
	r.count(s)
	if r.Missed, err = b.store.Missed(ctx, run.ID); err != nil {
		r.unknown("which rows ended at the deadline", err)
	}
	for what, gather := range map[string]func(context.Context, *runReport) error{
		"why rows failed": b.reportFailed, "what it cost": b.reportCost, "what rows waited for": b.reportWaits, "what happened meanwhile": b.reportEvents,
	} {
		if what == "why rows failed" && s.counts.Bad() == 0 {
			continue
		}
		r.unknown(what, gather(ctx, r))
	}
	if r.Ended {
		r.unknown("when its last row ended", b.reportEnd(ctx, r))
	}
	r.unknown("how quota was used", b.reportUse(ctx, r))
	slices.Sort(r.Unknown)
	r.do(append(b.stepsFor(ctx, s), r.failedSteps()...)...)
	return r, nil
}

func (r *runReport) count(s runStatus) {
	c := s.counts
	r.States, r.Good, r.Bad, r.Open, r.Ended = s.States, c[jobs.Done]+c[jobs.Cached], c.Bad(), c.Open(), c.Open() == 0
	r.Phase, r.Hold = s.phase(), s.Hold
	if s.stands() {
		r.Stands = orElse(s.hold.brief, "paused")
	} else if s.outlasted() {
		r.Stands = "held past its deadline"
	} else if s.ETA != nil {
		r.ETA = *s.ETA
	}
}

// unknown notes what an error keeps from being known.
func (r *runReport) unknown(what string, err error) {
	if err != nil {
		r.Unknown = append(r.Unknown, fmt.Sprintf("%s: %s", what, gemini.Redact(err.Error())))
	}
}

func (b *backend) reportFailed(ctx context.Context, r *runReport) error {
	causes := causeTable{}
	err := b.eachFailed(ctx, r.Run, causes.add)
	r.Failed = append(r.Failed, causes.sorted()...)
	return err
}

// reportCost is by the meter's days, which keep money by run: no result is read.
func (b *backend) reportCost(ctx context.Context, r *runReport) error {
	zone := b.conf.spendZone()
	samples, err := gemini.ReadMoneyOf(ctx, b.rdb, b.conf.scope(), r.From.In(zone), r.At.In(zone), r.Run.ID)
	if err != nil {
		return err
	}
	if r.Cost.Unseen, err = b.store.Lost(ctx, r.Run.ID); err != nil {
		return err
	}
	if r.Cost.Attempts, err = b.store.Attempts(ctx, r.Run.ID); err != nil {
		return err
	}
	for _, s := range samples {
		r.Cost.Known = true
		r.Cost.addTier(s)
		r.Cost.Calls, r.Cost.MicroUSD = r.Cost.Calls+s.Calls, r.Cost.MicroUSD+s.MicroUSD
		r.Cost.Input, r.Cost.Output = r.Cost.Input+s.InputTokens, r.Cost.Output+s.OutputTokens
	}
	paid, err := b.store.Paid(ctx, r.Run.ID)
	r.Cost.MicroUSD = max(r.Cost.MicroUSD, paid) // a worker that is killed counts less
	return err
}

// reportEnd is when the last row ended: as the hooks were told, or as its result says.
func (b *backend) reportEnd(ctx context.Context, r *runReport) error {
	last, err := b.store.EndedAt(ctx, r.Run.ID)
	if err == nil && !last.IsZero() {
		r.To = last
		return nil
	}
	for _, e := range r.Events {
		if e.Subject == r.Run.ID && e.Data["run_event"] == scheduler.RunFinished {
			r.To = e.Happened()
			return nil
		}
	}
	var elsewhere *jobs.DrainedElsewhereError
	if errors.As(err, &elsewhere) {
		return nil // said of the rows already; until now is a bound
	}
	return err
}

// reportWaits: the workers add them up as rows end.
func (b *backend) reportWaits(ctx context.Context, r *runReport) error {
	waits, err := b.store.Waits(ctx, r.Run.ID)
	for i, d := range waits {
		if d >= time.Millisecond {
			r.Waits = append(r.Waits, reportWait{jobs.WaitCause(i).String(), d.Milliseconds()})
		}
	}
	slices.SortStableFunc(r.Waits, func(a, b reportWait) int { return cmp.Compare(b.MS, a.MS) })
	return err
}
