package gemini

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

// deafGate gives permits, and takes none back while it is deaf.
type deafGate struct {
	fakeGate
	mu   sync.Mutex
	deaf func(limiter.Settlement) bool
}

func (g *deafGate) Settle(ctx context.Context, s limiter.Settlement) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deaf != nil && g.deaf(s) {
		return errors.New("OOM command not allowed when used memory > 'maxmemory'")
	}
	return g.fakeGate.Settle(ctx, s)
}

func (g *deafGate) hear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deaf = nil
}

func always(limiter.Settlement) bool { return true }

func lateRig(t *testing.T, gate *deafGate) (*Transport, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return newTestTransport(t, replies(200, "application/json", good), nil, func(c *TransportConfig) {
		c.Gate, c.Logger = gate, slog.New(slog.NewTextHandler(log, nil))
	}), log
}

// TestLateSettlement: what an outage kept from being settled is settled once it is
// over: each call once, by its usage, with a line for the outage and one for its end.
func TestLateSettlement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &deafGate{deaf: always}
		tr, log := lateRig(t, gate)
		for range 30 {
			ctx, _ := callCtx(t.Context())
			if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
		}
		if len(gate.settled) > 0 {
			t.Fatal("a gate that hears nothing was told")
		}
		gate.hear()
		pass(lateLast)
		synctest.Wait()
		seen := map[string]bool{}
		for _, s := range gate.settled {
			if seen[s.ID] || s.Outcome != limiter.Settled || s.Used[limiter.InputTokens] != 8 {
				t.Errorf("%+v, twice: %v", s, seen[s.ID])
			}
			seen[s.ID] = true
		}
		if len(seen) != 30 || strings.Count(log.String(), "\n") != 2 || !strings.Contains(log.String(), "count=30") {
			t.Errorf("%d settled, log:\n%s", len(seen), log)
		}
	})
}

// TestLateSettlementEnds: an hour after the lease the limiter has forgotten the
// permit, so there is nothing to offer any more.
func TestLateSettlementEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &deafGate{deaf: always}
		tr, log := lateRig(t, gate)
		for range 5 {
			ctx, _ := callCtx(t.Context())
			if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
				t.Fatal(err)
			}
		}
		pass(lateFor + lateLast)
		synctest.Wait()
		if n := strings.Count(log.String(), "settlements lost"); n != 1 || len(tr.late.list) > 0 {
			t.Errorf("%d lines, %d kept:\n%s", n, len(tr.late.list), log)
		}
	})
}

// TestLateSettlementsGoOn when one of them is refused for itself.
func TestLateSettlementsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &deafGate{deaf: func(s limiter.Settlement) bool { return s.ID == "0" }}
		tr, _ := lateRig(t, gate)
		for i := range 10 {
			tr.late.keep(limiter.Settlement{ID: fmt.Sprint(i), Outcome: limiter.Settled}, 0, errNoAnswer)
		}
		pass(lateFirst + 2*lateFirst)
		synctest.Wait()
		if len(gate.settled) != 9 {
			t.Errorf("%d settled; want all but the bad one", len(gate.settled))
		}
		gate.hear()
		pass(lateLast)
	})
}

// TestLateSettlementsAreBounded: of too many the oldest go, and what may never
// have been given pushes out nothing.
func TestLateSettlementsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &deafGate{deaf: always}
		tr, _ := lateRig(t, gate)
		for i := range lateMost + 7 {
			tr.late.keepUnsure(limiter.Settlement{ID: fmt.Sprint("unsure", i), Outcome: limiter.Released}, 0, errNoAnswer)
			tr.late.keep(limiter.Settlement{ID: fmt.Sprint(i), Outcome: limiter.Settled}, 0, errNoAnswer)
		}
		known := 0
		tr.late.mu.Lock() // offers go on
		for _, s := range tr.late.list {
			if s.Outcome == limiter.Settled {
				known++
			}
		}
		if len(tr.late.list) != lateMost || tr.late.list[lateMost-1].ID != fmt.Sprint(lateMost+6) || known < lateMost*3/4 {
			t.Errorf("%d kept, %d of them known", len(tr.late.list), known)
		}
		tr.late.mu.Unlock()
		gate.hear()
		pass(lateLast)
	})
}

// TestUnheardGrant: a permit that was given although no answer came is given back,
// however long the shared state stays away.
func TestUnheardGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &deafGate{deaf: always}
		gate.refuse = func(int, limiter.Request) error {
			return &limiter.Denied{Reason: limiter.ReasonUnavailable, RetryAfterMS: 1000}
		}
		tr, _ := lateRig(t, gate)
		ctx, _ := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, generate, question)); err == nil {
			t.Fatal("it went out without a permit")
		}
		pass(20 * time.Second)
		gate.hear()
		pass(lateLast)
		synctest.Wait()
		if s := gate.once(t); s.Outcome != limiter.Released || s.ID != gate.acquired[0].ID {
			t.Errorf("%+v", s)
		}
	})
}
