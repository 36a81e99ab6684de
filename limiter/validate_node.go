package limiter

import (
	"maps"
	"slices"
	"strings"
)

// nodeKinds are the kinds of nodes that may have limits of their own, from the
// outside in; a lane is named by itself.
var nodeKinds = []string{ProjectKind, "organization", "tenant", "team", "key", "feature", "run"}

// ProjectKind is the kind of the one node that every call goes by (ProjectNode).
const ProjectKind = "project"

// NodeKinds are the kinds of nodes that may have limits: "tenant" in "tenant/acme".
func NodeKinds() []string { return slices.Clone(nodeKinds) }

// CheckNode wants kind/id, where * as the id is the default of the kind; a
// *ConfigError of the field otherwise.
func CheckNode(field, node string) error {
	kind, id, ok := strings.Cut(node, "/")
	switch {
	case !ok || !slices.Contains(nodeKinds, kind):
		return wrong(field, "%q; want one of %s and its name, as in tenant/acme", node, strings.Join(nodeKinds, ", "))
	case strings.Contains(id, "/"):
		return wrong(field, "%q is too deep: each level of a path has limits of its own, as in tenant/acme and team/search", node)
	case kind == ProjectKind && id == "*":
		return wrong(field, "a provider project is one node; want its name, as in project/default")
	case id == "*":
		return nil
	}
	return checkName(field, id)
}

// checkNode is CheckNode of a node that may be a project: there is one in a scope.
func (c Config) checkNode(field, node string) error {
	if strings.HasPrefix(node, ProjectKind+"/") && node != c.Scope.ProjectNode() && !wildcard(node) {
		return wrong(field, "%q; the project of this configuration is %s", node, c.Scope.Project)
	}
	return CheckNode(field, node)
}

func (c Config) checkNodes() error {
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		field := "nodes[" + name + "]"
		if err := c.checkNode(field, name); err != nil {
			return err
		}
		if err := checkLimits(field+".limits", c.Nodes[name]); err != nil {
			return err
		}
		l := c.Nodes[name]
		if len(l.List()) == 0 {
			return wrong(field+".limits", "there are none; without any it would have those of %s, if there are such: give it a high one instead", pattern(name))
		}
	}
	for _, node := range slices.Sorted(maps.Keys(c.Shadow)) {
		field := "shadow[" + node + "]"
		if c.laneAt(node) < 0 {
			if err := c.checkNode(field, node); err != nil {
				return err
			}
		}
		if err := checkShadow(field, c.Shadow[node]); err != nil {
			return err
		}
	}
	return nil
}

func checkShadow(field string, limits []string) error {
	for _, name := range limits {
		if !isLimit(name) {
			return wrong(field, "unknown limit %q; known are %s", name, strings.Join(LimitNames(), ", "))
		}
	}
	return nil
}

// weightKinds are the levels of a path that may have a weight.
var weightKinds = []string{"organization", "tenant", "team", "key", "run", "priority"}

func checkWeight(field, name string, w int64) error {
	kind, id, ok := strings.Cut(name, "/")
	switch {
	case !ok || !slices.Contains(weightKinds, kind):
		return wrong(field, "want one of %s and its name, as in tenant/acme", strings.Join(weightKinds, ", "))
	case kind == "priority" && priorityWeights[Priority(id)] == 0:
		return wrong(field, "unknown priority; known are high, normal, low")
	case w < 1 || w > 1000:
		return wrong(field, "%d; want 1 to 1000", w)
	}
	return checkName(field, id)
}

func checkLend(field, lend string) error {
	if slices.Contains([]string{"auto", "now", "never"}, lend) {
		return nil
	}
	return wrong(field, "%q; want auto, now or never", lend)
}

func checkPPM(field string, v, most int64) error {
	if v >= 0 && v <= most {
		return nil
	}
	return wrong(field, "%d; want 0 to %d", v, most)
}
