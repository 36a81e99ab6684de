package cli

import (
	"maps"
	"time"

	"nightshift/limiter"
)

// defaultClasses is the table of classes, from the highest down: a class may
// use what those above it do not need.
var defaultClasses = []limiter.Class{
	{Name: "interactive", GuaranteePPM: 300_000, MaxWait: 300 * time.Millisecond},                          // its floor follows the lane's lend
	{Name: "agent", GuaranteePPM: 100_000, OutputFloorPPM: 50_000, MaxWait: 5 * time.Second, Smooth: true}, // a step that ran out of output tokens is lost whole
	{Name: "notify", MaxWait: 3 * time.Minute, Smooth: true},                                               // nobody stares at it, but it must not be late
	{Name: "bulk", Pausable: true, Smooth: true, Tickets: true},                                            //
	{Name: "evaluation", CapPPM: 200_000, Pausable: true, Smooth: true, Tickets: true},                     // a test of prompts must not slow the night's run
	{Name: "background", CapPPM: 100_000, Pausable: true, Smooth: true, Tickets: true},                     //
}

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
