package cli

import (
	"context"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestMinuteUseIsTheSum: of random samples, what pages show of a minute is what they add
// up to.
func TestMinuteUseIsTheSum(t *testing.T) {
	t.Parallel()
	rng, now := rand.New(rand.NewPCG(9, 10)), time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	var samples []gemini.UsageSample
	for range 500 {
		s := gemini.UsageSample{At: now, Region: pick("global", "eu"), Model: pick("a", "b", "c"), Class: pick("interactive", "bulk"), Feature: pick("Chat", "tags", "sum")}
		s.Calls, s.Requests, s.InputTokens, s.Refused, s.Provider429 = rng.Int64N(9), rng.Int64N(9), rng.Int64N(900), rng.Int64N(3), rng.Int64N(3)
		s.Latency.Add(time.Duration(rng.Int64N(9000)) * time.Millisecond)
		samples = append(samples, s)
	}
	m := newMinuteUse(samples, now)
	var all gemini.UsageSample
	for class, got := range m.classes {
		var want gemini.UsageSample
		for _, s := range samples {
			if s.Class == class {
				want.Merge(s)
			}
		}
		if all.Merge(want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", class, got, want)
		}
	}
	if m.all.Calls != all.Calls || m.all.Requests != all.Requests || m.all.InputTokens != all.InputTokens || m.all.Refused != all.Refused || m.all.Provider429 != all.Provider429 {
		t.Errorf("all: %+v, want %+v", m.all, all)
	}
	var calls, bad int64
	for _, s := range samples {
		if s.Region == "eu" && s.Model == "b" {
			calls, bad = calls+s.Calls, bad+s.Refused+s.Provider429
		}
	}
	if l := m.lanes[[2]string{"eu", "b"}]; l.calls != calls || l.bad != bad || !strings.Contains(l.words, "chat") || strings.Contains(l.words, "Chat") {
		t.Errorf("a lane: %+v, want %d calls, %d bad", l, calls, bad)
	}
	if !reflect.DeepEqual(m.users, whoTable(samples, now.Add(-time.Minute), now)) {
		t.Error("the users are not those of the table")
	}
}

// TestDashboardKeepsTheCrowd: while the dashboard looks beside its pages these wait for no
// look at all tenants, and one after a change has it.
func TestDashboardKeepsTheCrowd(t *testing.T) {
	t.Parallel()
	b := fleetOf(t, redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()}), 2, 4)
	t.Cleanup(b.close)
	now := &dashboardNow{backend: b}
	d := b.testDashboard(t, now)
	const look = "a-token-that-looks"
	says(t, visit(t, d, look, "/", nil), http.StatusOK, "with limits 4 of 4", "tenant/t0003")
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	now.keep(ctx)
	ch := limiter.Change{By: "ana", Set: []limiter.Override{{Node: "tenant/new", Name: "rpm", Value: 7}}}
	if err := b.lim.Override(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
	now.forget()
	says(t, visit(t, d, look, "/?x=2", nil), http.StatusOK, "tenant/new")
	says(t, visit(t, d, look, "/tenants?x=2", nil), http.StatusOK, "new rpm 7")
}
