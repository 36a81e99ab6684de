package scheduler

import (
	"reflect"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestLearnWeek: a week that is given by the minute is learned as the Learner learns it.
func TestLearnWeek(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	lane, err := limiter.ParseLane(testLane)
	if err != nil {
		t.Fatal(err)
	}
	monday := time.Date(2026, 3, 2, 0, 0, 0, 0, berlin)
	var minutes []gemini.UsageSample
	for at := monday.AddDate(0, 0, -7); at.Before(monday); at = at.Add(time.Minute) {
		n := int64(2)
		if at.Hour() >= 9 && at.Hour() < 18 {
			n = 100
		}
		minutes = append(minutes, gemini.UsageSample{At: at, Region: "global", Model: lane.Model, Class: "interactive", Calls: n, Sent: n, Requests: n})
	}
	w := LearnWeek(berlin, lane, testClasses, minutes, monday)
	limits := []limiter.LimitState{{Limit: limiter.Limit{Unit: limiter.Requests, Window: limiter.Minute, Amount: 1000}, Name: "rpm"}}
	night, day := w.Floors(limits, monday.Add(3*time.Hour)), w.Floors(limits, monday.Add(10*time.Hour))
	if len(night) != 1 || len(day) != 1 || night[0].Amount > 20 || day[0].Amount != 150 {
		t.Errorf("kept at night %+v, by day %+v; want next to nothing, and 1.5 times the peak of 100", night, day)
	}
	if w := LearnWeek(berlin, lane, testClasses, minutes[2000:], monday); len(w.Floors(limits, monday)) != 0 {
		t.Error("less than a week is known, and something was learned")
	}
}

// TestAsked: what a simulation puts into force is what the monitor does.
func TestAsked(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	classes := []limiter.Class{{Name: "interactive", GuaranteePPM: 300_000}, {Name: "bulk", Pausable: true}}
	like := limiter.Pause{Owner: "simulation", Until: at.Add(PauseLease)}
	pauses, throttles := Rules{}.Asked(State{Phase: Paused, Since: at, Why: "p95"}, classes, like)
	want := []limiter.Pause{{Class: "bulk", Reason: ReasonHealth, Owner: "simulation", Since: at, Until: like.Until, Detail: "p95"}}
	if !reflect.DeepEqual(pauses, want) || len(throttles) != 0 {
		t.Errorf("paused: %+v, %+v", pauses, throttles)
	}
	pauses, throttles = Rules{}.Asked(State{Phase: Yield, Since: at}, classes, like)
	if len(pauses) != 0 || len(throttles) != 1 || throttles[0].Class != "bulk" || throttles[0].ToPPM != 100_000 {
		t.Errorf("yielding: %+v, %+v", pauses, throttles)
	}
	if pauses, throttles = (Rules{}).Asked(State{Phase: Healthy}, classes, like); len(pauses)+len(throttles) != 0 {
		t.Errorf("healthy: %+v, %+v", pauses, throttles)
	}
}
