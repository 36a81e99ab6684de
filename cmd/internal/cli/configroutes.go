package cli

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// MoveConfig moves all calls of a scope that are for one model to another.
type MoveConfig struct {
	Scope string `yaml:"scope"` // feature/NAME, tenant/NAME, team/NAME or key/ID
	From  string `yaml:"from"`  //
	To    string `yaml:"to"`    //
}

// RampsConfig says how a ramp goes by what is seen of its calls. What is absent has
// the default that is named.
type RampsConfig struct {
	Every *time.Duration `yaml:"every"` // between two looks; default 2s
	Over  *time.Duration `yaml:"over"`  // what a look judges; default 60s
	Bad   *int           `yaml:"bad"`   // looks in a row: the share stays; default 2
	Good  *int           `yaml:"good"`  // looks in a row: it goes on; default 15
	Back  *int           `yaml:"back"`  // bad looks in a row: it goes back a step; default 60

	Samples    *int64         `yaml:"samples"`     // fewer moved calls say nothing of time, and end no step; default 20
	P95        *time.Duration `yaml:"p95"`         // of the moved calls; default that of health
	FirstToken *time.Duration `yaml:"first_token"` // likewise
	Slower     *float64       `yaml:"slower"`      // than the calls that stay, at most so many times; default 1.5
	Refused    *float64       `yaml:"refused"`     // part of the moved calls that may be refused for quota; default health.refused_ratio
	Failed     *float64       `yaml:"failed"`      // part that may fail beyond that of the calls that stay; default 0.01
	Degraded   *float64       `yaml:"degraded"`    // part that may get another answer, likewise; default 0.01
	Least      *int64         `yaml:"least"`       // fewer such calls say nothing; default health.refusals
}

// rampRules are the rules as the scheduler takes them.
func (c *Config) rampRules() scheduler.RampRules {
	all, _ := c.Health.thresholds()
	r := c.Ramps
	rules := scheduler.RampRules{Limits: gemini.RampLimits{
		P95: all.P95, FirstToken: all.FirstToken, RefusedPPM: ppmOf(all.RefusedRatio), Least: all.Refusals,
	}}
	set(&rules.Every, r.Every)
	set(&rules.Over, r.Over)
	set(&rules.Bad, r.Bad)
	set(&rules.Good, r.Good)
	set(&rules.Back, r.Back)
	set(&rules.Limits.Samples, r.Samples)
	set(&rules.Limits.P95, r.P95)
	set(&rules.Limits.FirstToken, r.FirstToken)
	set(&rules.Limits.Least, r.Least)
	setPPM(&rules.Limits.SlowerPPM, r.Slower)
	setPPM(&rules.Limits.RefusedPPM, r.Refused)
	setPPM(&rules.Limits.FailedPPM, r.Failed)
	setPPM(&rules.Limits.DegradedPPM, r.Degraded)
	return rules
}

// rampLimits are those of one ramp: of a feature with thresholds of its own,
// these, where the configuration of ramps does not say otherwise.
func (c *Config) rampLimits(scope gemini.RampScope) (l gemini.RampLimits) {
	_, own := c.Health.thresholds()
	t, ok := own[scope.Name]
	if scope.Kind != "feature" || !ok {
		return l
	}
	if c.Ramps.P95 == nil {
		l.P95 = t.P95
	}
	if c.Ramps.FirstToken == nil {
		l.FirstToken = t.FirstToken
	}
	if c.Ramps.Refused == nil {
		l.RefusedPPM = ppmOf(t.RefusedRatio)
	}
	if c.Ramps.Least == nil {
		l.Least = t.Refusals
	}
	return l
}

func ppmOf(part float64) int64 { return int64(math.Round(part * ppm)) }

func setPPM(at *int64, v *float64) {
	if v != nil {
		*at = ppmOf(*v)
	}
}

// zeroRamps: for the scheduler a rule of zero is one that was not set; here it was.
func (r RampsConfig) zeroRamps() error {
	for _, f := range []struct {
		name string
		zero bool
	}{
		{"every", is(r.Every, 0)}, {"over", is(r.Over, 0)}, {"bad", is(r.Bad, 0)}, {"good", is(r.Good, 0)}, {"back", is(r.Back, 0)},
		{"samples", is(r.Samples, 0)}, {"p95", is(r.P95, 0)}, {"first_token", is(r.FirstToken, 0)}, {"slower", is(r.Slower, 0)},
		{"refused", is(r.Refused, 0)}, {"failed", is(r.Failed, 0)}, {"degraded", is(r.Degraded, 0)}, {"least", is(r.Least, 0)},
	} {
		if f.zero {
			return fmt.Errorf("ramps.%s: must be above zero", f.name)
		}
	}
	return nil
}

func is[T comparable](v *T, other T) bool { return v != nil && *v == other }

// checkRoutes builds what the gateway would use.
func (c *Config) checkRoutes() error {
	if err := cmp.Or(c.Ramps.zeroRamps(), c.rampRules().Check("ramps")); err != nil {
		return err
	}
	if len(c.Routes) == 0 && len(c.Moves) == 0 {
		return nil
	}
	lanes, err := (&loaded{Config: *c}).laneMap()
	if err != nil {
		return nil // models has its own check, which says it better
	}
	_, err = c.routes(lanes)
	return err
}

// routes are the aliases and moves as the transport takes them, without ramps.
func (c *Config) routes(lanes *gemini.LaneMap) (*gemini.Routes, error) {
	r, err := c.routesConfig(lanes)
	if err != nil {
		return nil, err
	}
	return gemini.NewRoutes(r)
}

func (c *Config) routesConfig(lanes *gemini.LaneMap) (gemini.RoutesConfig, error) {
	r := gemini.RoutesConfig{Lanes: lanes, Aliases: c.Routes}
	for i, m := range c.Moves {
		scope, err := gemini.ParseRampScope(m.Scope)
		if err != nil {
			return r, fmt.Errorf("moves[%d].scope: %w", i, err)
		}
		if scope.Kind == "feature" {
			if err := c.featureOK(fmt.Sprintf("moves[%d].scope", i), scope.Name); err != nil {
				return r, err
			}
		}
		r.Moves = append(r.Moves, gemini.Move{Scope: scope, From: m.From, To: m.To})
	}
	for i, p := range c.Degrade.Models {
		pair, err := p.pair()
		if err != nil {
			return r, fmt.Errorf("degrade.models[%d].%w", i, err)
		}
		r.Pairs = append(r.Pairs, pair)
	}
	return r, nil
}

// realModel is the model that an alias stands for: a run names its model for good.
func (c *Config) realModel(name string) string {
	for range c.Routes { // which go round in no circle
		for alias, to := range c.Routes {
			if gemini.NormalizeModel(alias) == gemini.NormalizeModel(name) {
				name = to
			}
		}
	}
	return name
}

// liveRoutes are the routes of a process, with the ramps that all share.
func (b *backend) liveRoutes(lanes *gemini.LaneMap) (*gemini.Routes, error) {
	r, err := b.conf.routesConfig(lanes)
	if err != nil {
		return nil, configErrorf("%v", err)
	}
	r.Source, r.Logger = gemini.NewRampStore(b.rdb, b.conf.scope()), b.log
	routes, err := gemini.NewRoutes(r)
	if err != nil {
		return nil, configErrorf("%v", err)
	}
	return routes, nil
}
