package cli

import (
	"context"
	"time"

	"nightshift/jobs"
)

// expect records with a run what the rows that an enqueue brought are expected to
// need, and gives it with the plan that it is of; nil where it brought none. A run goes
// without: what fails is only said.
func (b *backend) expect(ctx context.Context, p *batch, rep jobs.EnqueueReport, now time.Time) (*jobs.Planned, planReport) {
	rows := rep.New + rep.Changed - rep.Taken - rep.Reused
	if rows <= 0 {
		return nil, planReport{}
	}
	begun := ""
	if rep.New == rep.Run.Rows {
		begun = rep.Run.ID
	}
	e, err := b.conf.evidence(ctx, b, p, begun)
	if err != nil {
		b.log.Warn("what the run will need is not known", "err", err)
		return nil, planReport{}
	}
	r, err := b.conf.planOf(ctx, b, p, e, rep.Run.ID, rows, now)
	if err == nil {
		planned := r.planned(now)
		if err = b.store.Expect(ctx, rep.Run.ID, planned); err == nil {
			return &planned, r
		}
	}
	b.log.Warn("what the run will need is not recorded", "err", err)
	return nil, planReport{}
}

// plannedLine says in words what a run was expected to need; "" for nothing.
func plannedLine(p *jobs.Planned, now time.Time) string {
	if p == nil {
		return ""
	}
	s := plannedCost(*p)
	if !p.Done.IsZero() {
		s += ", done " + clock(p.Done, now)
	}
	return s
}

// plannedCost says in words what a run was expected to cost.
func plannedCost(p jobs.Planned) string {
	if p.Cost == nil {
		return "no price is known"
	}
	return costLine(*p.Cost, p.Source)
}
