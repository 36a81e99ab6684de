package limiter

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func (b *bench) report(kind FeedbackKind, limit string) {
	b.Helper()
	b.must(b.Report(b.Context(), Feedback{Lane: b.lane, Kind: kind, Limit: limit}))
}

// limit gives the state of a limit.
func (b *bench) named(name string) LimitState {
	b.Helper()
	for _, l := range b.state().Limits {
		if l.Name == name {
			return l
		}
	}
	b.Fatalf("no limit %s", name)
	return LimitState{}
}

func (b *bench) effective(name string, want int64) {
	b.Helper()
	if l := b.named(name); l.Effective != want {
		b.Fatalf("%s is %d at %s, want %d (%v)", name, l.Effective, b.now.Sub(noon), want, l.Lowered)
	}
}

// A refused admission lowers the limit that was named by a tenth, once for the
// refusals of ten seconds and never below half; a hundredth comes back a minute.
func TestRejectedLowersTheLimit(t *testing.T) {
	onEach(t, func(b *bench) {
		b.configure(LaneConfig{Limits: Limits{RPM: 1000, InputTPM: 100_000, RPD: 5000}, OutsidePPM: 50_000, Lend: "now"})
		for range 5 {
			b.report(RejectedAfterAdmit, "rpm")
			b.wait(time.Second)
		}
		b.effective("rpm", 856) // 950 less a tenth, and what came back since
		b.effective("input_tpm", 95_000)
		if l := b.named("rpm"); l.Outside != 50 || l.Lowered == nil || l.Lowered.PPM != 100_000-5000/6 || !l.Lowered.Until.Equal(noon.Add(10*time.Minute)) {
			b.Fatalf("%+v lowered %+v", l, l.Lowered)
		}
		b.wait(5 * time.Second)
		b.report(RejectedAfterAdmit, "rpm")
		b.effective("rpm", 762)
		b.set(noon.Add(10*time.Second + 5*time.Minute))
		b.effective("rpm", 810) // five hundredths more
		for range 20 {
			b.report(RejectedAfterAdmit, "rpm")
			b.wait(10 * time.Second)
		}
		b.effective("rpm", 477) // half, and what came back since
		b.wait(time.Hour)
		b.effective("rpm", 950)
		if l := b.named("rpm"); l.Lowered != nil || l.Outside != 50 {
			b.Fatalf("%+v", l)
		}
		b.report(RejectedAfterAdmit, "") // names none: all of a minute
		b.effective("rpm", 855)
		b.effective("input_tpm", 85_500)
		b.report(RejectedAfterAdmit, "rpd") // rests, and comes back with its day
		b.effective("rpd", 4750)
	})
}

// A lowered limit binds at once, while what is too large goes by the configured
// one; a limit that is changed is not lowered any more, one that stays is.
func TestLoweredLimitBinds(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 10, InputTPM: 1000})
		b.report(RejectedAfterAdmit, "input_tpm")
		b.refused(b.request("interactive", Amounts{1, 950}), ReasonQuota)
		b.refused(b.request("interactive", Amounts{1, 1001}), ReasonTooLarge)
		b.limits(Limits{RPM: 20, InputTPM: 1000})
		b.effective("input_tpm", 900)
		b.limits(Limits{RPM: 20, InputTPM: 2000})
		b.effective("input_tpm", 2000)
		b.limits(Limits{RPM: 20, InputTPM: 1000})
		b.granted(b.request("interactive", Amounts{1, 950}))
		b.report(RejectedAfterAdmit, "rpm")
		b.wait(-time.Hour) // the clock is set back: it comes back from here on
		b.effective("rpm", 18)
		b.wait(time.Second)
		b.effective("rpm", 18)
		b.wait(10 * time.Minute)
		b.effective("rpm", 20)
	})
}

// A lane that has its first limit of calls at once for want of capacity says so, and
// not that a 429 named a quota.
func TestCapacityIsNo429(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 1000})
		b.report(Capacity, "")
		said := strings.Join(b.events(), "\n")
		want := "concurrency none → 10000 (provider short of capacity: 503, or a 429 that names no quota): calls at once follow what it has room for from now on"
		if !strings.Contains(said, want) || strings.Contains(said, "provider's 429") {
			b.Errorf("events:\n%s\nwant %q", said, want)
		}
		if got := b.named("concurrency").Source; !strings.HasPrefix(got, "provider short of capacity") {
			b.Errorf("its source is %q", got)
		}
	})
}

// Want of capacity lowers calls at once to 0.7 of those in flight, in a lane
// without such a limit too, and lets one more go each second in which it is used.
func TestCapacityLowersCallsAtOnce(t *testing.T) {
	for name, l := range map[string]Limits{"configured": {RPM: 1000, Concurrency: 100}, "none": {RPM: 1000}} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.limits(l)
				if l.Concurrency == 0 { // what is under way when the limit comes is not in it
					b.granted(b.request("interactive", Amounts{1}))
					b.report(Capacity, "")
					b.effective("concurrency", fewCalls) // one that fails says nothing of four
					b.wait(11 * time.Minute)
					b.effective("concurrency", unboundCalls)
				}
				var open []*Permit
				for range 20 {
					open = append(open, b.granted(b.request("interactive", Amounts{1})))
				}
				for range 3 {
					b.report(Capacity, "")
				}
				b.effective("concurrency", 14) // 0.7 of 21, the failed one included, once a second
				if d := b.refused(b.request("interactive", Amounts{1}), ReasonQuota); d.Limiter != "concurrency" || d.Limit != 14 || d.Used != 20 {
					b.Fatalf("%+v", d)
				}
				for _, p := range open[:11] {
					b.settle(p, Amounts{1})
				}
				for want := int64(15); want < 19; want++ {
					b.wait(time.Second)
					b.effective("concurrency", min(want, 16)) // 9 of 16 in flight: it is not what binds
				}
				b.wait(time.Second)
				b.report(Capacity, "")
				b.effective("concurrency", 7) // 0.7 of the ten in flight
				for _, p := range open[11:] {
					b.settle(p, Amounts{1})
				}
				b.wait(10 * time.Minute)
				if got := b.named("concurrency"); got.Effective != got.Amount || got.Lowered != nil {
					b.Fatalf("%+v", got)
				}
				if got := strings.Join(b.events(), "\n"); strings.Count(got, "at most 14 calls at once") != 1 || strings.Count(got, "at most") > 2 {
					b.Fatalf("events\n%s", got)
				}
			})
		})
	}
}

// The few calls of many that always fail change nothing.
func TestFewFailuresAreNoWant(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 1000, Concurrency: 200})
		for range 100 {
			b.granted(b.request("interactive", Amounts{1}))
		}
		for range 5 {
			for range 5 {
				b.report(Capacity, "")
			}
			b.wait(time.Second)
		}
		b.effective("concurrency", 200)
		for range 6 {
			b.report(Capacity, "")
		}
		b.effective("concurrency", 70)
	})
}

// Under a low ceiling the classes' shares shrink with it: bulk is not shut out by
// what is kept for others of the configured limit.
func TestSharesShrinkWithTheCeiling(t *testing.T) {
	onEach(t, func(b *bench) {
		b.configure(LaneConfig{Limits: Limits{RPM: 1000, Concurrency: 100}, Lend: "auto"})
		for range 7 {
			b.granted(b.request("interactive", Amounts{1}))
		}
		b.report(Capacity, "") // 5 of 8
		for _, p := range b.open() {
			b.must(b.Settle(b.Context(), Settlement{ID: p, Lane: b.lane, Outcome: Settled, Used: Amounts{1}}))
		}
		b.wait(10 * time.Minute / 2)
		b.granted(b.request("bulk", Amounts{1}))
	})
}

// open are the ids of all permits that were asked for.
func (b *bench) open() (ids []string) {
	for i := range b.ids {
		ids = append(ids, "c"+itoa(i+1))
	}
	return ids
}

// A lower quotaValue becomes our limit until it is unset; a higher one is none of
// our business.
func TestQuotaValueIsAdopted(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100, RPD: 1000})
		f := Feedback{Lane: b.lane, Kind: RejectedAfterAdmit, Limit: "rpm", QuotaValue: 60}
		for range 3 {
			b.must(b.Report(b.Context(), f))
			b.wait(time.Second)
		}
		if l := b.named("rpm"); l.Amount != 60 || l.Effective != 55 {
			b.Fatalf("%+v, want 60 adopted, and a tenth less once it is refused there too", l)
		}
		b.must(b.Report(b.Context(), Feedback{Lane: b.lane, Kind: RejectedAfterAdmit, Limit: "rpd", QuotaValue: 500}))
		b.must(b.Report(b.Context(), Feedback{Lane: b.lane, Kind: RejectedAfterAdmit, Limit: "rpd", QuotaValue: 5000}))
		b.effective("rpd", 500)
		alerts := 0
		for _, e := range b.events() {
			if strings.HasPrefix(e, EventAlert) && strings.Contains(e, "quota unset flash") {
				alerts++
			}
		}
		if alerts != 2 {
			b.Errorf("events %q, want two alerts", b.events())
		}
		b.must(b.Unset(b.Context(), b.lane.String(), "rpm"))
		b.effective("rpm", 100)
	})
}

func TestFeedbackIsChecked(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 100})
		for field, f := range map[string]Feedback{
			"feedback.kind":        {Lane: b.lane, Kind: "gossip"},
			"feedback.quota_value": {Lane: b.lane, Kind: RejectedAfterAdmit, QuotaValue: -1},
		} {
			var wrong *ConfigError
			if err := b.Report(b.Context(), f); !errors.As(err, &wrong) || wrong.Field != field {
				b.Errorf("%s: %v", field, err)
			}
		}
		other := b.lane
		other.Model = "never-heard-of"
		if err := b.Report(b.Context(), Feedback{Lane: other, Kind: Capacity}); !errors.Is(err, ErrUnknownLane) {
			b.Errorf("%v; want that the lane is unknown", err)
		}
	})
}

// That two lanes are one quota is said once, whoever hears it again.
func TestSharedQuotaIsSaidOnce(t *testing.T) {
	onEach(t, func(b *bench) {
		b.limits(Limits{RPM: 1000})
		for range 3 {
			b.must(b.Report(b.Context(), Feedback{Lane: b.lane, Kind: RejectedAfterAdmit, Limit: "rpm", Shared: "pro"}))
		}
		events, err := b.Events(b.Context(), noon.Add(-time.Hour), 0)
		b.must(err)
		said := 0
		for _, e := range events {
			if e.Kind == EventAlert && strings.Contains(e.Text, "name flash among the aliases of pro") {
				said++
			}
		}
		if said != 1 {
			b.Errorf("said %d times: %+v", said, events)
		}
	})
}
