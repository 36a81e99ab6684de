package cli

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// outlook is when what is open in a lane will have come through: how fast the
// lane goes, and who shares it. Every forecast of a run or a row that the shared
// state knows comes from here.
type outlook struct {
	lane limiter.LaneState
	pace float64 // rows a minute that came through lately; 0: that says nothing
	cost costs   // of a row
	now  time.Time
	runs []sharer

	alone bool // what others do before a run begins is left out
}

// sharer is an open run.
type sharer struct {
	id, class string
	rows      int64
	weight    float64
	until     time.Time // nothing of it goes before
	closed    bool      // and nobody knows until when
	gates     []gate
	nodes     []limiter.NodeState
}

func newOutlook(s limiter.LaneState, runs []runStatus, pace float64, now time.Time) outlook {
	o := outlook{lane: s, pace: pace, cost: costsIn(s.Leaves), now: now}
	for _, r := range runs {
		if r.counts.Open() > 0 {
			o.runs = append(o.runs, sharer{
				id: r.ID, class: r.Class, rows: r.counts.Open(), weight: weightOf(s, r),
				until: r.hold.until, closed: r.hold.endless(now), gates: r.gates, nodes: r.nodes,
			})
		}
	}
	return o
}

// of is when the first so many rows of a run will be done: through the lane, and
// through the slowest node on the way.
func (o outlook) of(id string, rows int64) (time.Time, bool) {
	f, known := o.slowest(id, rows)
	return o.now.Add(f.took), known
}

// slowest is of, with what decides it.
func (o outlook) slowest(id string, rows int64) (forecast, bool) {
	at := slices.IndexFunc(o.runs, func(s sharer) bool { return s.id == id })
	if at < 0 || o.runs[at].closed || o.runs[at].weight <= 0 {
		return forecast{}, false
	}
	own := o.runs[at]
	last, known := o.courseOf(own).forecast(o.ahead(own, rows, func(sharer) bool { return true }))
	for _, node := range own.nodes {
		f, ok := o.through(node, own, rows)
		if known = known && ok; f.took > last.took {
			last = f
		}
	}
	return last, known
}

// ahead is how many rows go before so many of a run are through, these included,
// of the runs that share the way. While several are open each has its weight's
// part; when one ends, the others have its part too.
func (o outlook) ahead(own sharer, rows int64, shares func(sharer) bool) (all float64) {
	for _, s := range o.runs {
		if shares(s) && !s.closed {
			all += min(float64(o.left(s, own)), s.weight*float64(min(rows, own.rows))/own.weight)
		}
	}
	return all
}

// left is how many rows of another run are left when a run begins: while that is held,
// those that are not go on.
func (o outlook) left(s, own sharer) int64 {
	begins := own.begins(o.now)
	if s.id == own.id || o.alone || !begins.After(o.now) || !s.begins(o.now).Before(begins) {
		return s.rows
	}
	meanwhile := o
	meanwhile.alone = true // how the others share until then among themselves is looked at once, not again for each
	meanwhile.runs = slices.DeleteFunc(slices.Clone(o.runs), func(x sharer) bool { return x.id == own.id })
	return s.rows - int64(sort.Search(int(s.rows), func(n int) bool {
		f, known := meanwhile.slowest(s.id, int64(n)+1)
		return !known || o.now.Add(f.took).After(begins)
	}))
}

// begins is the first moment from which rows of a run may go; now for one that nothing
// holds, or of which nobody knows.
func (s sharer) begins(now time.Time) time.Time {
	at := now
	if s.until.After(at) {
		at = s.until
	}
	for range mostTurns {
		rate, next := atAll(s.gates, at)
		if !rate.Closed() {
			return at
		}
		if next.IsZero() {
			break
		}
		at = next
	}
	return now
}

// mostTurns is how many turns of closed timetables are looked at: those of some weeks.
const mostTurns = 100

func (o outlook) courseOf(s sharer) course {
	return newCourse(o.lane, s.class, o.cost, o.pace, o.now).from(s.until).through(s.gates...)
}

// forecast is when a run will be done, and what decides it.
func (o outlook) forecast(id string) (forecast, bool) {
	at := slices.IndexFunc(o.runs, func(s sharer) bool { return s.id == id })
	if at < 0 {
		return forecast{}, false
	}
	return o.slowest(id, o.runs[at].rows)
}

// weightOf is the run's part of its lane: what the limiter says of its line, level
// by level. While nothing of it waits it is what its priority's weight would be
// beside the lines that do.
func weightOf(s limiter.LaneState, r runStatus) float64 {
	shares, weights := int64(0), int64(0)
	for _, l := range s.Leaves {
		switch own := limiter.ParseLeaf(l.Leaf).Run == r.ID; {
		case own && l.SharePPM > 0:
			return float64(l.SharePPM)
		case own && l.Weight > 0:
			return float64(l.Weight)
		}
		if l.SharePPM > 0 {
			shares, weights = shares+l.SharePPM, weights+l.Weight
		}
	}
	weight := float64(limiter.PriorityWeight(limiter.Priority(r.Priority)))
	if weights == 0 {
		return weight
	}
	return weight * float64(shares) / float64(weights)
}

// outlook gathers a lane's for one question.
func (b *backend) outlook(ctx context.Context, lane limiter.Lane, now time.Time) (outlook, error) {
	s, err := b.lim.State(ctx, lane)
	if err != nil {
		return outlook{}, err
	}
	o := &overview{At: now}
	if o.Runs, _, err = b.statuses(ctx); err != nil {
		return outlook{}, err
	}
	from := now.Add(-lately).Truncate(time.Minute)
	if o.samples, err = gemini.ReadMeterOf(ctx, b.rdb, b.conf.scope(), gemini.StepMinute, from, now, lane.Model); err != nil {
		return outlook{}, err
	}
	return o.outlook(s), nil
}

// outlook is a lane's, from what the screen shows.
func (o *overview) outlook(s limiter.LaneState) outlook {
	name := s.Lane.String()
	runs := slices.DeleteFunc(slices.Clone(o.Runs), func(r runStatus) bool { return r.lane != name })
	look := newOutlook(s, runs, o.pace()[s.Lane.Model], o.At)
	look.cost = o.taken(s.Lane.Model, runs, look.cost)
	return look
}

// estimate gives each open run that workers serve its end.
func (o *overview) estimate() {
	for _, lane := range o.Lanes {
		look, name := o.outlook(lane), lane.Lane.String()
		for i := range o.Runs {
			r := &o.Runs[i]
			if r.lane != name || r.Workers == 0 || r.outlasted() {
				continue
			}
			if at, known := look.of(r.ID, r.counts.Open()); known {
				r.ETA = &at
			}
		}
	}
}

// runEnd gives one run its end, if workers serve it.
func (b *backend) runEnd(ctx context.Context, r *runStatus, now time.Time) error {
	lane, err := limiter.ParseLane(r.lane)
	if err != nil || r.counts.Open() == 0 || r.Workers == 0 || r.outlasted() || lane.Scope() != b.conf.scope() {
		return err
	}
	look, err := b.outlook(ctx, lane, now)
	if errors.Is(err, limiter.ErrUnknownLane) {
		return nil
	}
	if at, known := look.of(r.ID, r.counts.Open()); known {
		r.ETA = &at
	}
	return err
}

// endOf is when the open rows of a run that was just enqueued will be done, as plan says
// it: of what this enqueue brought, or of all where others are open too.
func (b *backend) endOf(ctx context.Context, batch *batch, run string, open, ahead int64, plan planReport, now time.Time) (forecast, error) {
	if open > 0 && (!plan.Known || plan.need.Rows != open) {
		e, err := b.conf.evidence(ctx, b, batch, run)
		if err == nil {
			plan, err = b.conf.planOf(ctx, b, batch, e, run, open, now)
		}
		if err != nil {
			return forecast{}, err
		}
	}
	if plan.Known && open > 0 {
		return forecast{took: plan.Done.Sub(now), limit: plan.DoneLimit, days: plan.Resets, held: max(0, plan.begins.Sub(now))}, nil
	}
	return b.forecast(ctx, batch, run, open+ahead, now)
}

// forecast says when a run that was just enqueued will be done: by the state of its
// lane, where that is known; else by the limits of the configuration alone.
func (b *backend) forecast(ctx context.Context, batch *batch, run string, open int64, now time.Time) (forecast, error) {
	perRow := batch.tokens / max(batch.Rows, 1)
	byLimits := batch.quota.forecast(open, perRow*open, now)
	look, err := b.outlook(ctx, batch.quota.lane, now)
	switch {
	case errors.Is(err, limiter.ErrUnknownLane):
		return byLimits, nil
	case err != nil:
		return byLimits, err
	}
	if look.cost == (costs{}) {
		look.cost[limiter.Requests], look.cost[limiter.InputTokens] = 1, float64(perRow)
	}
	if f, known := look.forecast(run); known {
		at := slices.IndexFunc(look.runs, func(s sharer) bool { return s.id == run })
		f.held = look.runs[at].begins(now).Sub(now)
		return f, nil
	}
	return byLimits, nil
}
