package cli

import (
	"fmt"
	"time"

	"nightshift/limiter"
)

// checkSpend refuses caps that are no amount of money, and a soft part that is none.
func (c *Config) checkSpend() error {
	if r := c.Spend.SoftRatio; !(r > 0 && r <= 1) { // NaN is neither
		return fmt.Errorf("spend.soft_ratio: %v; want a part of each cap above 0 and at most 1, such as 0.92", r)
	}
	if z := c.Spend.Zone; z != "" {
		if err := zoneOK("spend.zone", z); err != nil {
			return err
		}
	}
	if err := c.Spend.limitConfig().check("spend"); err != nil {
		return err
	}
	project := c.Nodes[c.scope().ProjectNode()].limits()
	for _, l := range c.Spend.limits().List() {
		if project.Get(l.Name()) > 0 {
			return fmt.Errorf("spend.%s: nodes.%s has one too; keep one of them", l.Name(), c.scope().ProjectNode())
		}
	}
	return nil
}

func (s SpendConfig) limitConfig() LimitConfig {
	return LimitConfig{USDPer10m: s.USDPer10m, USDPerDay: s.USDPerDay, USDPerMonth: s.USDPerMonth}
}

// limits are those of the node that every call goes by.
func (s SpendConfig) limits() limiter.Limits { return s.limitConfig().limits() }

// spendZone is where months of money are counted; it was checked at load.
func (c *Config) spendZone() *time.Location {
	zone, err := time.LoadLocation(orElse(c.Spend.Zone, c.TimeZone))
	if err != nil {
		return time.UTC
	}
	return zone
}
