package cli

import (
	"maps"

	"nightshift/limiter"
)

// defaultClasses is the table of classes that a configuration changes.
var defaultClasses = limiter.DefaultClasses()

// defaultQuantiles are the parts of calls whose output stays within its estimate,
// in ppm, where a class has another than gemini.DefaultQuantile. People's answers
// are charged by the middle one, so that more of them get in at once; what a long
// one takes is charged while it runs. An agent's step that was let in should end.
var defaultQuantiles = map[string]int64{"interactive": 500_000, "agent": 800_000}

// quantiles is that table with the configuration's changes.
func (c *Config) quantiles() map[string]int64 {
	out := maps.Clone(defaultQuantiles)
	for name, class := range c.Classes {
		if class.OutputQuantile != nil {
			out[name] = int64(*class.OutputQuantile * ppm)
		}
	}
	return out
}

func classNames() []string {
	var out []string
	for _, c := range defaultClasses {
		out = append(out, c.Name)
	}
	return out
}

// classTable is the default table with the configuration's changes.
func (c *Config) classTable() []limiter.Class {
	out := make([]limiter.Class, len(defaultClasses))
	for i, class := range defaultClasses {
		change := c.Classes[class.Name]
		setShare(&class.GuaranteePPM, change.Guarantee)
		setShare(&class.FloorPPM, change.Floor)
		setShare(&class.TricklePPM, change.Trickle)
		setShare(&class.CapPPM, change.Cap)
		setShare(&class.OutputFloorPPM, change.OutputFloor)
		if change.MaxWait != nil {
			class.MaxWait = *change.MaxWait
		}
		if change.Pausable != nil {
			class.Pausable = *change.Pausable
		}
		class.Fallback = c.Degrade.fallback(class.Name)
		out[i] = class
	}
	return out
}

func setShare(at *int64, v *float64) {
	if v != nil {
		*at = int64(*v * ppm)
	}
}
