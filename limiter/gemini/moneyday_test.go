package gemini

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// paid is a call of a tenant's run that cost so much and began at a moment.
func paid(scope limiter.Scope, held time.Time, tenant, run string, micro int64) Record {
	r := goodCall(scope, "bulk", "nightly")
	r.Held, r.MicroUSD, r.Run = held, &micro, run
	r.Path.Tenant = tenant
	r.Used[limiter.InputTokens] = 7
	return r
}

// TestMoney: what calls cost adds up by tenant and run, in the day and zone in
// which each was held, however late it ended; what was not sent costs nothing, and
// a parcel that goes twice counts once.
func TestMoney(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		tokyo, err := time.LoadLocation("Asia/Tokyo")
		if err != nil {
			t.Fatal(err)
		}
		scope, clock := meterScope(), &handClock{at: meterNoon}
		m := meterAt(t, rdb, scope, clock, clock, func(o *MeterOptions) { o.Zone = tokyo })
		turn := time.Date(2026, 12, 1, 0, 0, 0, 0, tokyo)
		m.Put(paid(scope, turn.Add(-time.Second), "acme", "r1", 37))
		m.Put(paid(scope, turn.Add(-time.Hour), "acme", "r1", 13))
		m.Put(paid(scope, turn, "acme", "r1", 1000))
		m.Put(paid(scope, turn, "", "", 5))
		for _, tier := range []string{"flex", "standard"} {
			served := paid(scope, turn, "acme", "r1", 300)
			served.Usage = &Usage{Tier: tier}
			m.Put(served)
		}
		unsent := paid(scope, turn, "acme", "r1", 1_000_000)
		unsent.refused(limiter.ReasonSpend, limiter.RejectedLocally)
		m.Put(unsent)
		p := m.take(false)
		for range 2 {
			if err := m.send(p); err != nil {
				t.Fatal(err)
			}
		}
		m.Put(paid(scope, turn, "acme", "r1", 1))
		m.flush(false)
		got, err := ReadMoney(t.Context(), rdb, scope, turn.AddDate(0, 0, -1), turn)
		want := []MoneySample{
			{"2026-11-30", "gemini-x", "bulk", "nightly", "acme", "r1", "standard", 50, 2, 14, 0},
			{"2026-12-01", "gemini-x", "bulk", "nightly", "", "", "standard", 5, 1, 7, 0},
			{"2026-12-01", "gemini-x", "bulk", "nightly", "acme", "r1", "flex", 300, 1, 7, 0},
			{"2026-12-01", "gemini-x", "bulk", "nightly", "acme", "r1", "standard", 1301, 3, 21, 0},
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%+v, %v", got, err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%+v\nwant %+v", got[i], want[i])
			}
		}
	})
}

// TestMoneyIsBounded: with too many names waiting the rest is counted as one, and
// nothing is lost.
func TestMoneyIsBounded(t *testing.T) {
	rdb, scope, clock := dialReal(t), meterScope(), &handClock{at: meterNoon}
	m := meterAt(t, rdb, scope, clock, clock, func(o *MeterOptions) { o.Pending, o.Zone = 10, time.UTC })
	for i := range 30 {
		m.Put(paid(scope, meterNoon, "acme", string(rune('a'+i)), 100))
	}
	m.flush(false)
	got, err := ReadMoney(t.Context(), rdb, scope, meterNoon, meterNoon)
	if err != nil || len(got) != 11 {
		t.Fatalf("%d samples, %v", len(got), err)
	}
	var all int64
	for _, s := range got {
		all += s.MicroUSD
	}
	if all != 3000 {
		t.Errorf("%d in all, want 3000", all)
	}
}
