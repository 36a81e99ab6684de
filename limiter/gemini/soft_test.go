package gemini

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

// TestSoftNeverOver: whatever the pattern of arrivals, no minute holds more than
// the allowance, and who keeps asking gets nearly all of it.
func TestSoftNeverOver(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		limit := 1 + rng.Int64N(30)
		g := &softGate{limit: SoftAllowance{PerMinute: limit}}
		now := meterNoon
		var times []time.Time
		for range 2000 {
			switch rng.IntN(20) {
			case 0:
				now = now.Add(time.Duration(rng.Int64N(int64(70 * time.Second))))
			case 1:
				now = now.Truncate(time.Second).Add(time.Second - 1)
			default:
				now = now.Add(time.Duration(rng.Int64N(int64(400 * time.Millisecond))))
			}
			n := 1 + rng.Int64N(2)
			id, wait := g.take(n, now)
			if wait > 0 {
				checkWait(t, g, n, limit, now, wait)
				continue
			}
			g.done(id)
			for range n {
				times = append(times, now)
			}
			if most := int64(len(times)); most > limit && now.Sub(times[most-limit-1]) <= time.Minute {
				t.Fatalf("seed %d: %d within %s, allowed %d a minute", seed, limit+1, now.Sub(times[most-limit-1]), limit)
			}
		}
	}
}

// checkWait: coming back when told must help, unless it can never.
func checkWait(t *testing.T, g *softGate, n, limit int64, now time.Time, wait time.Duration) {
	t.Helper()
	again := &softGate{limit: g.limit, start: g.start, second: g.second, ring: g.ring}
	if _, more := again.take(n, now.Add(wait)); more > 0 && n <= limit {
		t.Fatalf("told to come in %s, then told %s more", wait, more)
	}
}

// TestSoftGivesAll: a caller that asks every 100 ms for ten minutes gets the
// allowance in all but one second of each minute.
func TestSoftGivesAll(t *testing.T) {
	g, got := &softGate{limit: SoftAllowance{PerMinute: 30}}, 0
	for i := range 6000 {
		if _, wait := g.take(1, meterNoon.Add(time.Duration(i)*100*time.Millisecond)); wait == 0 {
			got++
		}
	}
	if got < 290 || got > 300 {
		t.Errorf("%d in ten minutes, want nearly 300", got)
	}
}

func TestSoftConcurrency(t *testing.T) {
	g := &softGate{limit: SoftAllowance{PerMinute: 100, Concurrency: 2}}
	first, _ := g.take(1, meterNoon)
	if _, wait := g.take(1, meterNoon); wait > 0 {
		t.Fatal("the second was refused")
	}
	if _, wait := g.take(1, meterNoon); wait == 0 {
		t.Fatal("three at once")
	}
	g.done(first)
	g.done(first) // once more changes nothing
	if _, wait := g.take(1, meterNoon); wait > 0 {
		t.Error("a place was given back and not found")
	}
	if _, wait := g.take(1, meterNoon); wait == 0 {
		t.Error("three at once, again")
	}
	if _, wait := g.take(1, meterNoon.Add(softLease+time.Second)); wait > 0 {
		t.Error("calls that never end hold their places for ever")
	}
}

// awayGate is a shared state that can be switched off: then it answers as
// *limiter.Redis does, or not at all.
type awayGate struct {
	fakeGate
	mu   sync.Mutex
	away bool
}

func newAwayGate() *awayGate {
	g := &awayGate{away: true}
	g.refuse = func(int, limiter.Request) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.away {
			return &limiter.Denied{Type: "quota_denied", Reason: limiter.ReasonUnavailable, RetryAfterMS: 1000, Decision: limiter.RejectedLocally}
		}
		return nil
	}
	return g
}

func (g *awayGate) back() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.away = false
}

// asked is how often a call wanted a permit.
func (g *awayGate) asked() (n int) {
	g.fakeGate.mu.Lock()
	defer g.fakeGate.mu.Unlock()
	for _, q := range g.acquired {
		if !q.Force {
			n++
		}
	}
	return n
}

// kept keeps records in memory.
type kept struct {
	mu   sync.Mutex
	list []Record
}

func (k *kept) Put(r Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, r)
}

func (k *kept) last(t *testing.T) Record {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.list) == 0 {
		t.Fatal("no record")
	}
	return k.list[len(k.list)-1]
}

func softTransport(t *testing.T, base http.RoundTripper, gate *awayGate, records *kept) *Transport {
	t.Cleanup(func() { // what is owed is offered until it is taken
		gate.back()
		pass(lateLast)
		synctest.Wait()
	})
	return newTestTransport(t, base, &gate.fakeGate, func(c *TransportConfig) {
		c.Records = records
		c.Soft = map[string]SoftAllowance{"interactive": {PerMinute: 5, Concurrency: 3}}
	})
}

func askAs(t *testing.T, tr *Transport, class string) (*Observation, error) {
	t.Helper()
	ctx, obs := Observe(WithCaller(t.Context(), Caller{Class: class, Feature: "chat"}))
	resp, err := tr.RoundTrip(post(ctx, generate, question))
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return obs, err
}

// TestSoftWhileRedisIsAway: interactive goes on by its allowance and then is
// refused clearly, bulk never goes, and all is as before when Redis is back.
func TestSoftWhileRedisIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, records := newAwayGate(), &kept{}
		tr := softTransport(t, replies(200, "application/json", good), gate, records)
		for range 5 {
			obs, err := askAs(t, tr, "interactive")
			if err != nil || !obs.Soft || obs.Permit != nil || obs.Decision != "" {
				t.Fatalf("%v, %+v", err, obs)
			}
			r := records.last(t)
			if r.Decision != SoftAdmitted || !r.Soft || !r.Sent || r.Used[limiter.InputTokens] != 8 || r.Permit != "" {
				t.Fatalf("%+v", r)
			}
		}
		obs, err := askAs(t, tr, "interactive")
		var denied *limiter.Denied
		if !errors.As(err, &denied) || denied.Reason != limiter.ReasonUnavailable || denied != obs.Denied || denied.RetryAfter() < 59*time.Second {
			t.Fatalf("%v, %+v", err, denied)
		}
		if text := err.Error(); !strings.Contains(text, "5 requests a minute and 3 at once is used up") || strings.Contains(text, "nil") {
			t.Errorf("not clear: %s", text)
		}
		if records.last(t).Decision != limiter.RejectedLocally {
			t.Errorf("%+v", records.last(t))
		}
		if obs, err = askAs(t, tr, "bulk"); err == nil || obs.Soft {
			t.Error("bulk went without a permit")
		}
		gate.back()
		pass(3 * time.Second)
		if obs, err = askAs(t, tr, "interactive"); err != nil || obs.Soft || obs.Permit == nil {
			t.Errorf("Redis is back: %v, %+v", err, obs)
		}
		pass(time.Minute)
		synctest.Wait()
	})
}

// TestSoftIsChargedLater: what the allowance let through is in the ledger once Redis is
// back, with what it used: each call once, and none that was never sent.
func TestSoftIsChargedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, sends := newAwayGate(), 0
		tr := softTransport(t, sender(func(r *http.Request) (*http.Response, error) {
			if sends++; sends == 3 {
				return nil, errBroken
			}
			return reply(200, "application/json", good), nil
		}), gate, &kept{})
		var cost int64
		for range 4 {
			obs, _ := askAs(t, tr, "interactive")
			cost += obs.Used[limiter.MicroUSD]
		}
		pass(time.Minute)
		gate.back()
		pass(lateLast)
		synctest.Wait()
		charged, once := int64(0), map[string]bool{}
		for _, s := range gate.settled {
			if s.Outcome == limiter.Released {
				continue // of a permit that was given or not
			}
			if once[s.ID] {
				t.Errorf("charged twice: %+v", s)
			}
			once[s.ID] = true
			charged += s.Used[limiter.MicroUSD]
		}
		if len(once) != 4 || charged != cost || cost == 0 {
			t.Errorf("%d calls of 4 were charged, with %d micro-dollars of %d", len(once), charged, cost)
		}
		for _, q := range gate.acquired[len(gate.acquired)-4:] {
			if !q.Force || q.Class != "interactive" || q.Feature != "chat" || q.Amounts[limiter.Requests] != 1 || !once[q.ID] {
				t.Errorf("%+v", q)
			}
		}
	})
}

// TestSoftAsksSeldom: while Redis is away only one call in three seconds tries it, so
// that the others are not held up by a connection that hangs.
func TestSoftAsksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, records := newAwayGate(), &kept{}
		tr := softTransport(t, replies(200, "application/json", good), gate, records)
		for range 100 {
			_, _ = askAs(t, tr, "interactive")
			pass(100 * time.Millisecond)
		}
		if n := gate.asked(); n < 2 || n > 4 {
			t.Errorf("asked %d times in ten seconds", n)
		}
		synctest.Wait()
	})
}

// TestSoftHeedsTheProvider: nobody can be told that the lane rests, so at least
// this process lets it rest.
func TestSoftHeedsTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, records, hits := newAwayGate(), &kept{}, 0
		tr := softTransport(t, counter(&hits, replies(429, "application/json", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"10"}]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"20s"}]}}`)), gate, records)
		if _, err := askAs(t, tr, "interactive"); err != nil {
			t.Fatal(err)
		}
		if r := records.last(t); r.Decision != limiter.AdmittedThenProviderRejected || r.Limit != "rpm" || r.QuotaValue != 10 || !r.Soft {
			t.Errorf("%+v", r)
		}
		if _, err := askAs(t, tr, "interactive"); err == nil || hits != 1 || !strings.Contains(err.Error(), "rest") {
			t.Errorf("%v after %d calls", err, hits)
		}
		pass(22 * time.Second)
		if _, err := askAs(t, tr, "interactive"); err != nil || hits != 2 {
			t.Errorf("%v after %d calls", err, hits)
		}
		synctest.Wait()
	})
}

// TestSoftNeedsACaller: one that has hung up uses nothing of the allowance.
func TestSoftNeedsACaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, hits := newAwayGate(), 0
		tr := softTransport(t, counter(&hits, replies(200, "application/json", good)), gate, &kept{})
		ctx, cancel := context.WithCancel(WithCaller(t.Context(), Caller{Class: "interactive", Feature: "chat"}))
		cancel()
		for range 10 {
			if _, err := tr.RoundTrip(post(ctx, generate, question)); err == nil || hits > 0 {
				t.Fatalf("%v, %d calls", err, hits)
			}
		}
		if obs, err := askAs(t, tr, "interactive"); err != nil || !obs.Soft {
			t.Errorf("%v, %+v", err, obs)
		}
		synctest.Wait()
	})
}

// TestSoftPlacesComeBack: a place is given back however the call ends.
func TestSoftPlacesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, records := newAwayGate(), &kept{}
		tr := softTransport(t, sender(func(*http.Request) (*http.Response, error) { return nil, errBroken }), gate, records)
		tr.SetSoft(map[string]SoftAllowance{"interactive": {PerMinute: 100, Concurrency: 1}})
		for range 3 {
			if obs, err := askAs(t, tr, "interactive"); !errors.Is(err, errBroken) || !obs.Soft {
				t.Fatalf("%v, %+v", err, obs)
			}
		}
		tr.SetSoft(nil)
		if obs, _ := askAs(t, tr, "interactive"); obs.Soft {
			t.Error("an allowance that was taken away")
		}
		synctest.Wait()
	})
}
