package limiter

import "time"

// DefaultClasses is the table of classes, from the highest down: a class may use what
// those above it do not need.
func DefaultClasses() []Class {
	return []Class{
		{Name: "interactive", GuaranteePPM: 300_000, MaxWait: 300 * time.Millisecond},                          // its floor follows the lane's lend
		{Name: "agent", GuaranteePPM: 100_000, OutputFloorPPM: 50_000, MaxWait: 5 * time.Second, Smooth: true}, // a step that ran out of output tokens is lost whole
		{Name: "notify", MaxWait: 3 * time.Minute, Smooth: true},                                               // nobody stares at it, but it must not be late
		{Name: "bulk", Pausable: true, Smooth: true, Tickets: true},                                            //
		{Name: "evaluation", CapPPM: 200_000, Pausable: true, Smooth: true, Tickets: true},                     // a test of prompts must not slow the night's run
		{Name: "background", CapPPM: 100_000, Pausable: true, Smooth: true, Tickets: true},                     //
	}
}
