package limiter

import "slices"

// MoneyLimit names a limit in money that binds a call on a lane, on behalf of a path
// and for a feature: "usd_per_day", "usd_per_month of tenant/acme". It is "" when
// there is none; a limit in shadow binds nothing.
func (c Config) MoneyLimit(lane Lane, p Path, feature string) string {
	for _, l := range c.Lanes {
		if l.Lane != lane {
			continue
		}
		if name := l.Limits.money(c.Shadow[lane.String()]); name != "" {
			return name
		}
	}
	for _, node := range c.nodesOf(p, feature) {
		limits, _ := c.limitsOf(node)
		from := node
		if _, own := c.Nodes[node]; !own {
			from = pattern(node)
		}
		if name := limits.money(c.Shadow[from]); name != "" {
			return name + " of " + node
		}
	}
	return ""
}

// money is the first limit in money that is not in shadow.
func (l Limits) money(shadow []string) string {
	for _, x := range l.List() {
		if x.Unit == MicroUSD && !slices.Contains(shadow, x.Name()) {
			return x.Name()
		}
	}
	return ""
}
