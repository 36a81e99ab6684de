package scheduler

import (
	"fmt"
	"testing"
	"time"

	"nightshift/limiter/gemini"
	"nightshift/worker"
)

// TestRampMetrics: shares by scope and models, and how many stand how.
func TestRampMetrics(t *testing.T) {
	t.Parallel()
	r, c, _ := fleetRig(t)
	store := gemini.NewRampStore(r.c.Redis, r.c.Scope)
	for name, phase := range map[string]gemini.RampPhase{"chat": gemini.RampMoving, "search": gemini.RampBad, "tags": gemini.RampRolledBack} {
		r.must(store.Put(r.ctx(), gemini.Ramp{Scope: gemini.RampScope{Kind: "feature", Name: name}, From: "m", To: "unheard-of", Sticky: gemini.StickyCall, Over: time.Hour, Steps: []int64{250_000, 1_000_000}, Phase: phase}))
	}
	wantTold(t, told(t, c), map[string]float64{
		"ramp_share{from=m,scope=feature/chat,to=other}":   0.25,
		"ramp_share{from=m,scope=feature/search,to=other}": 0.25,
		"ramp_share{from=m,scope=feature/tags,to=other}":   0,
		"ramps{state=moving}":                              1,
		"ramps{state=bad}":                                 1,
		"ramps{state=held}":                                0,
		"ramps{state=rolled_back}":                         1,
	})
}

// TestRandomModelsMakeNoSeries: neither by workers nor by ramps: there are as many after
// ten thousand names as after forty.
func TestRandomModelsMakeNoSeries(t *testing.T) {
	t.Parallel()
	_, c, _ := fleetRig(t)
	s := newSheet()
	var ramps []gemini.Ramp
	series := func(from, to int) int {
		for n := from; n < to; n++ {
			name := fmt.Sprintf("gemini-9-%d", n)
			lane := fmt.Sprintf("%s/%s/global/%s", c.Control.Scope.Provider, c.Control.Scope.Project, name)
			c.worker(s, worker.WorkerInfo{Lanes: []worker.LaneInfo{{Lane: lane, Slots: 1}}})
			ramps = append(ramps, gemini.Ramp{Scope: gemini.RampScope{Kind: "tenant", Name: name}, From: name, To: name, Phase: gemini.RampPhase(name)})
		}
		fresh := newSheet()
		c.rampSheet(fresh, ramps)
		return len(s.order) + len(fresh.order)
	}
	if few, many := series(0, 40), series(40, 10_000); few != many || few > 60 {
		t.Errorf("%d series of 40 names, %d of 10,000", few, many)
	}
}
