package limiter

import (
	"testing"
	"time"
)

// pair configures interactive and a bulk that is neither smoothed nor waits, so
// that amounts are what is tested.
func (b *bench) pair(bulk Class, l Limits) {
	b.Helper()
	bulk.Name = "bulk"
	b.must(b.Configure(b.Context(), Config{Scope: b.scope, Lanes: []LaneConfig{{Lane: b.lane, Limits: l, Lend: "now"}},
		Classes: []Class{{Name: "interactive", GuaranteePPM: 300_000}, bulk}}))
}

func (b *bench) throttle(x Throttle) {
	b.Helper()
	x.Class = "bulk"
	b.must(b.Throttle(b.Context(), x))
}

func TestThrottle(t *testing.T) {
	onEach(t, func(b *bench) {
		b.pair(Class{}, Limits{RPM: 100, RPD: 1000})
		b.throttle(Throttle{Reason: "health", Owner: "monitor", Detail: "p95 4.1 s", ToPPM: 200_000})
		b.throttle(Throttle{Reason: "window", ToPPM: 500_000}) // the smallest counts
		for range 20 {
			b.granted(b.request("bulk", Amounts{1}))
		}
		d := b.refused(b.request("bulk", Amounts{1}), ReasonShare)
		if d.Limiter != "rpm" || d.Limit != 20 || d.Used != 20 || d.Shortage != 1 || d.Detail != "throttle health by monitor: p95 4.1 s" {
			b.Fatalf("%+v", d)
		}
		if !d.RetryAt.Equal(noon.Add(61 * time.Second)) { // when the class's own use leaves
			b.Fatalf("retry at %s", d.RetryAt)
		}
		b.granted(b.request("interactive", Amounts{75}))
		b.must(b.Unthrottle(b.Context(), "bulk", "health"))
		b.granted(b.request("bulk", Amounts{1}))
		b.must(b.Unthrottle(b.Context(), "bulk", "window"))
		if ts, err := b.Throttles(b.Context()); err != nil || len(ts) != 0 {
			b.Fatalf("throttles %+v, %v", ts, err)
		}
	})
}

func TestThrottleEnds(t *testing.T) {
	onEach(t, func(b *bench) {
		b.pair(Class{}, Limits{RPM: 100})
		until := b.now.Add(5 * time.Second)
		b.throttle(Throttle{Reason: "health", ToPPM: 100_000, Until: until})
		b.granted(b.request("bulk", Amounts{10}))
		if d := b.refused(b.request("bulk", Amounts{1}), ReasonShare); !d.RetryAt.Equal(until) {
			b.Fatalf("retry at %s; want %s", d.RetryAt, until)
		}
		if s := b.state(); len(s.Throttles) != 1 || s.Limits[0].Classes[1].Cap != 10 || s.Limits[0].Classes[1].Room != 0 {
			b.Fatalf("%+v", s)
		}
		b.set(until)
		if s := b.state(); len(s.Throttles) != 0 || s.Limits[0].Classes[1].Cap != 0 {
			b.Fatalf("%+v", s)
		}
		b.granted(b.request("bulk", Amounts{1}))
	})
}

func TestThrottleRamp(t *testing.T) {
	onEach(t, func(b *bench) {
		b.pair(Class{}, Limits{RPM: 1000})
		from, to := b.now.Add(10*time.Second), b.now.Add(110*time.Second)
		b.throttle(Throttle{Reason: "health", FromPPM: 100_000, ToPPM: 600_000, RampFrom: from, RampTo: to})
		cap := func() int64 { return b.state().Limits[0].Classes[1].Cap }
		for _, c := range []struct {
			at   time.Duration
			want int64
		}{{0, 100}, {10, 100}, {30, 200}, {60, 350}, {110, 600}, {200, 600}} {
			b.set(noon.Add(c.at * time.Second))
			if got := cap(); got != c.want {
				b.Fatalf("after %d s it may use %d; want %d", c.at, got, c.want)
			}
		}
	})
}

func TestRampSaysWhen(t *testing.T) {
	onEach(t, func(b *bench) {
		b.pair(Class{}, Limits{RPM: 1000})
		b.throttle(Throttle{Reason: "health", FromPPM: 100_000, ToPPM: 1_000_000, RampFrom: b.now, RampTo: b.now.Add(90 * time.Second)})
		b.granted(b.request("bulk", Amounts{100}))
		d := b.refused(b.request("bulk", Amounts{50}), ReasonShare) // 150 of 1000 after 5 s
		if !d.RetryAt.Equal(noon.Add(5 * time.Second)) {
			b.Fatalf("retry at %s; want 5 s later", d.RetryAt)
		}
		b.set(d.RetryAt.Add(-time.Millisecond))
		b.refused(b.request("bulk", Amounts{50}), ReasonShare)
		b.set(d.RetryAt)
		b.granted(b.request("bulk", Amounts{50}))
	})
}

// What is larger than a throttle goes alone: slow, not stuck, and not refused for good.
func TestLargerThanAThrottle(t *testing.T) {
	onEach(t, func(b *bench) {
		b.pair(Class{}, Limits{RPM: 30, InputTPM: 1000})
		b.throttle(Throttle{Reason: "health", ToPPM: 20_000}) // 0 requests, 20 tokens
		b.granted(b.request("bulk", Amounts{1, 500}))
		d := b.refused(b.request("bulk", Amounts{1, 10}), ReasonShare)
		if d.Permanent {
			b.Fatalf("%+v", d)
		}
		b.set(d.RetryAt)
		b.granted(b.request("bulk", Amounts{1, 10}))
	})
}

// The pace of a smoothed class is that of its throttled share.
func TestThrottledPace(t *testing.T) {
	onEach(t, func(b *bench) {
		b.pair(Class{Smooth: true}, Limits{RPM: 1000})
		b.throttle(Throttle{Reason: "health", ToPPM: 100_000})
		b.granted(b.request("bulk", Amounts{1}))
		// 61 s ÷ (1.1·100), from half a second behind.
		if ahead := b.state().Limits[0].Classes[1].AheadMS; ahead != 54 {
			b.Fatalf("%d ms ahead; want 554 less 500", ahead)
		}
		p := b.granted(b.request("bulk", Amounts{1}))
		b.must(b.Settle(b.Context(), Settlement{ID: p.ID, Lane: b.lane, Outcome: Released}))
		if ahead := b.state().Limits[0].Classes[1].AheadMS; ahead != 54 {
			b.Fatalf("%d ms ahead after a release; want what it was, 54", ahead)
		}
	})
}

// No window of a minute holds more of a throttled class than its share: counted
// beside the limiter.
func TestThrottleHoldsInEveryWindow(t *testing.T) {
	b := newBench(t, "model")
	b.pair(Class{Smooth: true}, Limits{RPM: 600})
	b.throttle(Throttle{Reason: "health", ToPPM: 250_000})
	var at []time.Time
	for range 4000 {
		b.wait(time.Duration(20+37*len(at)%90) * time.Millisecond)
		if _, d := b.ask(b.request("bulk", Amounts{1})); d == nil {
			at = append(at, b.now)
		}
	}
	most, first := 0, 0
	for i := range at {
		for at[i].Sub(at[first]) >= time.Minute {
			first++
		}
		most = max(most, i-first+1)
	}
	if most > 150 || most < 135 {
		t.Fatalf("%d in a minute; want at most 150, and close to it", most)
	}
}

func TestCap(t *testing.T) {
	onEach(t, func(b *bench) {
		b.pair(Class{CapPPM: 100_000}, Limits{RPM: 5, InputTPM: 1000, RPD: 100})
		if d := b.refused(b.request("bulk", Amounts{1, 101}), ReasonTooLarge); d.Limit != 100 || d.Limiter != "input_tpm" {
			b.Fatalf("%+v", d)
		}
		b.granted(b.request("bulk", Amounts{1, 60})) // a tenth of five is less than one: one all the same
		if d := b.refused(b.request("bulk", Amounts{1, 10}), ReasonShare); d.Limiter != "rpm" || d.Limit != 1 {
			b.Fatalf("%+v", d)
		}
		d := b.refused(b.request("bulk", Amounts{0, 50}), ReasonShare)
		if d.Limit != 100 || d.Used != 60 || d.Shortage != 10 || d.Detail != "cap of bulk" {
			b.Fatalf("%+v", d)
		}
		b.throttle(Throttle{Reason: "health", ToPPM: 500_000}) // the smaller counts: still the cap
		if again := b.refused(b.request("bulk", Amounts{0, 50}), ReasonShare); again.Detail != d.Detail || !again.RetryAt.Equal(d.RetryAt) {
			b.Fatalf("%+v", again)
		}
		b.granted(b.request("interactive", Amounts{3, 500}))
		for range 3 { // days have no cap
			b.wait(time.Minute + time.Second)
			b.granted(b.request("bulk", Amounts{1, 100}))
		}
	})
}

// A ramp does not ease what the cap forbids as well.
func TestRampUnderACap(t *testing.T) {
	onEach(t, func(b *bench) {
		b.pair(Class{CapPPM: 100_000}, Limits{InputTPM: 1000})
		b.settle(b.granted(b.request("bulk", Amounts{InputTokens: 40})), Amounts{InputTokens: 40})
		b.throttle(Throttle{Reason: "health", FromPPM: 50_000, ToPPM: million, RampFrom: b.now, RampTo: b.now.Add(100 * time.Second)})
		for tokens, want := range map[int64]time.Duration{20: 1053 * time.Millisecond, 70: 61 * time.Second} {
			if d := b.refused(b.request("bulk", Amounts{InputTokens: tokens}), ReasonShare); !d.RetryAt.Equal(noon.Add(want)) {
				b.Fatalf("%d tokens more: retry at %s; want %s later", tokens, d.RetryAt, want)
			}
		}
	})
}

func TestOutputFloor(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: []Class{{Name: "agent", OutputFloorPPM: 400_000}, {Name: "bulk"}},
			Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{InputTPM: 1000, OutputTPM: 1000}, Lend: "now"}}}))
		// The margins of open calls come off too, but are settled away.
		b.settle(b.granted(b.request("bulk", Amounts{InputTokens: 1000})), Amounts{InputTokens: 1000})
		if d := b.refused(b.request("bulk", Amounts{OutputTokens: 601}), ReasonTooLarge); d.Limit != 600 {
			b.Fatalf("%+v", d)
		}
		b.settle(b.granted(b.request("bulk", Amounts{OutputTokens: 600})), Amounts{InputTokens: 0, OutputTokens: 600})
		b.refused(b.request("bulk", Amounts{OutputTokens: 1}), ReasonShare)
		b.granted(b.request("agent", Amounts{OutputTokens: 400}))
	})
}
