package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// HealthConfig says when interactive callers suffer, and what follows.
type HealthConfig struct {
	ThresholdConfig `yaml:",inline"`
	Features        map[string]ThresholdConfig `yaml:"features"` // thresholds of a feature; absent ones are those above

	Every    time.Duration `yaml:"every"`     // between two looks
	Over     time.Duration `yaml:"over"`      // what a look judges
	Bad      int           `yaml:"bad"`       // looks in a row: yield, then pause
	Good     int           `yaml:"good"`      // looks in a row: resume
	GiveUp   time.Duration `yaml:"give_up"`   // a pause that does not help ends after this
	Ramp     time.Duration `yaml:"ramp"`      // a resume takes this long …
	RampFrom float64       `yaml:"ramp_from"` // … from this share to all
	Trickle  float64       `yaml:"trickle"`   // what goes on when a pause does not help
}

// ThresholdConfig are the values beyond which callers suffer.
type ThresholdConfig struct {
	P95          *time.Duration `yaml:"p95"`           // of calls that are not streamed
	FirstToken   *time.Duration `yaml:"first_token"`   // 95th percentile of streams
	Samples      *int64         `yaml:"samples"`       // fewer say nothing of latency
	RefusedRatio *float64       `yaml:"refused_ratio"` // provider 429s and local refusals, of all calls
	Refusals     *int64         `yaml:"refusals"`      // fewer say nothing of the ratio
}

// over puts what is given over other thresholds.
func (t ThresholdConfig) over(s scheduler.Thresholds) scheduler.Thresholds {
	set(&s.P95, t.P95)
	set(&s.FirstToken, t.FirstToken)
	set(&s.Samples, t.Samples)
	set(&s.RefusedRatio, t.RefusedRatio)
	set(&s.Refusals, t.Refusals)
	return s
}

func set[T any](at *T, v *T) {
	if v != nil {
		*at = *v
	}
}

// thresholds are the common ones and those of features with their own.
func (h HealthConfig) thresholds() (scheduler.Thresholds, map[string]scheduler.Thresholds) {
	all := h.over(scheduler.DefaultThresholds)
	own := map[string]scheduler.Thresholds{}
	for feature, t := range h.Features {
		own[feature] = t.over(all)
	}
	return all, own
}

func (h HealthConfig) rules() scheduler.Rules {
	return scheduler.Rules{
		Every: h.Every, Over: h.Over, Bad: h.Bad, Good: h.Good, GiveUp: h.GiveUp,
		Ramp: h.Ramp, RampPPM: int64(h.RampFrom * ppm), TricklePPM: int64(h.Trickle * ppm),
	}
}

// checkHealth names the first key that the monitor could not work with.
func (c *Config) checkHealth() error {
	all, own := c.Health.thresholds()
	if all == (scheduler.Thresholds{}) {
		return fmt.Errorf("health: all thresholds are zero; every look would be bad")
	}
	if err := cmp.Or(all.Check("health"), c.Health.zeroRules(), c.Health.rules().Check("health")); err != nil {
		return err
	}
	for _, feature := range slices.Sorted(maps.Keys(own)) {
		key := "health.features." + feature
		if err := cmp.Or(c.featureOK(key, feature), own[feature].Check(key)); err != nil {
			return err
		}
	}
	return nil
}

// zeroRules: for the scheduler a rule of zero is one that was not set; here it
// was, since all have defaults.
func (h HealthConfig) zeroRules() error {
	for _, f := range []struct {
		name string
		zero bool
	}{
		{"every", h.Every == 0}, {"over", h.Over == 0}, {"bad", h.Bad == 0}, {"good", h.Good == 0}, {"give_up", h.GiveUp == 0},
		{"ramp", h.Ramp == 0}, {"ramp_from", h.RampFrom == 0}, {"trickle", h.Trickle == 0},
	} {
		if f.zero {
			return fmt.Errorf("health.%s: must be above zero", f.name)
		}
	}
	return nil
}

// featureOK refuses a feature that the configuration does not list, when it
// lists any: a misspelt one would be watched, limited and reported by itself.
func (c *Config) featureOK(key, feature string) error {
	if err := nameOK(key, feature); err != nil {
		return err
	}
	if len(c.Features) == 0 || slices.Contains(c.Features, feature) {
		return nil
	}
	return fmt.Errorf("%s: unknown feature %q; features lists %s", key, feature, strings.Join(c.Features, ", "))
}

// checkWindows reads each class's work window.
func (c *Config) checkWindows() error {
	for _, class := range slices.Sorted(maps.Keys(c.Windows)) {
		key := "windows." + class
		if err := c.pausableOK(key, class); err != nil {
			return err
		}
		if _, err := scheduler.ParseWindow(key, c.Windows[class], c.zone()); err != nil {
			return err
		}
	}
	if r := c.WindowRamp; r != nil && (*r < 0 || *r > time.Hour) {
		return fmt.Errorf("window_ramp: %s; want 0s to 1h", *r)
	}
	return nil
}

// windowRamp is the scheduler's, where 0 stands for its own default.
func (c *Config) windowRamp() time.Duration {
	switch {
	case c.WindowRamp == nil:
		return 0
	case *c.WindowRamp == 0:
		return -1
	}
	return *c.WindowRamp
}

// zone is that of windows and months; check has made sure that it exists.
func (c *Config) zone() *time.Location {
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

func (c *Config) pausableOK(key, class string) error {
	at := slices.IndexFunc(c.classTable(), func(k limiter.Class) bool { return k.Name == class })
	switch {
	case at < 0:
		return fmt.Errorf("%s: unknown class; known are %s", key, strings.Join(classNames(), ", "))
	case !c.classTable()[at].Pausable:
		return fmt.Errorf("%s: people wait for class %s; only a class with pausable: true can have a window", key, class)
	}
	return nil
}
