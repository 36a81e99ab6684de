package tenants

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestUsage: by day and by hour, by what is asked for, of one team or key; as CSV no name
// is a formula.
func TestUsage(t *testing.T) {
	t.Parallel()
	r := newRig(t, embedded(t))
	now := time.Date(2026, 11, 30, 20, 30, 0, 0, time.UTC)
	r.book.Now = func() time.Time { return now }
	meter := gemini.NewMeter(r.book.Redis, r.book.Scope, gemini.MeterOptions{})
	call := func(ago time.Duration, team, key, feature string, micro int64) {
		c := gemini.Record{Scope: r.book.Scope.String(), Lane: "gemini/p/global/m", Class: "interactive", Feature: feature, Path: limiter.Path{Tenant: "acme", Team: team, Key: key},
			Method: "generateContent", Sent: true, Status: http.StatusOK, Held: now.Add(-ago), MicroUSD: &micro}
		c.Used[limiter.Requests] = 1
		meter.Put(c)
	}
	call(time.Minute, "web", "k_1", "=cmd()", 10)
	call(2*time.Hour, "web", "k_2", "chat", 20)
	call(48*time.Hour, "ops", "k_3", "chat", 40)
	r.must(meter.Close())
	for _, c := range []struct {
		q    UsageQuery
		rows int
		sum  int64
		csv  string
	}{
		{UsageQuery{}, 2, 70, "2026-11-28T00:00:00-08:00,acme,,1,1,0,0,40,0,0"},
		{UsageQuery{By: "feature"}, 3, 70, ",acme,'=cmd(),1,1,0,0,10,0,0"},
		{UsageQuery{By: "key", Team: "web"}, 2, 30, ",acme,k_2,"},
		{UsageQuery{By: "team", Key: "k_3"}, 1, 40, ",acme,ops,"},
		{UsageQuery{Step: "hour"}, 2, 30, "2026-11-30T12:00:00-08:00,acme,,1,"},
		{UsageQuery{From: "2026-11-28", To: "2026-11-28"}, 1, 40, ""},
		{UsageQuery{Step: "hour", From: "2026-11-28T20:00:00Z", To: "2026-11-28T21:00:00Z"}, 1, 40, ""},
		{UsageQuery{Step: "hour", From: "2026-11-28T21:00:00Z", To: "2026-11-28T22:00:00Z"}, 0, 0, ""},
	} {
		c.q.Tenant = "acme"
		u, err := r.book.Usage(t.Context(), c.q)
		if err != nil {
			t.Errorf("%+v: %v", c.q, err)
			continue
		}
		var b strings.Builder
		r.must(u.CSV(&b))
		if len(u.Rows) != c.rows || u.Total.MicroUSD != c.sum || !strings.Contains(b.String(), c.csv) {
			t.Errorf("%+v: %d rows of %d, want %d of %d with %s\n%s", c.q, len(u.Rows), u.Total.MicroUSD, c.rows, c.sum, c.csv, b.String())
		}
	}
}

// TestChangedBetween: limits that somebody sets by another way, after a change has looked
// and before it is made, are not overwritten, and the note stays as it was.
func TestChangedBetween(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		r.T = t
		ref := Ref{Tenant: "acme"}
		_, _, err := r.book.Put(t.Context(), "ana", ref, Draft{Note: "before", Terms: Terms{Limits: Limits{"rpm": new(int64(5))}}}, Condition{})
		r.must(err)
		s, err := r.book.state(t.Context(), ref.Node())
		r.must(err)
		r.must(r.book.Limiter.Set(t.Context(), limiter.Override{Node: ref.Node(), Name: "rpm", Value: 7})) // quota set
		err = r.book.apply(t.Context(), "bob", ref, s, Draft{Note: "after", Terms: Terms{Limits: Limits{"rpm": new(int64(9))}}})
		a, showErr := r.book.Show(t.Context(), ref)
		if err == nil || showErr != nil || a.Note != "before" || *a.Limits["rpm"] != 7 {
			t.Errorf("%v: %+v, %v", err, a, showErr)
		}
	})
}
