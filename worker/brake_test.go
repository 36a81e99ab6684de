package worker

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// brokenFleet is three workers of which each call is answered with what breaks the
// run's schema, on a real Redis.
type brokenFleet struct {
	*rig
	s    *sayer
	gate *limiter.Redis
	run  jobs.Run
}

func newBrokenFleet(t *testing.T, rows int) *brokenFleet {
	t.Helper()
	url := realRedis(t)
	f := &brokenFleet{rig: newRig(t), s: &sayer{any: says("STOP", "no JSON at all")}}
	f.rdb = client(t, url)
	f.gate = limiter.NewRedis(f.rdb, testScope, limiter.RedisOptions{})
	configure(t, f.gate, limiter.Limits{RPM: 600_000})
	brake := Brake{Closer: f.gate, Logger: f.log.logger()}
	f.store = jobs.NewStore(f.rdb, jobs.StoreOptions{Braked: brake.Stop})
	f.run = f.enqueue(rows, spec(func(s *jobs.Spec) { s.Halt = "fail=20%/200,same=200"; s.Settings.ResponseMIMEType = "application/json" }))
	for range 3 {
		cfg := f.config()
		cfg.Redis = client(t, url)
		cfg.Store = jobs.NewStore(cfg.Redis, jobs.StoreOptions{Braked: brake.Stop})
		cfg.Gate, cfg.Client = f.gate, f.clientVia(f.s, f.gate)
		f.start(cfg)
	}
	return f
}

// TestBrakeOfAFleet: a template whose answers all break the schema has 10,000
// rows. Three workers stop after as many of them as trip the brake and the calls
// that were in flight then; the rest is untouched and one alert says why. Resumed,
// the run goes on.
func TestBrakeOfAFleet(t *testing.T) {
	const rows, trips, inFlight = 10_000, 41, 3 * 4
	f := newBrokenFleet(t, rows)
	f.until(f.run, time.Minute, "rows are looked at after the brake", func(c jobs.Counts) bool { return c[jobs.Waiting] > 500 && c[jobs.Failed] >= trips })
	c, err := f.store.Counts(t.Context(), f.run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if calls := f.s.count(); calls > trips+inFlight || c[jobs.Failed] > trips+inFlight || c.Open()+c[jobs.Failed] != rows || c[jobs.RetryWait] != 0 {
		t.Errorf("%d calls; rows are %s", calls, tally(c))
	}
	t.Logf("%d calls of %d rows; %s", f.s.count(), rows, tally(c))
	said, tripped, err := f.store.Brake(t.Context(), f.run.ID)
	if err != nil || !tripped || said.Bad != trips || said.Cause != "schema" || said.Row == "" {
		t.Errorf("tripped %v: %+v (%v)", tripped, said, err)
	}
	if n := f.alerts(); n != 1 {
		t.Errorf("%d alerts, want 1", n)
	}
	pauses, err := f.gate.Pauses(t.Context())
	if err != nil || len(pauses) != 1 || pauses[0].Reason != ReasonBrake || pauses[0].Run != f.run.ID || !strings.Contains(pauses[0].Detail, said.Row) {
		t.Fatalf("pauses %+v (%v)", pauses, err)
	}
	f.s.say(says("STOP", `{"now":"good"}`))
	if err := errors.Join(f.store.ReleaseBrake(t.Context(), f.run.ID), f.gate.Lift(t.Context(), pauses[0], ReasonBrake)); err != nil {
		t.Fatal(err)
	}
	f.until(f.run, time.Minute, "it goes on", func(c jobs.Counts) bool { return c[jobs.Done] >= 200 })
}

// alerts counts those that say that the run was stopped.
func (f *brokenFleet) alerts() (n int) {
	f.Helper()
	events, err := f.gate.Events(f.Context(), time.Time{}, 1000)
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == limiter.EventAlert && e.Subject == f.run.ID && strings.Contains(e.Text, "stopped by its brake") {
			n++
		}
	}
	return n
}

// closer is a limiter that may be away.
type closer struct {
	away          bool
	paused, noted int
}

func (c *closer) Pause(context.Context, limiter.Pause) error {
	if c.away {
		return errors.New("no answer")
	}
	c.paused++
	return nil
}

func (c *closer) Note(context.Context, limiter.Event) error { c.noted++; return nil }

// TestBrakeIsMadeUp: when the limiter cannot be told, the next end of a row tries
// again; a later one brings no second alert.
func TestBrakeIsMadeUp(t *testing.T) {
	c := &closer{away: true}
	b := Brake{Closer: c, Logger: slog.New(slog.DiscardHandler)}
	b.Stop(t.Context(), jobs.Braked{First: true})
	c.away = false
	b.Stop(t.Context(), jobs.Braked{})
	b.Stop(t.Context(), jobs.Braked{})
	if c.paused != 2 || c.noted != 0 {
		t.Errorf("%d pauses, %d alerts", c.paused, c.noted)
	}
	b.Stop(t.Context(), jobs.Braked{First: true})
	if c.noted != 1 {
		t.Errorf("%d alerts, want 1", c.noted)
	}
}

// TestRowsLongerThanTheContext are found before a call.
func TestRowsLongerThanTheContext(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		lanes, err := gemini.NewLaneMap("test", "", gemini.Model{Name: testModel, Context: 100})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := gemini.NewTransport(gemini.TransportConfig{Base: r.sim, APIKey: "test-key", Gate: r.gate, Lanes: lanes})
		if err != nil {
			t.Fatal(err)
		}
		cfg := r.config()
		if cfg.Client, err = gemini.NewClient(t.Context(), tr, ""); err != nil {
			t.Fatal(err)
		}
		run := r.enqueue(1, spec(func(s *jobs.Spec) { s.Template = "id: {{.id}} " + strings.Repeat("word ", 2000) }))
		r.start(cfg)
		r.await(run, time.Minute)
		if res := r.results(run)["r0"]; res.Status != "failed" || res.Error.Cause != "too_large" || !strings.Contains(res.Error.Message, "context") || len(r.sim.Calls()) != 0 {
			t.Errorf("%s, error %+v, %d calls", res.Status, res.Error, len(r.sim.Calls()))
		}
	})
}
