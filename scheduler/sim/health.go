package sim

import (
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
	"nightshift/scheduler"
)

// health is the scheduler's monitor: what people met, and what follows for bulk.
type health struct {
	g       *gated
	rules   scheduler.Rules
	state   scheduler.State
	data    time.Time
	samples []gemini.UsageSample // by five seconds and class, the oldest first
	held    bool                 // something is in force
}

const bucket = 5 * time.Second

func newHealth(g *gated) *health { return &health{g: g, rules: scheduler.Rules{}.Filled()} }

// sample is where a class is counted now.
func (h *health) sample(class string) *gemini.UsageSample {
	at := h.g.n.time().Truncate(bucket)
	for i := len(h.samples) - 1; i >= 0 && h.samples[i].At.Equal(at); i-- {
		if h.samples[i].Class == class {
			return &h.samples[i]
		}
	}
	h.samples = append(h.samples, gemini.UsageSample{At: at, Region: lane.Region, Model: lane.Model, Class: class, Feature: "simulated"})
	return &h.samples[len(h.samples)-1]
}

func (h *health) refused(c *call) {
	s := h.sample(c.class)
	s.Calls++
	s.Refused++
}

func (h *health) answered(c *call, m geminitest.Met, took time.Duration) {
	if c.row != nil {
		return // its class is not watched
	}
	s := h.sample(c.class)
	s.Calls++
	s.Sent++
	switch {
	case m.Good:
		s.Good++
	case m.Status == 429:
		s.Provider429++
	default:
		s.ProviderFailed++
	}
	s.Latency.Add(took)
}

// look judges the last minute and puts into force what follows.
func (h *health) look() {
	now := h.g.n.time()
	for len(h.samples) > 0 && h.samples[0].At.Before(now.Add(-h.rules.Over)) {
		h.samples = h.samples[1:]
	}
	view, look := scheduler.Watch{}.Judge(h.g.classes, h.samples, now, h.rules.Over, h.data)
	h.data = view.Data
	h.state, _ = h.rules.Decide(h.state, look)
	pauses, throttles := h.rules.Asked(h.state, h.g.classes, limiter.Pause{Owner: "simulation", Until: now.Add(scheduler.PauseLease)})
	h.enforce(pauses, throttles)
}

// enforce makes these what holds, and nothing else.
func (h *health) enforce(pauses []limiter.Pause, throttles []limiter.Throttle) {
	if !h.held && len(pauses)+len(throttles) == 0 {
		return
	}
	m := h.g.at()
	for _, c := range h.g.classes {
		if len(pauses) == 0 {
			h.g.must(m.Resume(ctx, c.Name, scheduler.ReasonHealth))
		}
		if len(throttles) == 0 {
			h.g.must(m.Unthrottle(ctx, c.Name, scheduler.ReasonHealth))
		}
	}
	for _, p := range pauses {
		h.g.must(m.Pause(ctx, p))
	}
	for _, t := range throttles {
		h.g.must(m.Throttle(ctx, t))
	}
	h.held = len(pauses)+len(throttles) > 0
}
