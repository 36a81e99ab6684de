package limiter

import (
	"slices"
	"strings"
)

// each calls f with the kinds and ids that a call belongs to.
func (p Path) each(feature string, f func(kind, id string)) {
	for i, id := range []string{p.Organization, p.Tenant, p.Team, p.Key, feature, p.Run} {
		if id != "" {
			f(nodeKinds[1+i], id)
		}
	}
}

// nodesOf are the nodes with limits that a call must fit, from the outside in: by
// name, or by the pattern of their kind.
func (c *Config) nodesOf(p Path, feature string) []string {
	if c == nil || len(c.Nodes) == 0 {
		return nil
	}
	var out []string
	if node := c.Scope.ProjectNode(); hasKey(c.Nodes, node) {
		out = append(out, node)
	}
	p.each(feature, func(kind, id string) {
		_, own := c.Nodes[kind+"/"+id]
		_, pattern := c.Nodes[kind+"/*"]
		if own || pattern {
			out = append(out, kind+"/"+id)
		}
	})
	return out
}

func hasKey[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}

// NodesOf are the nodes with limits that a call on behalf of a path, and for a
// feature, must fit beside its lane, from the outside in.
func (c Config) NodesOf(p Path, feature string) []string { return c.nodesOf(p, feature) }

// limitsOf are a node's limits: its own, or its kind's.
func (c *Config) limitsOf(node string) (Limits, bool) {
	if l, ok := c.Nodes[node]; ok {
		return l, true
	}
	l, ok := c.Nodes[pattern(node)]
	return l, ok
}

// pattern is "tenant/*" for "tenant/acme".
func pattern(node string) string {
	kind, _, _ := strings.Cut(node, "/")
	return kind + "/*"
}

// sharing are the kinds in which classes share what there is as in a lane. What
// goes by a key, a run or a feature is of one kind: nothing is held back there.
var sharing = []string{ProjectKind, "organization", "tenant", "team"}

// nodePlan works out a node's limits. Classes lend at once there (nobody learns the
// week of every tenant), and caps are the lanes'.
func (c *Config) nodePlan(node string) plan {
	limits, _ := c.limitsOf(node)
	kind, _, _ := strings.Cut(node, "/")
	classes := slices.Clone(c.Classes)
	for i := range classes {
		x := &classes[i]
		x.CapPPM, x.OutputFloorPPM, x.TricklePPM = 0, 0, 0
		if !slices.Contains(sharing, kind) {
			x.GuaranteePPM, x.FloorPPM = 0, 0
		}
	}
	from := node
	if _, own := c.Nodes[node]; !own {
		from = pattern(node)
	}
	p := newPlan(LaneConfig{Lane: c.laneOf(node), Limits: limits, Lend: "now"}, c.Shadow[from], classes, c.softOf(kind))
	p.node = node
	return p
}

// laneOf stands for a node where a lane is wanted: for its scope and its name.
func (c *Config) laneOf(node string) Lane {
	return Lane{Provider: c.Scope.Provider, Project: c.Scope.Project, Region: "node", Model: node}
}

func (c *Config) lanePlan(l LaneConfig) plan {
	return newPlan(l, c.Shadow[l.Lane.String()], c.Classes, c.SoftPPM)
}

// planOf is a lane's plan, or a node's.
func (c *Config) planOf(l Lane, node string) plan {
	if node != "" && node != "lane" {
		return c.nodePlan(node)
	}
	for _, x := range c.Lanes {
		if x.Lane.String() == l.String() {
			return c.lanePlan(x)
		}
	}
	return plan{}
}
