package gemini

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// TestTenantUse: what calls of a tenant used adds up by team, key, feature and model, in
// the day and hour in which each was held; refusals count, what was put back into a line
// and what is no tenant's does not; a parcel that goes twice counts once.
func TestTenantUse(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		kolkata, err := time.LoadLocation("Asia/Kolkata") // whose days begin at half past an hour of UTC
		if err != nil {
			t.Fatal(err)
		}
		scope, clock := meterScope(), &handClock{at: meterNoon}
		m := meterAt(t, rdb, scope, clock, clock, func(o *MeterOptions) { o.Zone = kolkata })
		turn := time.Date(2026, 12, 1, 0, 0, 0, 0, kolkata)
		call := func(at time.Time, tenant, key string, micro int64) Record {
			r := paid(scope, at, tenant, "", micro)
			r.Path.Team, r.Path.Key = "we|b", key
			return r
		}
		m.Put(call(turn.Add(-time.Second), "acme", "k_1", 30))
		m.Put(call(turn, "acme", "k_1", 100))
		m.Put(call(turn.Add(time.Minute), "acme", "k_2", 7))
		m.Put(call(turn, "beta", "k_3", 1000))
		m.Put(call(turn, "", "k_4", 5))
		refused, queued := call(turn, "acme", "k_1", 9), call(turn, "acme", "k_1", 9)
		refused.Time = turn
		refused.refused(limiter.ReasonQuota, limiter.RejectedLocally)
		queued.refused(limiter.ReasonQuota, limiter.Queued)
		own := refused
		own.Node = "tenant/acme"
		m.Put(refused)
		m.Put(own)
		m.Put(own)
		m.Put(queued)
		p := m.take(false)
		for range 2 {
			if err := m.send(p); err != nil {
				t.Fatal(err)
			}
		}
		m.flush(false)
		read := func(q UseQuery) (all string) {
			t.Helper()
			q.Zone = kolkata
			got, err := ReadUse(t.Context(), rdb, scope, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range got {
				all += fmt.Sprintf("%s %s/%s/%s/%s %d calls %d in $%d %d refused, %d own\n", u.At.In(kolkata).Format("02T15:04"), u.Team, u.Key, u.Feature, u.Model, u.Calls, u.InputTokens, u.MicroUSD, u.Refused, u.OwnLimit)
			}
			return all
		}
		const days = "30T00:00 we_b/k_1/nightly/gemini-x 1 calls 7 in $30 0 refused, 0 own\n" +
			"01T00:00 we_b/k_1/nightly/gemini-x 1 calls 7 in $100 1 refused, 2 own\n01T00:00 we_b/k_2/nightly/gemini-x 1 calls 7 in $7 0 refused, 0 own\n"
		if got := read(UseQuery{Tenant: "acme", From: turn.AddDate(0, 0, -1), To: turn.AddDate(0, 0, 1)}); got != days {
			t.Errorf("by day\n%s, want\n%s", got, days)
		}
		const hours = "30T23:30 we_b/k_1/nightly/gemini-x 2 calls 14 in $130 1 refused, 2 own\n30T23:30 we_b/k_2/nightly/gemini-x 1 calls 7 in $7 0 refused, 0 own\n"
		if got := read(UseQuery{Tenant: "acme", From: turn.Add(-time.Hour), To: turn.Add(time.Hour), Hours: true}); got != hours {
			t.Errorf("by hour\n%s, want\n%s", got, hours)
		}
		if got := read(UseQuery{Tenant: "nobody", From: turn, To: turn.Add(time.Hour)}); got != "" {
			t.Errorf("nobody used %s", got)
		}
		all, err := ReadUseTotals(t.Context(), rdb, scope, turn, kolkata)
		if err != nil || len(all) != 2 || all["acme"].MicroUSD != 107 || all["acme"].Refused != 1 || all["acme"].OwnLimit != 2 || all["beta"].Calls != 1 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestTenantUseIsBounded: a tenant with ever new features has so many of them apart, and
// none is lost.
func TestTenantUseIsBounded(t *testing.T) {
	t.Parallel()
	scope, clock := meterScope(), &handClock{at: meterNoon}
	m := meterAt(t, dialEmbedded(t), scope, clock, clock, func(o *MeterOptions) { o.Features = 10_000 })
	const n = 450
	for i := range n {
		r := goodCall(scope, "bulk", fmt.Sprintf("f%d", i))
		r.Held, r.Path.Tenant = meterNoon, "acme"
		m.Put(r)
	}
	for m.pending() > 0 {
		m.flush(false)
	}
	got, err := ReadUse(t.Context(), m.rdb, scope, UseQuery{Tenant: "acme", From: meterNoon.Add(-24 * time.Hour), To: meterNoon.Add(time.Hour)})
	var calls int64
	for _, u := range got {
		calls += u.Calls
	}
	if err != nil || calls != n || len(got) > 402 {
		t.Errorf("%d calls of %d kinds, %v", calls, len(got), err)
	}
}
