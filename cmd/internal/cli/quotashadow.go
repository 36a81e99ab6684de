package cli

import (
	"fmt"
	"slices"

	"nightshift/limiter"
)

// shadowNotes says which limits of a node a change takes out of force or puts into
// it: neither shows where only a number changes, as when the limits of a tenant
// begin to be its own and leave the shadow that all tenants are in.
func (o *setOptions) shadowNotes(node string, before, after limiter.Config) (notes []string) {
	if !slices.Contains(limiter.Override{Node: node}.Names(), "shadow") {
		return nil // classes and weights have no limits
	}
	until, in, from := "is enforced on %s until now; in shadow nothing is refused", "is", "from now on"
	if o.DryRun {
		until, in, from = "is enforced on %s; in shadow nothing would be refused", "would be", "then"
	}
	for _, name := range limiter.LimitNames() {
		was, is := before.Value(node, name), after.Value(node, name)
		if was.Value == 0 || is.Value == 0 {
			continue
		}
		wasFrom, wasShadow := inShadow(before, node, name)
		_, isShadow := inShadow(after, node, name)
		switch {
		case !wasShadow && isShadow:
			notes = append(notes, fmt.Sprintf("%s %s "+until, name, valueText(was), shownTarget(node)))
		case wasShadow && !isShadow && wasFrom != node:
			notes = append(notes, fmt.Sprintf("%s %s of %s %s enforced %s (%s is in shadow)", name, valueText(is), shownTarget(node), in, from, wasFrom))
		}
	}
	return notes
}

// inShadow tells whether a limit of a node refuses nothing, and whose word that is:
// a node that has no limits of its own is as its kind's pattern says.
func inShadow(c limiter.Config, node, name string) (from string, shadow bool) {
	from = node
	if _, own := c.Nodes[node]; !own && isNode(node) {
		from = patternOf(node)
	}
	return from, slices.Contains(c.Shadow[from], name)
}
