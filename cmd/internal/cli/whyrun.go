package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// explainRun prints what a run's rows wait for: a hold of their lane, or the
// tightest of all limits on their way, which may be a tenant's.
func (o *whyOptions) explainRun(ctx context.Context, be *backend, run jobs.Run) error {
	h, lane, err := o.holdOf(ctx, be, run.Spec.Lane)
	if err != nil || h.why != "" || lane.Scope() != be.conf.scope() {
		return firstError(err, o.explainLane(ctx, be, run.Spec.Lane))
	}
	e, step, err := be.runWay(ctx, run, lane)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Out, o.laneSentence(be.conf, e.Lane, step))
	o.printThrottles(e.Lane)
	return nil
}

// waitsFor is the limit that the waiting rows of a run wait for, and until when, without
// a full stop; "" where none holds them up, or the lane is not ours to read.
func (b *backend) waitsFor(ctx context.Context, run jobs.Run, now time.Time) (string, error) {
	lane, err := limiter.ParseLane(run.Spec.Lane)
	if err != nil || lane.Scope() != b.conf.scope() {
		return "", nil
	}
	e, step, err := b.runWay(ctx, run, lane)
	if errors.Is(err, limiter.ErrUnknownLane) {
		return "", nil
	}
	if err != nil || step.limit.Name == "" || step.waits(e.Lane.Leaves) == 0 {
		return "", err
	}
	return strings.TrimSuffix(laneWait(e.Lane, step, now), "."), nil
}

// runWay is a run's way through its limits, and the tightest of them.
func (b *backend) runWay(ctx context.Context, run jobs.Run, lane limiter.Lane) (e *explained, step wayStep, err error) {
	s, err := b.lim.State(ctx, lane)
	if err != nil {
		return nil, step, err
	}
	e = &explained{Class: run.Spec.Class, Path: runPath(run), Feature: run.Spec.Feature, Amounts: costsIn(s.Leaves).amounts()}
	q := limiter.Request{Lane: lane, Class: e.Class, Path: e.Path, Feature: e.Feature, Amounts: e.Amounts}
	if e.Explanation, err = b.lim.Explain(ctx, q); err != nil {
		return nil, step, err
	}
	if step = tightestStep(e); strings.HasPrefix(step.node, "feature/") {
		step.features, err = b.features(ctx)
	}
	return e, step, err
}

// features are those of the runs, by run.
func (b *backend) features(ctx context.Context) (map[string]string, error) {
	runs, err := b.store.Runs(ctx)
	out := map[string]string{}
	for _, r := range runs {
		out[r.ID] = r.Spec.Feature
	}
	return out, err
}

// waits counts the jobs that go by the limit: all of a lane, or those of the lines
// on whose way the node is.
func (s wayStep) waits(leaves []limiter.LeafState) (n int64) {
	for _, l := range leaves {
		p := limiter.ParseLeaf(l.Leaf)
		levels := []string{"organization/" + p.Organization, "tenant/" + p.Tenant, "team/" + p.Team, "key/" + p.Key, "run/" + p.Run, "feature/" + s.features[p.Run]}
		if s.node == "" || slices.Contains(levels, s.node) {
			n += l.Waiting
		}
	}
	return n
}

// amounts is a row of these costs; one request where nothing is known.
func (c costs) amounts() limiter.Amounts {
	var a limiter.Amounts
	for u, n := range c {
		a[u] = int64(n + 0.5)
	}
	a[limiter.Requests] = max(1, a[limiter.Requests])
	return a
}

// tightestStep is the limit on the way that holds the class up most; the
// zero one if there is none. A limit in shadow holds nobody up.
func tightestStep(e *explained) wayStep {
	var best wayStep
	for _, s := range waySteps(e) {
		if !s.limit.Shadow && (best.limit.Name == "" || s.binds(best, e.Lane.Leaves)) {
			best = s
		}
	}
	return best
}

// binds tells whether a limit holds up more than another one: what has no room at all
// before what has, then what cannot let all through that waits, then the fuller.
func (s wayStep) binds(o wayStep, leaves []limiter.LeafState) bool {
	if full, other := s.room <= 0, o.room <= 0; full != other {
		return full
	}
	if waits, other := s.short(leaves), o.short(leaves); waits != other {
		return waits
	}
	return ratio(s.room, max(1, s.limit.Amount)) < ratio(o.room, max(1, o.limit.Amount))
}

// short tells that a limit has no room for all that waits for it. Calls at once are given
// back all the time: with room for one they hold nobody up.
func (s wayStep) short(leaves []limiter.LeafState) bool {
	if s.limit.Window == limiter.Held && s.room > 0 {
		return false
	}
	return s.waits(leaves)*s.needs > s.room
}

// laneStep is that of a lane alone.
func laneStep(s limiter.LaneState, class string) wayStep {
	e := &explained{Class: class}
	e.Lane = s
	return tightestStep(e)
}
