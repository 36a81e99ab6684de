package scheduler

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"

	"github.com/redis/go-redis/v9"
)

const modelA, modelB = "gemini-a", "gemini-b"

// openGate gives every permit, but for a model that rests: here is no quota to run out of.
type openGate struct{ rests *atomic.Value }

func (g openGate) Acquire(_ context.Context, r limiter.Request) (*limiter.Permit, error) {
	if r.Lane.Model == g.rests.Load() {
		return nil, &limiter.Denied{Node: "lane", Reason: limiter.ReasonCooldown, RetryAfterMS: 60_000}
	}
	return &limiter.Permit{ID: r.ID, Lane: r.Lane, Class: r.Class, Amounts: r.Amounts}, nil
}

func (openGate) Settle(context.Context, limiter.Settlement) error { return nil }

// answered is a call as its caller saw it.
type answered struct {
	at      time.Time
	session string
	model   string
	err     error
}

// moving is a feature in virtual time: two processes that call the simulated API
// for its callers, and the ramps that all share.
type moving struct {
	*rig
	ctx     context.Context
	connect func() redis.UniversalClient
	sim     *geminitest.Server
	x       *Ramps
	rests   atomic.Value // the model to which no call may go
	all     sync.WaitGroup

	mu    sync.Mutex
	calls []answered
}

// move runs a test with forty callers of whom one asks each 200 ms, at one process
// and the other in turn.
func move(t *testing.T, f func(m *moving)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		connect := embedded(ctx, t)
		m := &moving{rig: newRig(t, connect()), ctx: ctx, connect: connect}
		m.sim = geminitest.MustNew(geminitest.Config{Latency: geminitest.Latency{Base: 300 * time.Millisecond}})
		m.x = &Ramps{Control: m.c, Store: gemini.NewRampStore(m.rdb, testScope), Owner: "ada"}
		defer m.all.Wait()
		defer cancel()
		for i := range 2 {
			process := m.process(i)
			m.all.Go(func() { m.callers(process, i) })
		}
		f(m)
	})
}

// process is a transport with what it reads and counts, as a gateway has it.
func (m *moving) process(i int) *gemini.Transport {
	m.Helper()
	rdb := m.connect()
	lanes, err := gemini.NewLaneMap(testScope.Project, "", gemini.Model{Name: modelA}, gemini.Model{Name: modelB})
	m.must(err)
	routes, err := gemini.NewRoutes(gemini.RoutesConfig{Lanes: lanes, Source: gemini.NewRampStore(rdb, testScope)})
	m.must(err)
	meter := gemini.NewRampMeter(rdb, testScope, gemini.MeterOptions{Process: fmt.Sprint("gateway ", i)})
	m.all.Go(func() { <-m.ctx.Done(); _ = meter.Close() })
	m.all.Go(func() { routes.Watch(m.ctx) })
	tr, err := gemini.NewTransport(gemini.TransportConfig{Base: m.sim, APIKey: "key-of-the-project", Gate: openGate{&m.rests}, Lanes: lanes, Routes: routes, Records: meter})
	m.must(err)
	return tr
}

const rampCallers = 40

func (m *moving) callers(tr *gemini.Transport, first int) {
	for i := first; m.ctx.Err() == nil; i += 2 {
		session := fmt.Sprint("s", i%rampCallers)
		m.all.Go(func() { m.call(tr, session) })
		pause(m.ctx, 400*time.Millisecond)
	}
}

func (m *moving) call(tr *gemini.Transport, session string) {
	begin := time.Now()
	ctx, obs := gemini.Observe(gemini.WithCaller(m.ctx, gemini.Caller{Class: "interactive", Feature: "chat", Session: session}))
	body := []byte(`{"contents":[{"parts":[{"text":"hello"}]}]}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, gemini.DefaultBaseURL+"/v1beta/models/"+modelA+":generateContent", bytes.NewReader(body))
	m.must(err)
	resp, err := tr.RoundTrip(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, answered{begin, session, obs.Called, err})
}

// scheduler starts one; cut cuts it off from Redis as SIGKILL would.
func (m *moving) scheduler(owner string) (cut func()) {
	o := &outage{}
	rdb := m.connect()
	rdb.AddHook(o)
	own := m.as(m.T, rdb)
	s := &Scheduler{Control: own.c, Owner: owner, Ramps: &RampWatch{
		Ramps:  &Ramps{Control: own.c, Store: gemini.NewRampStore(rdb, testScope), Owner: owner},
		Source: RampMeterSource{Redis: rdb, Scope: testScope}, Rules: RampRules{Over: 10 * time.Second, Good: 3, Back: 10},
	}}
	m.all.Go(func() { _ = s.Run(m.ctx) })
	return func() { o.cut(true) }
}

func (m *moving) ramp() gemini.Ramp {
	m.Helper()
	r, err := m.x.Find(m.ctx, gemini.RampScope{Kind: "feature", Name: "chat"}, "")
	m.must(err)
	return r
}

// within waits at most so long until the ramp is as wanted.
func (m *moving) within(d time.Duration, what string, phase gemini.RampPhase, percent int64) time.Duration {
	m.Helper()
	for begin := time.Now(); ; pass(250 * time.Millisecond) {
		r := m.ramp()
		if r.Phase == phase && r.SharePPM() == percent*10_000 {
			return time.Since(begin)
		}
		if time.Since(begin) > d {
			m.Fatalf("%s: not within %s, it is %s at %s: %s", what, d, r.Phase, limiter.Share(r.SharePPM()), r.Why)
		}
	}
}

// models are those that each caller was answered by between two times.
func (m *moving) models(from, to time.Time) map[string][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string][]string{}
	for _, c := range m.calls {
		if !c.at.Before(from) && c.at.Before(to) && !slices.Contains(out[c.session], c.model) {
			out[c.session] = append(out[c.session], c.model)
		}
	}
	return out
}

// share wants every caller to keep to one model for a while, in both processes, and
// gives the part of them that are moved.
func (m *moving) share(d time.Duration) (moved, all int) {
	m.Helper()
	pass(time.Second) // until all processes have what was written last
	from := time.Now()
	pass(d)
	for session, models := range m.models(from, time.Now()) {
		if all++; len(models) != 1 {
			m.Errorf("%s was answered by %v while the share stayed", session, models)
		}
		if models[0] == modelB {
			moved++
		}
	}
	return moved, all
}

func chatToB() gemini.Ramp {
	return gemini.Ramp{Scope: gemini.RampScope{Kind: "feature", Name: "chat"}, From: modelA, To: modelB, Sticky: gemini.StickyConversation, Seed: "seed",
		Steps: []int64{250_000, 500_000, million}, Over: 90 * time.Second, Limits: gemini.RampLimits{Samples: 8}}
}

// TestRampGoesOnAndBack: a ramp goes on while the moved calls are well, also when its
// leader is killed; it stands still at 429s, errors and slow answers of the new
// model, goes back a step, goes on, and a rollback is in force within a second.
func TestRampGoesOnAndBack(t *testing.T) {
	move(t, func(m *moving) {
		kill := m.scheduler("a")
		pass(3 * time.Second)
		m.scheduler("b")
		_, err := m.x.Start(m.ctx, chatToB())
		m.must(err)
		if moved, all := m.share(10 * time.Second); all != rampCallers || moved < 3 || moved > 19 { // a quarter, ± 3 σ
			t.Errorf("at a quarter %d of %d callers are moved", moved, all)
		}
		kill()
		if took := m.within(60*time.Second, "the second step", gemini.RampMoving, 50); took < 15*time.Second {
			t.Errorf("the second step after %s: its time did not wait for the new leader", took)
		}

		m.must(m.sim.AddFaults(geminitest.Fault{Kind: geminitest.Fault429RPM, Model: modelB, Share: 0.6}))
		m.within(15*time.Second, "standing still at 429s", gemini.RampBad, 50)
		if moved, _ := m.share(10 * time.Second); moved < 10 || moved > 30 {
			t.Errorf("while it stands still %d callers are moved", moved)
		}
		m.within(45*time.Second, "going back", gemini.RampBad, 25)
		m.sim.ClearFaults()
		m.within(45*time.Second, "going on", gemini.RampMoving, 25)

		for _, kind := range []geminitest.FaultKind{geminitest.Fault500, geminitest.FaultSlow} {
			m.must(m.sim.AddFaults(geminitest.Fault{Kind: kind, Model: modelB}))
			m.within(40*time.Second, "standing still at "+string(kind), gemini.RampBad, 25)
			t.Logf("%s: %s", kind, m.ramp().Why)
			m.sim.ClearFaults()
			m.within(45*time.Second, "going on", gemini.RampMoving, 25)
		}
		m.within(150*time.Second, "the last step", gemini.RampMoving, 100)

		_, err = m.x.Rollback(m.ctx, m.ramp(), "")
		m.must(err)
		if moved, all := m.share(10 * time.Second); moved != 0 || all != rampCallers {
			t.Errorf("a second after the rollback %d of %d callers are moved", moved, all)
		}
		for _, want := range []string{"begins at 25 %", "goes from 25 % to 50 %", "stands still at 50 %", "goes on at 25 %", "is rolled back"} {
			if !slices.ContainsFunc(m.events(gemini.EventRamp), func(s string) bool { return strings.Contains(s, want) }) {
				t.Errorf("no event says %q", want)
			}
		}
		if alerts := m.events(limiter.EventAlert); len(alerts) != 1 || !strings.Contains(alerts[0], "goes back from 50 % to 25 %: ") {
			t.Errorf("alerts: %q", alerts)
		}
	})
}

// TestRampWithoutScheduler: commands work, and the share stays where it is.
func TestRampWithoutScheduler(t *testing.T) {
	move(t, func(m *moving) {
		r, err := m.x.Start(m.ctx, chatToB())
		m.must(err)
		first, _ := m.share(10 * time.Second)
		pass(40 * time.Second)
		if moved, _ := m.share(10 * time.Second); moved != first || moved == 0 || m.ramp().Step != 0 {
			t.Errorf("nobody moves it on, and %d callers became %d", first, moved)
		}
		_, err = m.x.Finish(m.ctx, r, true)
		m.must(err)
		if moved, all := m.share(10 * time.Second); moved != all {
			t.Errorf("finished, and %d of %d are moved", moved, all)
		}
	})
}

// TestRampWhoseModelRests: the old model answers meanwhile, nobody is refused, and the
// ramp stands still, goes back, and goes on when the rest is over.
func TestRampWhoseModelRests(t *testing.T) {
	move(t, func(m *moving) {
		m.scheduler("a")
		pass(3 * time.Second)
		_, err := m.x.Start(m.ctx, chatToB())
		m.must(err)
		m.within(60*time.Second, "the second step", gemini.RampMoving, 50)
		m.rests.Store(modelB)
		m.within(15*time.Second, "standing still", gemini.RampBad, 50)
		if why := m.ramp().Why; !strings.Contains(why, "refused for quota or capacity") {
			t.Errorf("why: %s", why)
		}
		if moved, all := m.share(5 * time.Second); moved != 0 || all == 0 {
			t.Errorf("%d of %d callers are answered by the model that rests", moved, all)
		}
		m.within(45*time.Second, "going back", gemini.RampBad, 25)
		m.rests.Store("")
		m.within(45*time.Second, "going on", gemini.RampMoving, 25)
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, c := range m.calls {
			if c.err != nil {
				t.Fatalf("%s was refused: %v", c.session, c.err)
			}
		}
	})
}
