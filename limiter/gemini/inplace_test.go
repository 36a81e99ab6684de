package gemini

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

// lineGate tells callers to wait at a place until opens, and notes what it hears.
type lineGate struct {
	start    time.Time
	opens    time.Duration
	position int64
	retry    time.Duration
	asked    []limiter.Request
	at       []time.Duration
	dropped  []string
}

func (g *lineGate) Acquire(ctx context.Context, q limiter.Request) (*limiter.Permit, error) {
	since := time.Since(g.start)
	g.asked, g.at = append(g.asked, q), append(g.at, since)
	if since >= g.opens {
		return &limiter.Permit{ID: q.ID, Lane: q.Lane}, nil
	}
	return nil, &limiter.Denied{Reason: limiter.ReasonTurn, Decision: limiter.Queued, Position: g.position, RetryAfterMS: g.retry.Milliseconds()}
}

func (g *lineGate) Settle(context.Context, limiter.Settlement) error { return nil }

func (g *lineGate) Drop(_ context.Context, _ limiter.Lane, ids ...string) error {
	g.dropped = append(g.dropped, ids...)
	return nil
}

func waitAt(ctx context.Context, t *testing.T, g *lineGate, budget time.Duration) (*limiter.Permit, error) {
	t.Helper()
	g.start = time.Now()
	p, err := acquireWaiting(ctx, g, limiter.Request{ID: "c1"}, budget, func(time.Duration) error { return nil })
	synctest.Wait()
	return p, err
}

// One at the front asks every 50 ms, under the same id, and says how long it still
// waits.
func TestKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &lineGate{opens: 120 * time.Millisecond, position: 1, retry: 10 * time.Second}
		p, err := waitAt(t.Context(), t, g, 300*time.Millisecond)
		if err != nil || p.ID != "c1" {
			t.Fatal(p, err)
		}
		for i, want := range []time.Duration{0, 50, 100, 150} {
			if want *= time.Millisecond; g.at[i] != want || g.asked[i].ID != "c1" || g.asked[i].Wait != 300*time.Millisecond-want {
				t.Errorf("asked at %s: %+v", g.at[i], g.asked[i])
			}
		}
		if len(g.dropped) > 0 {
			t.Errorf("gave %v back, and has a permit", g.dropped)
		}
	})
}

// Who gives up gives its place back, and is refused as one who has none.
func TestLeavesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &lineGate{opens: time.Hour, position: 3, retry: 10 * time.Second}
		_, err := waitAt(t.Context(), t, g, 300*time.Millisecond)
		var d *limiter.Denied
		if !errors.As(err, &d) || d.Position != 0 || d.Decision != limiter.RejectedLocally || d.RetryAfter() != 10*time.Second {
			t.Errorf("refused with %+v", d)
		}
		if waited := time.Since(g.start); waited != 300*time.Millisecond {
			t.Errorf("gave up after %s", waited)
		}
		if len(g.dropped) != 1 || g.dropped[0] != "c1" {
			t.Errorf("gave back %v", g.dropped)
		}
	})
}

func TestHangsUpInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &lineGate{opens: time.Hour, position: 1, retry: 10 * time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(70*time.Millisecond, cancel).Stop()
		if _, err := waitAt(ctx, t, g, 5*time.Second); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if len(g.asked) != 2 || len(g.dropped) != 1 {
			t.Errorf("asked %d times, gave back %v", len(g.asked), g.dropped)
		}
	})
}

// Without a place there is no use in asking before the limit frees, and none in
// waiting for what frees too late.
func TestNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &lineGate{opens: 200 * time.Millisecond, retry: 200 * time.Millisecond}
		if _, err := waitAt(t.Context(), t, g, 300*time.Millisecond); err != nil || len(g.asked) != 2 {
			t.Errorf("asked %d times: %v", len(g.asked), err)
		}
		late := &lineGate{opens: time.Hour, retry: time.Minute}
		if _, err := waitAt(t.Context(), t, late, 300*time.Millisecond); err == nil || len(late.asked) != 1 || len(late.dropped) > 0 {
			t.Errorf("asked %d times, gave back %v: %v", len(late.asked), late.dropped, err)
		}
	})
}

// A job that has a ticket stands in its line, and never in place.
func TestTicketKeepsItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &lineGate{opens: time.Second, position: 1, retry: 2 * time.Second, start: time.Now()}
		req := limiter.Request{ID: "c1", Ticket: "row"}
		if _, err := acquireWaiting(t.Context(), g, req, time.Second, func(time.Duration) error { return nil }); err == nil {
			t.Error("granted")
		}
		if len(g.dropped) > 0 || g.asked[0].Wait != 0 || g.asked[0].Ticket != "row" {
			t.Errorf("asked %+v, gave back %v", g.asked[0], g.dropped)
		}
	})
}
