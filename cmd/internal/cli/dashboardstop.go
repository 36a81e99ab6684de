package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"nightshift/cmd/internal/dashboard"
	"nightshift/cmd/internal/tenants"
	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// An emergency stop of a tenant, team or key pauses its open runs and holds all of its
// other calls to one a minute, which is the least that a limit can be. Both are lifted
// together; what it had before comes back then.
const stopReason = tenants.StopReason

// stopKinds are the nodes that can be stopped.
var stopKinds = []string{"tenant", "team", "key"}

// stopTarget is what a stop is of.
type stopTarget struct {
	node string // "tenant/acme"
	runs []jobs.Run
}

// stopOf finds it.
func (b *backend) stopOf(ctx context.Context, target string) (s stopTarget, err error) {
	kind, name, ok := strings.Cut(strings.TrimSpace(target), "/")
	if !ok || name == "" || name == "*" || !slices.Contains(stopKinds, kind) {
		return s, usageErrorf("%q: want tenant/NAME, team/NAME or key/ID; nothing was changed", cutText(target, 100))
	}
	if s.node = kind + "/" + name; kind == "key" {
		if s.node, err = b.keyNamed(ctx, name); err != nil {
			return s, err
		}
		return s, b.mustBeKnown(ctx, s.node, nil)
	}
	runs, err := b.ourRuns(ctx)
	if err != nil {
		return s, err
	}
	if err := b.mustBeKnown(ctx, s.node, runs); err != nil {
		return s, err
	}
	for _, r := range runs {
		if kind == "tenant" && r.Spec.Tenant != name || kind == "team" && r.Spec.Team != name {
			continue
		}
		counts, err := b.store.Counts(ctx, r.ID)
		if err != nil {
			return s, err
		}
		if counts.Open() > 0 {
			s.runs = append(s.runs, r)
		}
	}
	return s, err
}

// limit is the change of its limit.
func (s stopTarget) limit(value string) url.Values {
	return url.Values{"target": {s.node}, "name": {"rpm"}, "value": {value}, "reason": {stopReason}}
}

func (b *backend) stopAction() dashboard.Action {
	return dashboard.Action{
		Name: "stop", Title: "Stop",
		Preview: func(ctx context.Context, by dashboard.Viewer, form url.Values) (string, error) {
			s, err := b.stopOf(ctx, form.Get("target"))
			if err != nil {
				return "", err
			}
			changes, err := b.tryQuota(ctx, by, s.limit("1"), false, true)
			_, _, both := changeWords(changes)
			return fmt.Sprintf("Stop %s? Its calls are held to one a minute (%s), people's too, and %s paused until the stop is lifted; calls in flight end and are kept. "+
				"A key that leaked is better revoked: nightshift keys revoke.", s.node, orElse(both, "as they are now"), areRuns(len(s.runs))), err
		},
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (dashboard.Outcome, error) {
			return b.stop(ctx, by.By(), form.Get("target"), form.Get("reason"))
		},
	}
}

// stop begins an emergency stop.
func (b *backend) stop(ctx context.Context, by, target, reason string) (out dashboard.Outcome, err error) {
	s, err := b.stopOf(ctx, target)
	if err != nil {
		return out, err
	}
	out.Target = s.node
	out.Before, out.After, err = b.rpmAround(ctx, s.node, func() error { return b.book.Stop(ctx, by, s.node, strings.TrimSpace(reason)) })
	if err != nil {
		return out, err
	}
	for _, r := range s.runs {
		_, err := b.control().Pause(ctx, scheduler.PauseRequest{Target: scheduler.Target{Run: r.ID}, Reason: scheduler.ReasonStop, Owner: by, Detail: stopReason + " of " + s.node})
		if err != nil {
			return out, fmt.Errorf("%s is held to one call a minute, but run %s is not paused: %w", s.node, r.Title(), err)
		}
	}
	out.Said = fmt.Sprintf("%s is stopped: one call a minute, and %s paused.", s.node, areRuns(len(s.runs)))
	return out, nil
}

func areRuns(n int) string {
	if n == 1 {
		return "1 open run is"
	}
	return fmt.Sprintf("%d open runs are", n)
}

// liftAction ends an emergency stop: what was set before holds again, and the runs go on
// that it paused.
func (b *backend) liftAction() dashboard.Action {
	return dashboard.Action{
		Name: "lift", Title: "Lift the stop",
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (dashboard.Outcome, error) {
			return b.lift(ctx, by.By(), form.Get("target"))
		},
	}
}

// lift ends an emergency stop.
func (b *backend) lift(ctx context.Context, by, target string) (out dashboard.Outcome, err error) {
	s, err := b.stopOf(ctx, target)
	if err != nil {
		return out, err
	}
	out.Target = s.node
	out.Before, out.After, err = b.rpmAround(ctx, s.node, func() error { return b.book.Lift(ctx, by, s.node) })
	if err != nil {
		return out, err
	}
	n, err := b.liftRuns(ctx, s, by)
	out.Said = fmt.Sprintf("%s goes on as before the stop (%s), and %d of its runs with it.", s.node, out.After, n)
	return out, err
}

// liftRuns takes the stop off the runs, and says how many go on: those that something
// else holds, as a person's pause of before, stay so.
func (b *backend) liftRuns(ctx context.Context, s stopTarget, by string) (n int, err error) {
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range s.runs {
		ours := func(p limiter.Pause) bool {
			return p.Run == r.ID && p.Reason == scheduler.ReasonStop && p.Detail == stopReason+" of "+s.node
		}
		if !slices.ContainsFunc(pauses, ours) {
			continue
		}
		other, err := b.otherStop(ctx, s.node, r)
		if err != nil {
			return n, err
		}
		if other != "" { // the pause is that one's from now on
			_, err := b.control().Pause(ctx, scheduler.PauseRequest{Target: scheduler.Target{Run: r.ID}, Reason: scheduler.ReasonStop, Owner: by, Detail: stopReason + " of " + other})
			if err != nil {
				return n, err
			}
			continue
		}
		e, err := b.control().LiftStop(ctx, scheduler.Target{Run: r.ID}, by)
		if err != nil {
			return n, err
		}
		if len(e.Still) == 0 {
			n++
		}
	}
	return n, nil
}

// otherStop is the tenant or team of a run that is stopped beside this one; "" for none.
func (b *backend) otherStop(ctx context.Context, node string, r jobs.Run) (string, error) {
	for kind, name := range map[string]string{"tenant": r.Spec.Tenant, "team": r.Spec.Team} {
		other := kind + "/" + name
		if name == "" || other == node {
			continue
		}
		if stopped, err := b.book.IsStopped(ctx, other); err != nil || stopped {
			return other, err
		}
	}
	return "", nil
}

// rpmAround says what a node's limit of requests was and is, around a change.
func (b *backend) rpmAround(ctx context.Context, node string, change func() error) (before, after string, err error) {
	words := func() (string, error) {
		c, err := b.lim.Effective(ctx)
		return "rpm " + valueText(c.Value(node, "rpm")), err
	}
	if before, err = words(); err != nil {
		return "", "", err
	}
	if err := change(); err != nil {
		return "", "", err
	}
	after, err = words()
	return before, after, err
}
