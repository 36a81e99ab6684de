package limiter

import "cmp"

// softened are the caps of one ledger that a call takes past their soft part.
func (c *modelClass) softened(a Amounts) (out string) {
	for d, p := range c.n.plan.dims {
		if soft := p.shares[c.index].soft; soft >= 0 || a[p.unit] == 0 {
			continue
		} else if _, _, all, _ := c.n.share(c, d); all+a[p.unit] > -soft {
			out = join(out, cmp.Or(c.n.plan.node, "lane")+" "+Limit{Unit: p.unit, Window: p.window}.Name())
		}
	}
	return out
}

// join puts a comma between two lists.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}
