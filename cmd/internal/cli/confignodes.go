package cli

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"nightshift/limiter"
)

// checkNodes reads the limits beside the models': kind/id, or kind/* for all that
// are not named.
func (c *Config) checkNodes() error {
	for _, node := range slices.Sorted(maps.Keys(c.Nodes)) {
		key, n := "nodes."+node, c.Nodes[node]
		kind, id, _ := strings.Cut(node, "/")
		if kind == "feature" && id != "*" {
			if err := c.featureOK(key, id); err != nil {
				return err
			}
		}
		if err := limiter.CheckNode(key, node); err != nil {
			return err
		}
		if err := firstError(n.check(key), shadowOK(key+".shadow", n.Shadow)); err != nil {
			return err
		}
		if len(n.limits().List()) == 0 {
			return fmt.Errorf("%s: no limits; give it at least one of %s", key, strings.Join(limiter.LimitNames(), ", "))
		}
		for _, name := range n.Shadow {
			if n.limits().Get(name) == 0 {
				return fmt.Errorf("%s.shadow: %s has no %s that could be in shadow", key, node, name)
			}
		}
	}
	return nil
}

func shadowOK(key string, names []string) error {
	for _, name := range names {
		if !slices.Contains(limiter.LimitNames(), name) {
			return fmt.Errorf("%s: unknown limit %q%s; known are %s", key, name, closest(name, limiter.LimitNames()), strings.Join(limiter.LimitNames(), ", "))
		}
	}
	return nil
}

// checkEnforced asks whoever enforces the whole: what the single keys cannot show,
// such as shares that add up to more than there is.
func (c *Config) checkEnforced() error {
	err := c.limiterConfig().Validate()
	var wrong *limiter.ConfigError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: %s", strings.NewReplacer("[", ".", "]", "").Replace(wrong.Field), wrong.Problem)
	}
	return err
}

// checkZeros refuses a limit that is there and zero: it would mean no limit at all,
// the opposite of what it says.
func (l *loaded) checkZeros() error {
	for _, key := range l.k.Keys() {
		parts := strings.Split(key, keySep)
		last := parts[len(parts)-1]
		if !slices.Contains([]string{"models", "nodes", "spend"}, parts[0]) || !slices.Contains(limiter.LimitNames(), last) {
			continue
		}
		if l.k.Float64(key) == 0 {
			return fmt.Errorf("%s: 0 would let nothing through; leave it out for no limit, or `nightshift pause` what must stop", strings.Join(parts, "."))
		}
	}
	return nil
}

// limiterConfig is what the shared state is told.
func (c *Config) limiterConfig() limiter.Config {
	out := limiter.Config{
		Scope:   c.scope(),
		Classes: c.classTable(),
		Nodes:   map[string]limiter.Limits{},
		Shadow:  map[string][]string{},
		Weights: c.Weights,
		MonthTZ: orElse(c.Spend.Zone, c.TimeZone),
		SoftPPM: int64(math.Round(c.Spend.SoftRatio * ppm)),
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		l := c.laneConfig(name)
		out.Lanes = append(out.Lanes, l)
		if shadow := c.Models[name].Shadow; len(shadow) > 0 {
			out.Shadow[l.Lane.String()] = shadow
		}
	}
	for node, n := range c.Nodes {
		out.Nodes[node] = n.limits()
		if len(n.Shadow) > 0 {
			out.Shadow[node] = n.Shadow
		}
	}
	if l := c.Spend.limits(); len(l.List()) > 0 {
		out.Nodes[out.Scope.ProjectNode()] = out.Nodes[out.Scope.ProjectNode()].With(l)
	}
	return out
}

func (c *Config) laneConfig(model string) limiter.LaneConfig {
	m, outside := c.Models[model], defaultOutside
	if m.Outside != nil {
		outside = *m.Outside
	}
	return limiter.LaneConfig{Lane: c.lane(model), Limits: m.limits(), OutsidePPM: int64(outside * ppm), Lend: orElse(m.Lend, "auto")}
}
