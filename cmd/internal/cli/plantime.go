package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
	"nightshift/worker"
)

// prospect is a run that is not there yet, among those that are open in its lane.
type prospect struct {
	outlook
	hold hold      // what keeps it from working just now
	flex *flexPace // nil unless flex serves it

	theirs costs // of a row of the other runs
}

// prospectID is the run's in its outlook; no run has such a one.
const prospectID = "-"

// prospect puts a batch among what the shared state knows; be is nil where there is
// none, and the configuration's limits are all that is known. id is the run's where
// it is there already.
func (l *loaded) prospect(ctx context.Context, be *backend, b *batch, n need, id string, now time.Time) (p prospect, err error) {
	run := jobs.Run{ID: orElse(id, prospectID), Spec: b.Spec}
	own := runStatus{
		ID: prospectID, Class: b.Spec.Class, Priority: b.Spec.Priority, Feature: b.Spec.Feature,
		path: runPath(run), gates: append(l.gatesOf(b.Spec), starting{b.Spec.Steer}), lane: b.Spec.Lane,
	}
	own.counts[jobs.Queued] = n.Rows
	var lane limiter.LaneState
	var fleet []worker.WorkerInfo
	if be != nil {
		p.outlook, p.hold, own.nodes, fleet, err = be.around(ctx, run, now)
		lane = p.lane
	}
	p.flex = l.flexOf(b.Spec, fleet, now)
	if be == nil || errors.Is(err, limiter.ErrUnknownLane) {
		lane, own.nodes, err = l.quietLane(ctx, b, own, now)
	}
	if err != nil {
		return p, err
	}
	own.hold = p.hold
	others := slices.DeleteFunc(p.runs, func(s sharer) bool { return s.id == id })
	p.theirs = p.cost
	p.outlook = newOutlook(lane, []runStatus{own}, p.pace, now)
	p.cost = mixed(n.costs(), n.Rows, p.theirs, others)
	p.runs[0].weight *= float64(max(b.Spec.Steer.Weight, 1))
	p.runs = append(p.runs, others...)
	return p, nil
}

// around is what a run would find in the shared state.
func (b *backend) around(ctx context.Context, run jobs.Run, now time.Time) (o outlook, h hold, nodes []limiter.NodeState, fleet []worker.WorkerInfo, err error) {
	lane, err := limiter.ParseLane(run.Spec.Lane)
	if err != nil {
		return o, h, nil, nil, err
	}
	if o, err = b.outlook(ctx, lane, now); err != nil {
		return o, h, nil, nil, err
	}
	if fleet, err = worker.Fleet(ctx, b.rdb); err != nil {
		return o, h, nil, nil, err
	}
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return o, h, nil, nil, err
	}
	// Windows are looked at as the timetables that they are, not as what holds now.
	pauses = slices.DeleteFunc(pauses, func(p limiter.Pause) bool { return p.Reason == scheduler.ReasonWindow })
	if h, err = b.runHold(ctx, run, pauses, fleet, now); err != nil {
		return o, h, nil, nil, err
	}
	own := []runStatus{{path: runPath(run), Feature: run.Spec.Feature}}
	own[0].counts[jobs.Queued] = 1
	err = b.onTheWay(ctx, own)
	return o, h, own[0].nodes, b.living(fleet), err
}

// quietLane is the lane by the configuration, with nobody there: the embedded Redis
// keeps what is used of the day.
func (l *loaded) quietLane(ctx context.Context, b *batch, own runStatus, now time.Time) (s limiter.LaneState, nodes []limiter.NodeState, err error) {
	conf := l.limiterConfig()
	m := limiter.NewModel(l.scope(), now)
	if err := m.Configure(ctx, conf); err != nil {
		return s, nil, err
	}
	if text, err := os.ReadFile(filepath.Join(l.stateDir(), countersFile)); err == nil && l.Redis == "embedded" {
		var used limiter.Snapshot
		if json.Unmarshal(text, &used) == nil {
			_ = m.Restore(ctx, used) // what cannot be read, `run` will refuse with the file's name
		}
	}
	for _, name := range conf.NodesOf(own.path, own.Feature) {
		node, err := m.NodeState(ctx, name)
		if err != nil && !errors.Is(err, limiter.ErrUnknownNode) {
			return s, nil, err
		}
		nodes = append(nodes, node)
	}
	s, err = m.State(ctx, b.quota.lane)
	return s, nodes, err
}

// ends are the prospect with rows that take the least, and the most, that is expected
// of them; none where nothing but the longest answer is known, which says nothing.
func (p prospect) ends(n need) []prospect {
	if n.Source == jobs.PlannedCap {
		return nil
	}
	least, most := p, p
	least.cost = mixed(n.at(func(s jobs.Span) int64 { return s.Low }).costs(), n.Rows, p.theirs, p.runs[1:])
	most.cost = mixed(n.at(func(s jobs.Span) int64 { return s.High }).costs(), n.Rows, p.theirs, p.runs[1:])
	return []prospect{least, most}
}

// at is the need at one place of each span.
func (n need) at(end func(jobs.Span) int64) need {
	n.Input.Mid, n.Output.Mid = end(n.Input), end(n.Output)
	n.Tiers = slices.Clone(n.Tiers)
	for i := range n.Tiers {
		n.Tiers[i].Cost.Mid = end(n.Tiers[i].Cost)
	}
	return n
}

// costs are what a row takes of each unit, in the mean.
func (n need) costs() (c costs) {
	rows := float64(max(n.Rows, 1))
	c[limiter.Requests] = 1
	c[limiter.InputTokens] = float64(n.Input.Mid) / rows
	c[limiter.OutputTokens] = float64(n.Output.Mid) / rows
	if n.Source == jobs.PlannedCap {
		c[limiter.OutputTokens] = 0 // nobody knows; no limit may seem to bind for that
	}
	c[limiter.TotalTokens] = c[limiter.InputTokens] + c[limiter.OutputTokens]
	for _, t := range n.Tiers {
		switch {
		case t.Tier == n.Tier && n.Source == jobs.PlannedCap:
			c[limiter.MicroUSD] = float64(t.Cost.Low) / rows // the input's: that much is sure
		case t.Tier == n.Tier:
			c[limiter.MicroUSD] = float64(t.Cost.Mid) / rows
		}
	}
	return c
}

// mixed is what a row of the lane takes, ours and those of the other runs.
func mixed(own costs, rows int64, theirCost costs, others []sharer) costs {
	var theirs int64
	for _, s := range others {
		theirs += s.rows
	}
	if theirs == 0 || theirCost == (costs{}) {
		return own
	}
	for u := range own {
		own[u] = (own[u]*float64(rows) + theirCost[u]*float64(theirs)) / float64(rows+theirs)
	}
	return own
}

// end is when it will be done, with all that holds it up; not known where nobody can
// say.
func (p prospect) end() (forecast, bool) { return p.forecast(prospectID) }

// needs is the time that the rows take of the lane's limits, were nothing in their
// way: no other run, no window, no pause.
func (p prospect) needs() (forecast, bool) {
	own := p.runs[0]
	own.gates, own.until, own.closed = nil, time.Time{}, false
	p.runs = []sharer{own}
	p.lane.Throttles, p.pace = nil, 0
	return p.end()
}
