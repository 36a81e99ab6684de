package limiter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// closings says what was closed for a run's requests, in seconds since noon.
func (b *bench) closings(r *Redis, run string) []string {
	b.Helper()
	list, err := r.Closings(b.Context(), b.lane, "bulk", Path{Run: run, Priority: High, Tenant: "acme"}, "f")
	b.must(err)
	var out []string
	for _, c := range list {
		to := "?"
		if !c.To.IsZero() {
			to = fmt.Sprint(c.To.Sub(noon).Seconds())
		}
		out = append(out, fmt.Sprintf("%d %s %v-%s", c.By, c.Reason, c.From.Sub(noon).Seconds(), to))
	}
	slices.Sort(out)
	return out
}

// TestClosings: what was closed is known later, by whatever it was closed. A lease
// that is renewed goes on, one that lapsed ended by itself.
func TestClosings(t *testing.T) {
	t.Parallel()
	onStores(t, func(b *bench, r *Redis) {
		b.limits(Limits{RPM: 100})
		lease := func(reason string) {
			b.must(b.Pause(b.Context(), Pause{Class: "bulk", Reason: reason, Owner: "s", Until: b.now.Add(30 * time.Second)}))
		}
		lease("health")
		b.wait(20 * time.Second)
		lease("health") // to 50
		b.must(b.Pause(b.Context(), Pause{Run: "r1", Reason: "operator"}))
		b.must(b.Pause(b.Context(), Pause{Run: "r2", Reason: "operator"}))
		b.must(b.Pause(b.Context(), Pause{Lane: b.lane.String(), Priority: High, Reason: "window"}))
		b.wait(10 * time.Second) // 30
		b.must(b.Lift(b.Context(), Pause{Lane: b.lane.String(), Priority: High}, "window"))
		b.must(b.Lift(b.Context(), Pause{Lane: b.lane.String(), Priority: High}, "window")) // again: nothing
		b.must(r.Cool(b.Context(), b.lane, 5*time.Second, ReasonCooldown, "minute"))
		b.wait(2 * time.Second) // 32
		b.must(r.Cool(b.Context(), b.lane, 8*time.Second, ReasonCooldown, "minute"))
		b.trip(Trip{Reason: ReasonBreaker})
		b.wait(28 * time.Second) // 60
		lease("health")          // the one before lapsed at 50
		b.trip(Trip{Reason: ReasonCredentials, Certain: true})
		b.must(b.Throttle(b.Context(), Throttle{Class: "bulk", Reason: "health", FromPPM: 300_000, ToPPM: 300_000}))
		b.must(r.MoneyShort(b.Context(), "tenant/acme", "bulk", 20*time.Second))
		b.must(r.MoneyShort(b.Context(), "tenant/other", "bulk", 20*time.Second))
		b.wait(10 * time.Second) // 70
		b.must(r.MoneyShort(b.Context(), "tenant/acme", "bulk", 0))
		b.must(r.CloseBreaker(b.Context(), b.lane, "ada"))
		b.must(b.Lift(b.Context(), Pause{Run: "r1"}, "operator"))
		b.wait(-time.Hour) // a clock that went back ends nothing before it began
		b.must(b.Unthrottle(b.Context(), "bulk", "health"))
		got := strings.Join(b.closings(r, "r1"), "\n")
		want := strings.Join([]string{
			fmt.Sprint(ByPause, " health 0-50"), fmt.Sprint(ByPause, " health 60-90"), fmt.Sprint(ByPause, " operator 20-70"), fmt.Sprint(ByPause, " window 20-30"),
			fmt.Sprint(ByThrottle, " health 60-60"), fmt.Sprint(ByRest, " cooldown 30-40"),
			fmt.Sprint(ByBreaker, " breaker 32-60"), fmt.Sprint(ByBreaker, " credentials 60-70"), fmt.Sprint(ByMoney, " spend 60-70"),
		}, "\n")
		if got != want {
			b.Errorf("closed\n%s\nwant\n%s", got, want)
		}
	})
}

// TestClosingsAreBounded: what closes a lane all the time does not fill Redis; the
// latest stay, each whole.
func TestClosingsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, kinds[1])
	r := b.gate.(*Redis)
	for range 700 {
		b.must(r.MoneyShort(b.Context(), "run/r", "bulk", time.Second))
		b.wait(2 * time.Second)
	}
	got := b.closings(r, "r")
	if n := len(got); n < 500 || n > 600 {
		t.Errorf("%d are kept", n)
	}
	for _, c := range got {
		var by, from, to int
		var reason string
		if _, err := fmt.Sscanf(strings.ReplaceAll(c, "-", " "), "%d %s %d %d", &by, &reason, &from, &to); err != nil || to != from+1 || from%2 != 0 {
			t.Fatalf("kept %q", c)
		}
	}
}
