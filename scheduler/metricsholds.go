package scheduler

import (
	"context"
	"slices"
	"strings"

	"nightshift/limiter"
)

// holds tells what keeps calls back, by whom.
func (c *FleetCollector) holds(ctx context.Context, s *sheet) error {
	now, err := c.Control.now(ctx)
	if err != nil {
		return err
	}
	pauses, err := c.Control.Limiter.Pauses(ctx)
	if err != nil {
		return err
	}
	for _, p := range pauses {
		s.add(fleet.pauses, 1, pauseTarget(p), pauseReason(p.Reason))
		if p.Class != "" {
			s.most(fleet.paused, max(0, now.Sub(p.Since).Seconds()), c.class(p.Class), pauseReason(p.Reason))
		}
	}
	breakers, err := c.Control.Limiter.Breakers(ctx)
	for _, b := range breakers {
		model := "all"
		if lane, err := limiter.ParseLane(b.Lane); err == nil {
			model = c.model(lane.Model)
		}
		s.most(fleet.breaker, 1, string(b.Scope), model, string(b.Reason)) // one of the limiter's own three
	}
	return err
}

// pauseTarget is what a pause is of, without its name.
func pauseTarget(p limiter.Pause) string {
	kind, _, _ := strings.Cut(p.Target(), " ")
	if p.Lane != "" && p.Priority != "" {
		return "queue"
	}
	return kind
}

// pauseReason is one of those that there are: a person may write any.
func pauseReason(reason string) string {
	if slices.Contains([]string{ReasonHealth, ReasonWindow, ReasonBudget, ReasonDaily, ReasonCredentials, ReasonCounters, ReasonOperator, ReasonStop, ReasonBrake}, reason) {
		return reason
	}
	return otherLabel
}

var phases = []Phase{Healthy, Yield, Paused, Ramping, Trickle}

// health tells what the monitor saw and decided.
func (c *FleetCollector) health(ctx context.Context, s *sheet) error {
	status, err := c.Control.Status(ctx)
	if err != nil {
		return err
	}
	for _, p := range phases {
		s.add(fleet.phase, flag(status.Phase == p), string(p))
	}
	if !status.View.Data.IsZero() {
		s.add(fleet.silent, max(0, status.At.Sub(status.View.Data).Seconds()))
	}
	for _, r := range status.View.Rows {
		if r.Feature != "" || status.View.NoData() { // what is of another time is not told as now's
			continue
		}
		class := c.class(r.Class)
		s.most(fleet.p95, r.P95.Duration().Seconds(), class)
		s.most(fleet.firstToken, r.FirstToken.Duration().Seconds(), class)
		s.most(fleet.refusedRatio, r.Ratio, class)
		s.add(fleet.calls, float64(r.Calls), class)
	}
	return nil
}

// mostCaps are told apart by their node; the others share one series.
const mostCaps = 100

// caps tells how far money is spent. Lanes and what the configuration names are told
// apart; the many tenants of a pattern are not.
func (c *FleetCollector) caps(ctx context.Context, s *sheet) error {
	states, err := c.Control.Limiter.Caps(ctx)
	if err != nil || len(states) == 0 {
		return err
	}
	named, err := c.named(ctx)
	for _, cap := range states {
		node := cap.Node
		if lane, err := limiter.ParseLane(node); err == nil {
			node = "model/" + c.model(lane.Model)
		} else if !named[node] {
			node = otherLabel
		}
		s.most(fleet.capRatio, float64(cap.Used)/float64(max(cap.Amount, 1)), node, cap.Name)
		s.add(fleet.soft, float64(len(cap.Stopped)), node, cap.Name)
		if node != otherLabel {
			s.add(fleet.capUsed, float64(cap.Used)/1e6, node, cap.Name)
			s.add(fleet.capLimit, float64(cap.Amount)/1e6, node, cap.Name)
		}
	}
	return err
}

// named are the nodes that the configuration has limits for, by name.
func (c *FleetCollector) named(ctx context.Context) (map[string]bool, error) {
	conf, err := c.Control.Limiter.Configured(ctx)
	names := make([]string, 0, len(conf.Nodes))
	for node := range conf.Nodes {
		if !strings.HasSuffix(node, "/*") && !strings.HasPrefix(node, "run/") {
			names = append(names, node)
		}
	}
	slices.Sort(names)
	out := map[string]bool{}
	for _, n := range names[:min(len(names), mostCaps)] {
		out[n] = true
	}
	return out, err
}
