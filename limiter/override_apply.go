package limiter

import (
	"maps"
	"slices"
	"strings"
)

// clone shares nothing that apply changes.
func (c Config) clone() Config {
	c.Lanes, c.Classes = slices.Clone(c.Lanes), slices.Clone(c.Classes)
	c.Nodes, c.Weights, c.Shadow = orMade(maps.Clone(c.Nodes)), orMade(maps.Clone(c.Weights)), orMade(maps.Clone(c.Shadow))
	return c
}

func orMade[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// apply puts an override that was checked over the configuration. c is a clone.
func (c *Config) apply(o Override) {
	switch o.kind() {
	case kindLane:
		if i := c.laneAt(o.Node); i >= 0 {
			c.applyLane(&c.Lanes[i], o)
		}
	case kindClass:
		if i := c.classAt(o.class()); i >= 0 {
			*c.Classes[i].sharePPM(o.Name) = o.Value
		}
	case kindWeights:
		c.Weights[o.Name] = o.Value
	case kindNode:
		c.applyNode(o)
	}
}

func (c *Config) laneAt(node string) int {
	return slices.IndexFunc(c.Lanes, func(l LaneConfig) bool { return l.Lane.String() == node })
}

func (c *Config) classAt(name string) int {
	return slices.IndexFunc(c.Classes, func(x Class) bool { return x.Name == name })
}

func (c *Config) applyLane(l *LaneConfig, o Override) {
	switch o.Name {
	case "outside":
		l.OutsidePPM = o.Value
	case "lend":
		l.Lend = o.Text
	case "shadow":
		c.Shadow[o.Node] = o.list()
	default:
		o.limit(&l.Limits)
	}
}

// applyNode begins a node that the configuration does not name with the limits
// that it had until now, those of its kind's pattern.
func (c *Config) applyNode(o Override) {
	if o.Name == "shadow" {
		c.Shadow[o.Node] = o.list()
		return
	}
	l, named := c.Nodes[o.Node]
	if !named {
		l = c.Nodes[pattern(o.Node)]
	}
	o.limit(&l)
	c.Nodes[o.Node] = l
	if _, by := c.Nodes[pattern(o.Node)]; len(l.List()) == 0 && (!by || wildcard(o.Node)) {
		delete(c.Nodes, o.Node) // nothing is left that binds
	}
}

// limit sets one limit. The provider's word only lowers one that there is; calls
// at once may have their first one by it (Report).
func (o Override) limit(l *Limits) {
	at := l.field(o.Name)
	if o.Text == None && *at > 0 {
		*at = Unlimited // it goes on counting, so that what was used stays used when it comes back
		return
	}
	if o.Source == SourceProvider && (*at > 0 || o.Name != "concurrency") {
		*at = min(*at, o.Value)
		return
	}
	*at = o.Value
}

func (l *Limits) field(name string) *int64 {
	for _, s := range shorthands {
		if s.name == name {
			return s.field(l)
		}
	}
	return nil
}

// Get is a limit by its shorthand; 0 when there is none.
func (l Limits) Get(name string) int64 {
	if at := l.field(name); at != nil {
		return *at
	}
	return 0
}

// list is a list of limits by shorthand.
func (o Override) list() []string {
	if o.Text == None || o.Text == "" {
		return nil
	}
	return strings.Split(o.Text, ",")
}

// shareNames are the shares of a class that an override may set.
var shareNames = []string{"guarantee", "floor", "trickle", "cap", "output_floor"}

func (c *Class) sharePPM(name string) *int64 {
	switch name {
	case "guarantee":
		return &c.GuaranteePPM
	case "floor":
		return &c.FloorPPM
	case "trickle":
		return &c.TricklePPM
	case "cap":
		return &c.CapPPM
	case "output_floor":
		return &c.OutputFloorPPM
	}
	return nil
}
