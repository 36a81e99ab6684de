package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// tierFlags say by which service tier a run's rows go.
type tierFlags struct {
	ServiceTier string
}

func (o *tierFlags) addTierFlags(fl *pflag.FlagSet) {
	fl.StringVar(&o.ServiceTier, "service-tier", "", "the `TIER` to ask for: standard; flex: half the price, each answer takes 1 to 15 minutes, "+
		"and standard while flex has no capacity; priority; auto: flex as long as the deadline allows (default run.service_tier)")
}

// tier puts the tier into the run: the flag's, or the configuration's where the run's kind has any.
func (o *tierFlags) tier(s *jobs.Spec, c *loaded) error {
	s.Steer.ServiceTier = o.ServiceTier
	if o.ServiceTier == "" && s.Kind != jobs.Embed {
		s.Steer.ServiceTier = c.Run.ServiceTier
	}
	if err := jobs.CheckTier(s.Kind, s.Steer.ServiceTier); err != nil {
		return fmt.Errorf("--service-tier: %w", err)
	}
	return c.tierServed("--service-tier", s.Steer.ServiceTier)
}

// tierServed refuses tiers that the configured API does not take in this way.
func (c *Config) tierServed(what, tier string) error {
	if c.Gemini.API == "vertex" && tier != "" && tier != gemini.TierStandard {
		return fmt.Errorf("%s %s: Vertex AI (gemini.api: vertex) has no such tiers; leave it out", what, tier)
	}
	return nil
}

// checkTier checks what the configuration says of tiers.
func (c *Config) checkTier() error {
	if err := jobs.CheckTier(jobs.Generate, c.Run.ServiceTier); err != nil {
		return fmt.Errorf("run.service_tier: %w", err)
	}
	return c.tierServed("run.service_tier:", c.Run.ServiceTier)
}
