package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/cmd/internal/tenants"
	"nightshift/limiter"
)

// quotaTarget gives the node that the user means: a model by its name or an alias,
// class/NAME, weights, or a node of a path.
func (l *loaded) quotaTarget(name string, known limiter.Config) (string, error) {
	if name == limiter.ProjectKind {
		return known.Scope.ProjectNode(), nil
	}
	for _, lane := range known.Lanes {
		if strings.EqualFold(name, lane.Lane.Model) || name == lane.Lane.String() {
			return lane.Lane.String(), nil
		}
	}
	if lanes, err := l.laneMap(); err == nil {
		if lane, _, err := lanes.Lookup(name); err == nil && known.Has(limiter.Override{Node: lane.String()}) {
			return lane.String(), nil
		}
	}
	if kind, id, ok := strings.Cut(name, "/"); ok && id != "" && kind != "class" && slices.Contains(limiter.NodeKinds(), kind) {
		if len(id) > tenants.LongestName {
			return "", usageErrorf("the name of a %s has at most %d bytes, that of %s… has %d", kind, tenants.LongestName, cutText(name, 40), len(id))
		}
		return name, nil // need not be configured
	}
	targets := targetsOf(known)
	if slices.Contains(targets, name) {
		return name, nil
	}
	return "", usageErrorf("unknown target %q%s; known are %s, and any of %s with a name, as in tenant/acme", name,
		likeTarget(name, targets), strings.Join(targets, ", "), strings.Join(limiter.NodeKinds(), ", "))
}

// likeTarget also knows a class without its kind, and a kind that is misspelt.
func likeTarget(name string, targets []string) string {
	if slices.Contains(targets, "class/"+name) {
		return didYouMean([]string{"class/" + name})
	}
	if kind, id, ok := strings.Cut(name, "/"); ok && kind != "class" {
		if hint := nearest(kind, limiter.NodeKinds()); hint != "" {
			return strings.Replace(hint, "?", "/"+id+"?", 1)
		}
	}
	return nearest(name, targets)
}

// targetsOf are the targets that a configuration names.
func targetsOf(c limiter.Config) []string {
	var out []string
	for _, l := range c.Lanes {
		out = append(out, l.Lane.Model)
	}
	out = append(out, slices.Sorted(maps.Keys(c.Nodes))...)
	for _, k := range c.Classes {
		out = append(out, "class/"+k.Name)
	}
	return append(out, limiter.NodeWeights)
}

// shownTarget is a node as the user types it.
func shownTarget(node string) string {
	if lane, err := limiter.ParseLane(node); err == nil {
		return lane.Model
	}
	return node
}

// quotaName checks the name of a value of a node.
func quotaName(node, name string) error {
	if node == limiter.NodeWeights {
		return nil // names are nodes; the limiter checks them
	}
	names := limiter.Override{Node: node}.Names()
	if slices.Contains(names, name) {
		return nil
	}
	what := "limit"
	if strings.HasPrefix(node, "class/") {
		what = "share"
	}
	return usageErrorf("unknown %s %s%s; %s has %s", what, name, closest(name, names), shownTarget(node), strings.Join(names, ", "))
}

// closest is nearest for names of three or four letters, most of which are near to
// each other: the same letters in another order are nearest.
func closest(name string, known []string) string {
	letters := func(s string) string { return string(slices.Sorted(slices.Values([]byte(s)))) }
	for _, k := range known {
		if letters(k) == letters(name) {
			return didYouMean([]string{k})
		}
	}
	return nearest(name, slices.DeleteFunc(slices.Clone(known), func(k string) bool { return len(k) < 5 && len(name) < 5 }))
}

// completeQuota offers targets first, then names of values.
func (f *factory) completeQuota(end string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := f.config()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		known := c.limiterConfig()
		if len(args) == 0 {
			return targetsOf(known), cobra.ShellCompDirectiveNoFileComp
		}
		node, err := c.quotaTarget(args[0], known)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := limiter.Override{Node: node}.Names()
		if node == limiter.NodeWeights {
			names = []string{"priority/high", "priority/normal", "priority/low"}
		}
		for i := range names {
			names[i] += end
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
