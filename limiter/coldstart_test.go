package limiter

import (
	"strings"
	"testing"
	"time"
)

// lose takes everything that the scope has in Redis away.
func (b *bench) lose() {
	b.Helper()
	r := b.gate.(*Redis)
	keys, err := r.rdb.Keys(b.Context(), r.keys.prefix+"*").Result()
	b.must(err)
	b.must(r.rdb.Del(b.Context(), keys...).Err())
}

// onStores runs a test on both kinds of Redis.
func onStores(t *testing.T, test func(b *bench, r *Redis)) {
	t.Helper()
	for _, kind := range kinds[1:] {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, kind)
			test(b, b.gate.(*Redis))
		})
	}
}

func coldClasses() []Class {
	return []Class{{Name: "interactive", GuaranteePPM: 100_000}, {Name: "agent"}, {Name: "bulk", Pausable: true, Tickets: true}}
}

func (b *bench) configureCold(l Limits) {
	b.Helper()
	b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: coldClasses(), Lanes: []LaneConfig{{Lane: b.lane, Limits: l, Lend: "now"}}}))
}

// After a loss those below the highest class have half of each limit for a
// window, whichever process notices it, and however many do.
func TestColdStartIsSlow(t *testing.T) {
	onStores(t, func(b *bench, r *Redis) {
		b.configureCold(Limits{RPM: 100})
		other := NewRedis(r.rdb, r.scope, r.opts)
		_, err := other.Lanes(b.Context())
		b.must(err)
		b.lose()
		b.granted(b.request("interactive", Amounts{1})) // writes the limits again
		_, err = other.Lanes(b.Context())
		b.must(err)
		for n := range 50 {
			if _, err := b.Acquire(b.Context(), b.request("agent", Amounts{1})); err != nil {
				b.Fatalf("call %d of agent: %v", n, err)
			}
		}
		d := b.refused(b.request("agent", Amounts{1}), ReasonShare)
		if !strings.Contains(d.Detail, ReasonColdStart) || !d.RetryAt.Equal(noon.Add(61*time.Second)) {
			b.Errorf("%+v", d)
		}
		b.granted(b.request("interactive", Amounts{1}))
		b.set(d.RetryAt)
		for range 90 {
			b.granted(b.request("agent", Amounts{1}))
		}
		alerts := 0
		for _, e := range b.events() {
			if strings.HasPrefix(e, EventAlert) {
				alerts++
			}
		}
		if ps, err := b.Pauses(b.Context()); alerts != 1 || len(ps) != 0 || err != nil {
			b.Errorf("%d alerts, pauses %+v, err %v; want one and none, since no day is counted", alerts, ps, err)
		}
	})
}

// With limits of a day bulk waits until somebody knows what was used of it.
func TestLostCountersStopBulk(t *testing.T) {
	onStores(t, func(b *bench, r *Redis) {
		b.configureCold(Limits{RPM: 100, RPD: 1000})
		b.granted(b.request("bulk", Amounts{1}))
		b.lose()
		b.granted(b.request("agent", Amounts{1}))
		if d := b.refused(b.request("bulk", Amounts{1}), ReasonPaused); !strings.Contains(d.Detail, "quota state") {
			b.Errorf("refused by %q", d.Detail)
		}
		for _, wrong := range []Limits{{RPM: 5}, {USDPerDay: 5}, {RPD: 1001}} {
			if err := r.Stated(b.Context(), b.lane, "bulk", wrong); err == nil {
				b.Errorf("%+v was taken", wrong)
			}
		}
		b.must(r.Stated(b.Context(), b.lane, "bulk", Limits{RPD: 700}))
		if n, err := r.CountersKnown(b.Context(), "ada", "stated"); n != 1 || err != nil {
			b.Errorf("%d lifted, err %v", n, err)
		}
		b.granted(b.request("bulk", Amounts{1}))
		if n := b.used("rpd"); n != 702 {
			b.Errorf("%d used of the day, want 700 stated and 2 since", n)
		}
		late := NewRedis(r.rdb, r.scope, r.opts) // that saw what was there before, and looks only now
		gone := "gone"
		late.generation.Store(&gone)
		_, err := late.Lanes(b.Context())
		b.must(err)
		b.granted(b.request("bulk", Amounts{1}))
	})
}

// A first start loses nothing.
func TestFirstStartIsNone(t *testing.T) {
	onStores(t, func(b *bench, r *Redis) {
		b.configureCold(Limits{RPM: 100, RPD: 1000})
		b.configureCold(Limits{RPM: 200, RPD: 1000})
		_, err := r.Lanes(b.Context())
		b.must(err)
		ps, err := b.Pauses(b.Context())
		b.must(err)
		ts, err := b.Throttles(b.Context())
		b.must(err)
		if len(ps)+len(ts) > 0 {
			b.Errorf("pauses %+v, throttles %+v", ps, ts)
		}
	})
}
