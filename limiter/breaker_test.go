package limiter

import (
	"strings"
	"testing"
	"time"
)

// one is a request's amounts in these tests.
var one = Amounts{Requests: 1}

func (b *bench) trip(x Trip) BreakerState {
	b.Helper()
	x.Lane = b.lane
	if x.Scope == "" {
		x.Scope = BreakLane
	}
	if x.Reason == "" {
		x.Reason = ReasonBreaker
	}
	s, err := b.Trip(b.Context(), x)
	b.must(err)
	return s
}

// looks grants the one call that looks, and finds all others refused meanwhile.
func (b *bench) looks() *Permit {
	b.Helper()
	p := b.granted(b.request("bulk", one))
	if !p.Probe {
		b.Fatal("the first request of a half-open breaker is not marked as its look")
	}
	b.refused(b.request("interactive", one), ReasonBreaker)
	return p
}

// TestUnsureBreaker: what nobody can explain gets one short retry for the whole
// fleet, then looks at growing distances until the day's reset.
func TestUnsureBreaker(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 600})
		reset := noon.Add(20 * time.Hour)
		proof := func(permit string) BreakerState {
			return b.trip(Trip{Until: reset, Permit: permit, Detail: "nobody knows"})
		}
		proof("")
		for i, step := range []time.Duration{15 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute, time.Hour, time.Hour} {
			d := b.refused(b.request("interactive", one), ReasonBreaker)
			if d.RetryAfter() != step || d.Detail != "nobody knows" {
				t.Fatalf("failure %d: %v, want a look in %s", i, d, step)
			}
			if s := proof("one that was under way"); s.Looks != int64(i) || !s.Next.Equal(d.RetryAt) {
				t.Fatalf("a call that was under way moved the look to %+v", s)
			}
			b.wait(step)
			p := b.looks()
			s := proof(p.ID)
			if b.settle(p, one); s.Failed != int64(i)+1 || s.Until.IsZero() != (i < 3) {
				t.Fatalf("look %d: %+v", i, s)
			}
		}
		b.wait(time.Hour)
		p := b.looks()
		b.must(b.Probed(b.Context(), p))
		b.settle(p, one)
		if p := b.granted(b.request("bulk", one)); p.Probe {
			t.Error("closed, and yet looked at")
		}
		if s := b.state(); len(s.Breakers) != 0 {
			t.Errorf("still there: %+v", s.Breakers)
		}
	})
}

// TestSureBreaker: what the provider gave an end holds until then, with a look now
// and then, and then one call goes first.
func TestSureBreaker(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 600})
		month := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
		s := b.trip(Trip{Scope: BreakProject, Reason: ReasonSpend, Certain: true, Until: month, Detail: "the cap", Lift: "raise it"})
		if !s.Until.Equal(month) || !s.Opened || s.Phase != BreakerOpen {
			t.Fatalf("%+v", s)
		}
		looks := 0
		for b.now.Add(time.Minute).Before(month) {
			b.wait(time.Minute)
			p, d := b.ask(b.request("bulk", one))
			if d != nil {
				if d.Reason != ReasonSpend || d.RetryAt.After(month) {
					t.Fatalf("%v", d)
				}
				continue
			}
			looks++
			b.trip(Trip{Scope: BreakProject, Reason: ReasonSpend, Certain: true, Until: month, Permit: p.ID})
			b.settle(p, one)
		}
		if hours := int(month.Sub(noon).Hours()); looks < hours/2 || looks > hours {
			t.Errorf("%d looks in %d hours; want about one an hour", looks, hours)
		}
		b.wait(time.Minute)
		p := b.granted(b.request("bulk", one))
		b.must(b.Probed(b.Context(), p))
		events, err := b.Events(b.Context(), noon, 0)
		b.must(err)
		var kinds []string
		for _, e := range events {
			if e.Kind != EventLimits {
				kinds = append(kinds, e.Kind)
			}
		}
		if got := strings.Join(kinds, " "); got != "alert resume" {
			t.Errorf("events %q, want one alert and one end", got)
		}
	})
}

// TestLookEnds: any outcome of the look lets another look, and so does its holder's
// death.
func TestLookEnds(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 600})
		b.trip(Trip{})
		b.wait(15 * time.Second)
		for _, outcome := range []Outcome{Settled, Released} { // a 400 or a 503; a call that was cancelled
			p := b.looks()
			b.must(b.Settle(b.Context(), Settlement{ID: p.ID, Lane: b.lane, Outcome: outcome, Used: one}))
		}
		b.looks() // its holder dies
		b.wait(probeLease - time.Millisecond)
		b.refused(b.request("bulk", one), ReasonBreaker)
		b.wait(time.Millisecond)
		p := b.looks()
		short := b.request("bulk", one)
		short.Lease = 3 * time.Second
		b.settle(p, one)
		b.granted(short)
		b.wait(3 * time.Second) // a shorter lease counts
		b.looks()
	})
}

// TestLookByTicket: of jobs that wait one is pulled to look, and the rest when it
// went well.
func TestLookByTicket(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 6000})
		b.trip(Trip{})
		var waiting []Request
		for range 20 {
			q := b.request("bulk", one)
			q.Ticket = "t" + q.ID
			b.refused(q, ReasonBreaker)
			waiting = append(waiting, q)
		}
		pull := func() []Pulled {
			b.wait(time.Second)
			got, err := b.Pull(b.Context(), b.lane, 10)
			b.must(err)
			return got
		}
		if got := pull(); len(got) != 0 {
			t.Fatalf("%d pulled while the breaker is open", len(got))
		}
		b.wait(15 * time.Second)
		if first, again := pull(), pull(); len(first) != 1 || len(again) != 0 {
			t.Fatalf("%d and %d pulled to look; want 1 and none while it is on its way", len(first), len(again))
		}
		p := b.granted(waiting[0])
		if !p.Probe {
			t.Fatal("the job that was pulled does not look")
		}
		if got := pull(); len(got) != 0 {
			t.Fatalf("%d pulled during the look", len(got))
		}
		b.must(b.Probed(b.Context(), p))
		if got := pull(); len(got) < 2 {
			t.Errorf("%d pulled after it", len(got))
		}
	})
}

// TestBreakerScopes: a lane's breaker closes that lane only, a project's all; surer
// proof takes over, and an older call's success closes nothing.
func TestBreakerScopes(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		other := b.lane
		other.Model = "pro"
		two := []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 600}, Lend: "now"}, {Lane: other, Limits: Limits{RPM: 600}, Lend: "now"}}
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Lanes: two, Classes: classes}))
		before := b.granted(b.request("bulk", one))
		b.wait(time.Second)
		b.trip(Trip{})
		q := b.request("bulk", one)
		q.Lane = other
		b.granted(q)
		b.trip(Trip{Scope: BreakProject, Reason: ReasonSpend, Certain: true, Detail: "no money"})
		q.ID = "again"
		b.refused(q, ReasonSpend)
		b.must(b.Probed(b.Context(), before))
		if list, err := b.Breakers(b.Context()); err != nil || len(list) != 2 || list[0].Scope != BreakProject {
			t.Fatalf("%+v, %v; want the project's and the lane's", list, err)
		}
		s := b.trip(Trip{Certain: true, Until: b.now.Add(5 * time.Hour), Detail: "the day is spent"})
		if !s.Opened || !s.Certain || s.Detail != "the day is spent" {
			t.Errorf("surer proof is not taken: %+v", s)
		}
		b.must(b.CloseBreaker(b.Context(), b.lane, "ann"))
		b.granted(b.request("bulk", one))
	})
}

// TestRefusedKey: a key that is refused while another process's works concerns that
// process alone; when none works all is closed, and a key that was never tried looks
// at once.
func TestRefusedKey(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 600})
		b.must(b.KeyInUse(b.Context(), "good", 0))
		bad := Trip{Scope: BreakProject, Reason: ReasonCredentials, Certain: true, Longest: 10 * time.Minute}
		bad.Key = "bad"
		if s := b.trip(bad); !s.Alone {
			t.Fatalf("another key works, and yet %+v", s)
		}
		b.granted(b.request("bulk", one))
		bad.Key = "good"
		if s := b.trip(bad); s.Alone || !s.Opened {
			t.Fatalf("no key works, and yet %+v", s)
		}
		b.refused(b.request("bulk", one), ReasonCredentials)
		b.wait(5 * time.Second)
		b.must(b.KeyInUse(b.Context(), "bad", -1))
		b.must(b.KeyInUse(b.Context(), "good", 6*time.Second)) // it worked before it was refused
		b.refused(b.request("bulk", one), ReasonCredentials)
		b.must(b.KeyInUse(b.Context(), "new", -1))
		p := b.granted(b.request("bulk", one))
		if !p.Probe {
			t.Fatal("a new key does not look")
		}
		b.must(b.Probed(b.Context(), p))
		b.settle(p, one)
		b.granted(b.request("bulk", one))
		bad.Key = "third"
		b.wait(keyFresh)
		b.trip(bad)
		b.refused(b.request("bulk", one), ReasonCredentials)
		b.must(b.KeyInUse(b.Context(), "new", time.Second)) // its answer came late
		b.granted(b.request("bulk", one))
	})
}

// TestLookAgain: a person's word lets the next request look at once.
func TestLookAgain(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 600})
		b.trip(Trip{Certain: true, Until: noon.Add(9 * time.Hour)})
		b.refused(b.request("bulk", one), ReasonBreaker)
		list, err := b.LookAgain(b.Context())
		if b.must(err); len(list) != 1 || list[0].Phase != BreakerHalfOpen {
			t.Fatalf("%+v", list)
		}
		b.looks()
	})
}

// TestBreakerClock: a breaker does not stay for as long as a clock was set back.
func TestBreakerClock(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 600})
		b.trip(Trip{})
		b.wait(-time.Hour)
		b.refused(b.request("bulk", one), ReasonBreaker)
		b.wait(15 * time.Second)
		b.looks()
	})
}

func TestBadTrips(t *testing.T) {
	t.Parallel()
	onEach(t, func(b *bench) {
		for want, x := range map[string]Trip{
			"trip.scope":  {Lane: b.lane, Scope: "all", Reason: ReasonSpend},
			"trip.reason": {Lane: b.lane, Scope: BreakLane, Reason: ReasonQuota},
			"trip.lane":   {Lane: Lane{Provider: "x", Project: "y", Model: "z"}, Scope: BreakLane, Reason: ReasonSpend},
		} {
			if _, err := b.Trip(b.Context(), x); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want an error that names %s", err, want)
			}
		}
	})
}

// TestBreakerWords is what people read.
func TestBreakerWords(t *testing.T) {
	s := BreakerState{Scope: BreakProject, Phase: BreakerOpen, Detail: "the monthly cap is reached", Until: noon.Add(20 * time.Hour),
		Next: noon.Add(time.Hour), Lift: "raise the cap"}
	want := "all calls to the provider's project are held back: the monthly cap is reached; until 2026-11-30T08:00:00Z, one call looks again at 2026-11-29T13:00:00Z; raise the cap"
	if got := s.String(); got != want {
		t.Errorf("%s", got)
	}
	s = BreakerState{Scope: BreakLane, Lane: "gemini/p/global/flash", Reason: ReasonBreaker, Phase: BreakerProbing, Next: noon}
	if got := s.String(); got != "calls of gemini/p/global/flash are held back: breaker; one call looks again at this moment" {
		t.Errorf("%s", got)
	}
}
