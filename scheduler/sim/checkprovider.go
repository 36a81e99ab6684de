package sim

import (
	"cmp"
	"fmt"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

func (s *Scenario) checkProvider() error {
	p := &s.Provider
	if p.Limits == (geminitest.Limits{}) {
		p.Limits = geminitest.Limits{RPM: s.Limits.RPM, InputTPM: s.Limits.InputTPM, RPD: s.Limits.RPD}
	}
	if p.Latency == (geminitest.Latency{}) {
		p.Latency = geminitest.Latency{Base: 560 * time.Millisecond, PerToken: 4 * time.Millisecond, Sigma: 0.35, Arrival: 200 * time.Millisecond}
	}
	l := p.Limits
	if err := limitsOK("provider.limits", []string{"rpm", "input_tpm", "rpd", "concurrency"}, l.RPM, l.InputTPM, l.RPD, l.Concurrency); err != nil {
		return err
	}
	if err := cmp.Or(latencyOK(p.Latency), p.moneyOK()); err != nil {
		return err
	}
	for i, text := range p.Faults {
		if _, err := geminitest.ParseFault(text); err != nil {
			return wrong(fmt.Sprintf("provider.faults[%d]", i), "%v", err)
		}
	}
	if _, err := geminitest.New(s.simulated(nil)); err != nil {
		return wrong("provider.counting", "%v", err)
	}
	return nil
}

func latencyOK(l geminitest.Latency) error {
	names := []string{"base", "per_token", "arrival"}
	for i, d := range []time.Duration{l.Base, l.PerToken, l.Arrival} {
		if d < 0 || d > 10*time.Minute {
			return wrong("provider.latency."+names[i], "%s; want 0 to 10m", d)
		}
	}
	if !sigmaOK(l.Sigma) || !(l.SlowShare >= 0 && l.SlowShare <= 1) || l.SlowFactor != 0 && !(l.SlowFactor >= 1 && l.SlowFactor <= 1000) {
		return wrong("provider.latency", "want sigma from 0 to 3, slow_share from 0 to 1, and slow_factor, if any, from 1 to 1000")
	}
	return nil
}

// moneyOK wants amounts that are none or some.
func (p *Provider) moneyOK() error {
	names := []string{"spend.ten_minutes", "spend.month", "price.input", "price.output", "price.cached"}
	for i, usd := range []float64{p.Spend.TenMinutes, p.Spend.Month, p.Price.Input, p.Price.Output, p.Price.Cached} {
		if !(usd >= 0 && usd <= million) {
			return wrong("provider."+names[i], "%v; want dollars, 0 to %d", usd, million)
		}
	}
	return nil
}

func sigmaOK(v float64) bool { return v >= 0 && v <= 3 } // NaN is neither

// limitsOK wants each to be none or one that the gate could hold.
func limitsOK(path string, names []string, limits ...int64) error {
	for i, n := range limits {
		if n < 0 {
			return wrong(path+"."+names[i], "%d is negative; leave it out for no limit", n)
		}
		if n > limiter.Unlimited {
			return wrong(path+"."+names[i], "%d; want at most %d, or leave it out for no limit", n, int64(limiter.Unlimited))
		}
	}
	return nil
}

// simulated is the provider, on a clock.
func (s *Scenario) simulated(now func() time.Time) geminitest.Config {
	c := geminitest.Config{
		Models:   []geminitest.Model{{Name: model, Limits: s.Provider.Limits, Price: s.Provider.Price}},
		Counting: s.Provider.Counting, Spend: s.Provider.Spend, Latency: s.Provider.Latency, Seed: s.Seed, KeepCalls: 1, Now: now,
	}
	for _, text := range s.Provider.Faults {
		if f, err := geminitest.ParseFault(text); err == nil { // checked
			c.Faults = append(c.Faults, f)
		}
	}
	return c
}
