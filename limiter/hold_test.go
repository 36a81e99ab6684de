package limiter

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// job is a request of bulk that waits when it is refused.
func (b *bench) job(run string, p Priority, requests int64) Request {
	q := b.request("bulk", Amounts{requests})
	q.Path, q.Ticket = Path{Run: run, Priority: p}, "t"+q.ID
	return q
}

// wakes pulls, and wants exactly these tickets.
func (b *bench) wakes(want ...string) {
	b.Helper()
	b.wait(500 * time.Millisecond)
	got, err := b.Pull(b.Context(), b.lane, 10)
	b.must(err)
	var names []string
	for _, p := range got {
		names = append(names, p.Ticket)
	}
	if !slices.Equal(names, want) {
		b.Fatalf("pulled %v; want %v", names, want)
	}
}

func TestPauseOfARun(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		one, other := b.job("r1", Normal, 1), b.job("r2", Normal, 1)
		one.Full, other.Full = true, true
		b.refused(one, ReasonSlots)
		b.refused(other, ReasonSlots)
		until := b.now.Add(time.Minute)
		pause := Pause{Run: "r1", Reason: "operator", Owner: "ada", Detail: "wrong prompt", Until: until}
		b.must(b.Pause(b.Context(), pause))
		q := b.job("r1", High, 1)
		q.Ticket = ""
		if d := b.refused(q, ReasonPaused); !d.RetryAt.Equal(until) || d.Detail != "operator by ada: wrong prompt" {
			b.Fatalf("%+v", d)
		}
		b.wakes(other.Ticket)
		pause.Until = time.Time{}
		b.must(b.Pause(b.Context(), pause)) // replaced: without an end now
		if d := b.refused(q, ReasonPaused); d.RetryAfter() != 30*time.Second {
			b.Fatalf("retry in %s; want 30s", d.RetryAfter())
		}
		b.wakes()
		b.must(b.Lift(b.Context(), Pause{Run: "r1"}, "operator"))
		b.wakes(one.Ticket)
	})
}

func TestPauseOfAQueue(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		elsewhere := b.lane
		elsewhere.Model = "pro"
		b.must(b.Pause(b.Context(), Pause{Lane: elsewhere.String(), Priority: Low, Reason: "operator", Owner: "ada"}))
		high, low := b.job("r", High, 1), b.job("r", Low, 1)
		high.Full, low.Full = true, true
		b.refused(high, ReasonSlots)
		b.refused(low, ReasonSlots)
		if ps := b.state().Pauses; len(ps) != 0 {
			b.Fatalf("the lane shows another's pauses: %+v", ps)
		}
		b.must(b.Pause(b.Context(), Pause{Lane: b.lane.String(), Priority: High, Reason: "operator", Owner: "ada"}))
		b.refused(b.job("r", High, 1), ReasonPaused)
		b.granted(b.request("interactive", Amounts{1}))
		b.wakes(low.Ticket)
		b.must(b.Lift(b.Context(), Pause{Lane: b.lane.String(), Priority: High}, "operator"))
		b.must(b.Pause(b.Context(), Pause{Lane: b.lane.String(), Reason: "credentials", Owner: "worker"})) // everything
		for _, class := range []string{"interactive", "bulk"} {
			b.refused(b.request(class, Amounts{1}), ReasonPaused)
		}
		b.wakes()
		if ps := b.state().Pauses; len(ps) != 1 || ps[0].Target() != "lane "+b.lane.String() || ps[0].Since.IsZero() {
			b.Fatalf("pauses %+v", ps)
		}
	})
}

// A released job whose run is paused goes back to the front, and is the first
// when the pause is over.
func TestPauseAfterTheRelease(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		first, second := b.job("r", Normal, 1), b.job("r", Normal, 1)
		for _, q := range []Request{first, second} {
			q.Full = true
			b.refused(q, ReasonSlots)
		}
		b.wait(500 * time.Millisecond)
		if got, err := b.Pull(b.Context(), b.lane, 1); err != nil || len(got) != 1 {
			b.Fatalf("pulled %v, %v", got, err)
		}
		b.must(b.Pause(b.Context(), Pause{Run: "r", Reason: "operator"}))
		if d := b.refused(first, ReasonPaused); d.Position != 1 {
			b.Fatalf("place %d; want the first", d.Position)
		}
		b.must(b.Lift(b.Context(), Pause{Run: "r"}, "operator"))
		b.wakes(first.Ticket, second.Ticket)
		b.granted(first)
	})
}

// What a paused run has booked keeps no newcomer of another out.
func TestPausedRunKeepsNobodyOut(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		for range 3 {
			q := b.job("r1", Normal, 60)
			q.Full = true
			b.refused(q, ReasonSlots)
		}
		newcomer := b.job("r2", Normal, 10)
		newcomer.Ticket = ""
		b.refused(newcomer, ReasonTurn)
		b.must(b.Pause(b.Context(), Pause{Run: "r1", Reason: "operator"}))
		b.granted(newcomer)
	})
}

// What has ended is forgotten: nothing is left in Redis that a decision looks at.
func TestEndedHoldsAreForgotten(t *testing.T) {
	for _, kind := range []string{"embedded", "real"} {
		b := newBench(t, kind)
		r := b.gate.(*Redis)
		b.limits(Limits{RPM: 100})
		fields := func() []string {
			all, err := r.rdb.HKeys(b.Context(), r.keys.scope[0]).Result()
			b.must(err)
			slices.Sort(all)
			return all
		}
		before := fields()
		until := b.now.Add(time.Minute)
		b.must(b.Pause(b.Context(), Pause{Run: "r1", Reason: "operator", Until: until}))
		b.must(b.Pause(b.Context(), Pause{Lane: b.lane.String(), Priority: Low, Reason: "health", Until: until}))
		b.must(b.Throttle(b.Context(), Throttle{Class: "bulk", Reason: "window", ToPPM: 1, Until: until}))
		b.set(until)
		b.must(b.Pause(b.Context(), Pause{Class: "bulk", Reason: "budget"}))
		b.must(b.Lift(b.Context(), Pause{Class: "bulk"}, "budget"))
		b.must(b.Lift(b.Context(), Pause{Class: "bulk"}, "budget")) // what is not there: no error
		if after := fields(); !slices.Equal(after, before) {
			t.Fatalf("%s: fields %q; want %q", kind, after, before)
		}
	}
}

func TestHoldsAreChecked(t *testing.T) {
	onEach(t, func(b *bench) {
		lane := b.lane.String()
		for field, p := range map[string]Pause{
			"pause":          {Class: "bulk", Run: "r", Reason: "operator"},
			"pause.priority": {Class: "bulk", Priority: High, Reason: "operator"},
			"pause.lane":     {Lane: "gemini/elsewhere/global/flash", Reason: "operator"},
			"pause.run":      {Run: "a/b", Reason: "operator"},
			"pause.reason":   {Lane: lane},
		} {
			var wrong *ConfigError
			if err := b.Pause(b.Context(), p); !errors.As(err, &wrong) || wrong.Field != field {
				b.Errorf("%+v: %v; want an error about %s", p, err, field)
			}
		}
		for field, x := range map[string]Throttle{
			"throttle.class":    {Reason: "health", ToPPM: 1},
			"throttle.reason":   {Class: "bulk", ToPPM: 1},
			"throttle.to_ppm":   {Class: "bulk", Reason: "health"},
			"throttle.from_ppm": {Class: "bulk", Reason: "health", ToPPM: 1, FromPPM: -1},
			"throttle.ramp_to":  {Class: "bulk", Reason: "health", ToPPM: 1, RampFrom: noon, RampTo: noon},
		} {
			var wrong *ConfigError
			if err := b.Throttle(b.Context(), x); !errors.As(err, &wrong) || wrong.Field != field {
				b.Errorf("%+v: %v; want an error about %s", x, err, field)
			}
		}
	})
}
