package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"github.com/redis/go-redis/v9"
)

// watched is a project in virtual time with schedulers that watch one source.
type watched struct {
	*rig
	ctx     context.Context
	connect func() redis.UniversalClient
	source  *ill
	all     sync.WaitGroup
}

func watch(t *testing.T, f func(w *watched)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		connect := embedded(ctx, t)
		w := &watched{rig: newRig(t, connect()), ctx: ctx, connect: connect, source: &ill{}}
		defer w.all.Wait()
		defer cancel()
		enqueued(t, w.store)
		f(w)
	})
}

// start runs a scheduler; cut cuts it off from Redis as SIGKILL would, since
// nothing that it does afterwards arrives.
func (w *watched) start(owner string, change func(*Scheduler)) (cut func(), stop context.CancelFunc) {
	w.Helper()
	o := &outage{}
	rdb := w.connect()
	rdb.AddHook(o)
	own := w.as(w.T, rdb)
	s := &Scheduler{Control: own.c, Owner: owner, Digest: "d1", Monitor: &Monitor{Control: own.c, Source: w.source, Owner: owner}}
	if change != nil {
		change(s)
	}
	ctx, stop := context.WithCancel(w.ctx)
	w.all.Go(func() {
		if err := s.Run(ctx); err != nil {
			w.Error(err)
		}
	})
	return func() { o.cut(true) }, stop
}

// within waits at most d until a call of bulk starts, or no longer does.
func (w *watched) within(d time.Duration, open bool, what string) time.Duration {
	w.Helper()
	for begin := time.Now(); ; pass(250 * time.Millisecond) {
		if _, ok := w.starts("bulk", limiter.Path{}); ok == open {
			return time.Since(begin)
		}
		if time.Since(begin) > d {
			w.Fatalf("%s: not within %v", what, d)
		}
	}
}

// TestClosedWithinTenSeconds: from the crossing of a threshold on nothing
// pausable starts ten seconds later, and the queues are closed; once callers are
// well, bulk comes back little by little.
func TestClosedWithinTenSeconds(t *testing.T) {
	watch(t, func(w *watched) {
		w.start("a", nil)
		pass(30 * time.Second)
		w.wantStarts("bulk", true)
		w.source.set(slow)
		took := w.within(7*time.Second, false, "closing bulk") // the rest of the ten is for counting
		w.Logf("closed %v after the crossing", took)
		pass(time.Second)
		w.wantStarts("evaluation", false)
		w.wantStarts("interactive", true)
		if w.pauseValue(testQueue) == "" {
			w.Error("the queue is open")
		}
		pass(2 * time.Minute) // longer than a lease
		w.wantStarts("bulk", false)
		w.source.set(nil)
		w.within(40*time.Second, true, "resuming")
		ts, err := w.lim.Throttles(w.ctx)
		w.must(err)
		if len(ts) != 2 || ts[0].Reason != ReasonHealth || ts[0].SharePPM(time.Now()) > 150_000 || ts[0].ToPPM != million {
			w.Errorf("at the resume: %+v, want a ramp from a tenth for both classes", ts)
		}
		pass(time.Minute)
		if ts, err = w.lim.Throttles(w.ctx); err != nil || len(ts) != 2 || ts[0].SharePPM(time.Now()) < 500_000 || ts[0].SharePPM(time.Now()) > 600_000 {
			w.Errorf("half way: %+v, err %v, want about 55 %%", ts, err)
		}
		pass(70 * time.Second)
		if ts, err = w.lim.Throttles(w.ctx); err != nil || len(ts) != 0 || w.pauseValue(testQueue) != "" {
			w.Errorf("after the ramp: %+v, key %q, err %v", ts, w.pauseValue(testQueue), err)
		}
		if got := w.events(limiter.EventPause); len(got) != 1 || !strings.Contains(got[0], "p95") {
			w.Errorf("events of pauses: %q", got)
		}
	})
}

// TestTenRefusedCallsAMinute: ten interactive calls a minute, all refused by the
// provider: bulk is paused within 90 s.
func TestTenRefusedCallsAMinute(t *testing.T) {
	watch(t, func(w *watched) {
		w.start("a", nil)
		pass(20 * time.Second)
		began := time.Now()
		w.source.set(func(now time.Time) (out []gemini.UsageSample) {
			for at := began; !at.After(now); at = at.Add(6 * time.Second) {
				if now.Sub(at) <= time.Minute {
					s := refused("interactive", "chat", 1, 0)
					s.At = at
					out = append(out, s)
				}
			}
			return out
		})
		w.Logf("paused after %v", w.within(90*time.Second, false, "pausing bulk"))
	})
}

// TestNotCausedByBulk: a provider that is slow whatever bulk does is not a reason
// to pause for ever: one alert, then a trickle. (Ten minutes are two here.)
func TestNotCausedByBulk(t *testing.T) {
	watch(t, func(w *watched) {
		w.start("a", func(s *Scheduler) { s.Monitor.Rules.GiveUp = 2 * time.Minute })
		w.source.set(slow)
		w.within(15*time.Second, false, "pausing bulk")
		pass(90 * time.Second)
		w.wantStarts("bulk", false)
		w.within(time.Minute, true, "going on after two minutes")
		pass(5 * time.Minute)
		w.wantStarts("bulk", true)
		ts, err := w.lim.Throttles(w.ctx)
		w.must(err)
		if len(ts) != 2 || ts[0].SharePPM(time.Now()) != 20_000 {
			w.Errorf("throttles %+v, want a trickle of 2 %%", ts)
		}
		if got := w.events(limiter.EventAlert); len(got) != 1 || !strings.Contains(got[0], "not caused by bulk") {
			w.Errorf("alerts %q, want one", got)
		}
		s, err := w.c.Status(w.ctx)
		if err != nil || s.Phase != Trickle || s.Leader == nil || s.Leader.ID != "a" || len(s.View.Rows) != 2 || s.View.Rows[0].Bad == "" {
			w.Errorf("status %+v, err %v", s, err)
		}
	})
}

// TestStandbyKeepsThePause: a leader that is killed while it holds a pause is
// followed by a standby within ten seconds, and nothing starts in between.
func TestStandbyKeepsThePause(t *testing.T) {
	watch(t, func(w *watched) {
		cut, _ := w.start("a", nil)
		pass(time.Second)
		w.start("b", nil)
		w.source.set(slow)
		w.within(15*time.Second, false, "pausing bulk")
		pass(20 * time.Second)
		cut()
		killed := time.Now()
		led := time.Duration(0)
		for time.Since(killed) < time.Minute {
			w.wantStarts("bulk", false)
			members, err := w.c.Members(w.ctx)
			w.must(err)
			if l := leader(members); l != nil && l.ID == "b" && led == 0 {
				led = time.Since(killed)
			}
			pass(500 * time.Millisecond)
		}
		if led == 0 || led > 10*time.Second {
			w.Errorf("the standby leads after %v", led)
		}
		if got := w.events(limiter.EventPause); len(got) != 1 {
			w.Errorf("the standby paused anew: %q", got)
		}
		ps, err := w.lim.Pauses(w.ctx)
		if err != nil || len(ps) == 0 || ps[0].Owner != "b" {
			w.Errorf("pauses %+v, err %v, want b's", ps, err)
		}
	})
}

// TestPauseLapsesWithoutStandby: a leader that is killed while it holds a pause
// leaves everything open thirty seconds later, except what an operator paused.
func TestPauseLapsesWithoutStandby(t *testing.T) {
	watch(t, func(w *watched) {
		cut, _ := w.start("a", nil)
		pass(time.Second)
		w.source.set(slow)
		w.within(15*time.Second, false, "pausing bulk")
		w.must(w.rdb.Set(w.ctx, pausedKey("bulk-low.test.m"), "1764455000", 0).Err())
		pass(20 * time.Second)
		cut()
		w.Logf("lapsed after %v", w.within(30*time.Second, true, "lapsing"))
		pass(5 * time.Second)
		if w.pauseValue(testQueue) != "" || w.pauseValue("bulk-low.test.m") != "1764455000" {
			w.Errorf("queues: %q and the operator's %q", w.pauseValue(testQueue), w.pauseValue("bulk-low.test.m"))
		}
		s, err := w.c.Status(w.ctx)
		if err != nil || s.Leader != nil || s.Phrase() != "unwatched" || len(s.Warnings) == 0 {
			w.Errorf("status %+v, err %v, want to say that nobody watches", s, err)
		}
	})
}

// TestLeaderLeaves: one that is stopped hands over at once.
func TestLeaderLeaves(t *testing.T) {
	watch(t, func(w *watched) {
		_, stop := w.start("a", nil)
		pass(time.Second)
		w.start("b", nil)
		pass(10 * time.Second)
		stop()
		pass(5 * time.Second)
		members, err := w.c.Members(w.ctx)
		if err != nil || len(members) != 1 || members[0].ID != "b" || members[0].Fence == 0 {
			w.Errorf("members %+v, err %v, want b alone, leading", members, err)
		}
		if got := w.events(limiter.EventLease); len(got) != 2 {
			w.Errorf("events %q, want two terms", got)
		}
	})
}

// TestOverrideHoldsTheMonitor: an operator's override opens bulk for as long as it
// lasts, however ill callers are; then looks count again.
func TestOverrideHoldsTheMonitor(t *testing.T) {
	watch(t, func(w *watched) {
		w.start("a", nil)
		w.source.set(slow)
		w.within(15*time.Second, false, "pausing bulk")
		_, err := w.c.Resume(w.ctx, Target{Class: "bulk"}, ResumeRequest{By: "alice", Override: 2 * time.Minute})
		w.must(err)
		for begin := time.Now(); time.Since(begin) < 115*time.Second; pass(5 * time.Second) {
			w.wantStarts("bulk", true)
		}
		s, err := w.c.Status(w.ctx)
		if err != nil || s.Hold == nil || s.Hold.By != "alice" || s.Phrase() != "held at healthy" {
			w.Errorf("status %+v, err %v", s, err)
		}
		w.within(20*time.Second, false, "pausing again after the override")
	})
}

// TestHoldFreezes: a hold leaves a pause in force, longer than its lease, and lets
// nothing new begin; released, looks count again.
func TestHoldFreezes(t *testing.T) {
	watch(t, func(w *watched) {
		w.start("a", nil)
		_, err := w.c.HoldMonitor(w.ctx, 10*time.Minute, "alice")
		w.must(err)
		w.source.set(slow)
		pass(time.Minute)
		w.wantStarts("bulk", true)
		w.must(w.c.ReleaseMonitor(w.ctx, "alice"))
		w.within(15*time.Second, false, "pausing bulk after the release")
		_, err = w.c.HoldMonitor(w.ctx, time.Minute, "alice")
		w.must(err)
		w.source.set(nil)
		pass(55 * time.Second)
		w.wantStarts("bulk", false)
		w.within(time.Minute, true, "resuming after the hold")
		if _, err := w.c.HoldMonitor(w.ctx, 0, "alice"); err == nil {
			w.Error("a hold of nothing was taken")
		}
	})
}

// TestFencedMonitor: what an older leader decides is refused while a later one
// looks, and has no effect. One that only a failover made older goes on.
func TestFencedMonitor(t *testing.T) {
	r := newRig(t, realRedis(t))
	source := &ill{}
	m := &Monitor{Control: r.c, Source: source, Owner: "old"}
	r.must(m.Look(t.Context(), 7))
	r.must((&Monitor{Control: r.c, Source: source, Owner: "new"}).Look(t.Context(), 8))
	source.set(slow)
	for range 5 {
		if err := m.Look(t.Context(), 7); !errors.Is(err, errFenced) {
			t.Fatalf("an older leader's look: %v", err)
		}
	}
	r.wantStarts("bulk", true)
	silent := time.Now().Add(-fencedFor - time.Second).UnixMilli()
	r.must(r.rdb.HSet(t.Context(), scopeKey(testScope, "health"), "at", silent).Err())
	for range 4 {
		r.must(m.Look(t.Context(), 7))
	}
	r.wantStarts("bulk", false)
}

// TestSourceFails: while nothing is known nothing changes, and the failure is
// told once.
func TestSourceFails(t *testing.T) {
	watch(t, func(w *watched) {
		log := &logged{}
		w.start("a", func(s *Scheduler) { s.Control.Logger = log.logger() })
		pass(5 * time.Second)
		w.source.mu.Lock()
		w.source.err = errors.New("no histograms")
		w.source.mu.Unlock()
		pass(time.Minute)
		w.wantStarts("bulk", true)
		log.mu.Lock()
		defer log.mu.Unlock()
		n := 0
		for _, l := range log.lines {
			if strings.Contains(l, "no histograms") {
				n++
			}
		}
		if n != 1 {
			w.Errorf("told %d times of a source that fails", n)
		}
	})
}

// TestSchedulersDisagree: two configurations are told of, by an event and by the
// standby's own log.
func TestSchedulersDisagree(t *testing.T) {
	watch(t, func(w *watched) {
		w.start("a", nil)
		pass(time.Second)
		log := &logged{}
		w.start("b", func(s *Scheduler) { s.Digest, s.Logger = "d2", log.logger() })
		pass(30 * time.Second)
		got := w.events(limiter.EventAlert)
		if len(got) != 1 || !strings.Contains(got[0], "(d2) than") || !strings.Contains(got[0], "(d1)") {
			w.Errorf("alerts %q, want one that names both configurations", got)
		}
		if !log.has("another configuration") {
			w.Errorf("the standby logged %q", log.lines)
		}
		s, err := w.c.Status(w.ctx)
		if err != nil || len(s.Standby) != 1 || s.Standby[0].ID != "b" || !slices.ContainsFunc(s.Warnings, func(s string) bool { return strings.Contains(s, "d2") }) {
			w.Errorf("status %+v, err %v", s, err)
		}
	})
}
