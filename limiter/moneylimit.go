package limiter

import "slices"

// BindingLimit is a limit and whose it is.
type BindingLimit struct {
	Limit
	Node string // "": the lane's
}

// String is for people: "usd_per_month of tenant/acme", "usd_per_day" of the lane.
func (l BindingLimit) String() string {
	if l.Node == "" {
		return l.Name()
	}
	return l.Name() + " of " + l.Node
}

// MoneyLimit is the first limit in money that binds a call of the lane on behalf of
// the path and feature, as people name it: "usd_per_day of tenant/acme"; "" where none
// does. One in shadow binds nobody.
func (c Config) MoneyLimit(lane Lane, p Path, feature string) string {
	for _, l := range c.MoneyLimits(lane, p, feature) {
		return l.String()
	}
	return ""
}

// MoneyLimits are all of those limits, the lane's first.
func (c Config) MoneyLimits(lane Lane, p Path, feature string) (list []BindingLimit) {
	for _, l := range c.Lanes {
		if l.Lane == lane {
			list = append(list, l.Limits.money("", c.Shadow[lane.String()])...)
		}
	}
	for _, node := range c.nodesOf(p, feature) {
		limits, _ := c.limitsOf(node)
		from := node
		if _, own := c.Nodes[node]; !own {
			from = pattern(node)
		}
		list = append(list, limits.money(node, c.Shadow[from])...)
	}
	return list
}

// money are the limits in money that are not in shadow.
func (l Limits) money(node string, shadow []string) (list []BindingLimit) {
	for _, x := range l.List() {
		if x.Unit == MicroUSD && !slices.Contains(shadow, x.Name()) {
			list = append(list, BindingLimit{x, node})
		}
	}
	return list
}
