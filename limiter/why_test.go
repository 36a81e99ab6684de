package limiter

import (
	"testing"
	"time"
)

// quota show's figures say where they come from.
func TestStateSaysWhy(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope,
			Lanes:   []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 1000, OutputTPM: 10_000}, Lend: "auto"}},
			Classes: []Class{{Name: "interactive", GuaranteePPM: 300_000}, {Name: "agent", FloorPPM: 50_000, OutputFloorPPM: 200_000}, {Name: "bulk", CapPPM: 800_000}}}))
		show := func(limit, class int, want ClassUse) {
			b.Helper()
			got := b.state().Limits[limit].Classes[class]
			got.Lent, got.Room, got.Class = 0, 0, ""
			if got != want {
				b.Fatalf("got  %+v\nwant %+v", got, want)
			}
		}
		show(0, 0, ClassUse{Protected: 100, Floor: 100, Why: "floor 10 % until a week of interactive traffic is known"})
		show(0, 1, ClassUse{Protected: 50, Floor: 50, Why: "floor 5 %"})
		show(1, 1, ClassUse{Protected: 2000, Floor: 2000, Why: "output floor 20 %"})
		show(0, 2, ClassUse{Cap: 800, Why: "at most 80 %"})

		b.granted(b.request("interactive", Amounts{100, 0, 1000}))
		b.wait(500 * time.Millisecond)
		show(0, 0, ClassUse{Used: 100, Protected: 169, Floor: 100, Forecast: 169, Why: "short forecast of its largest use of late: 1.5 x 100 + 2 x sqrt(100)"})
		b.throttle(Throttle{Reason: "health", Owner: "monitor", ToPPM: 100_000})
		show(1, 2, ClassUse{Cap: 1000, Why: "at most 80 %; at most 10 % now: throttle health by monitor"})
		b.granted(b.request("interactive", Amounts{400}))
		b.wait(500 * time.Millisecond)
		show(0, 0, ClassUse{Used: 500, Protected: 300, Floor: 100, Forecast: 792, Why: "guarantee 30 %, the most that is kept"})
	})
}

// A smoothed class has no floor to learn but a day's.
func TestFloorOfASmoothedClass(t *testing.T) {
	b := newBench(t, "model")
	b.must(b.Configure(b.Context(), Config{Scope: b.scope, Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 1000, RPD: 9000}, Lend: "auto"}},
		Classes: []Class{{Name: "agent", GuaranteePPM: 100_000, Smooth: true}, classes[1]}}))
	for i, want := range []string{"floor 2 %: it is smoothed, so its short forecast is in time", "floor 2 % until a week of agent traffic is known"} {
		if got := b.state().Limits[i].Classes[0].Why; got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

func TestFloorsOfLending(t *testing.T) {
	for lend, want := range map[string]string{
		"auto": "floor 10 % until a week of interactive traffic is known", "now": "floor 2 % of lend now", "never": "guarantee 30 %, never lent",
	} {
		b := newBench(t, "model")
		b.configure(LaneConfig{Limits: Limits{RPM: 1000}, Lend: lend})
		if got := b.state().Limits[0].Classes[0].Why; got != want {
			t.Errorf("lend %s: %q; want %q", lend, got, want)
		}
	}
}
