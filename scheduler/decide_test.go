package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

var begin = time.Date(2026, 11, 30, 7, 42, 0, 0, time.UTC)

// paced are rules with round numbers: a ramp is 60 looks, a pause that does not
// help 300.
var paced = Rules{Every: 2 * time.Second, Good: 15}

// script is a run of looks at an even pace.
type script struct {
	t      *testing.T
	rules  Rules
	s      State
	now    time.Time
	hold   Hold
	events []string
}

// looks plays "3b 2g": three bad looks, then two good ones.
func (p *script) looks(runs string) {
	p.t.Helper()
	for run := range strings.FieldsSeq(runs) {
		var n int
		var kind rune
		if _, err := fmt.Sscanf(run, "%d%c", &n, &kind); err != nil {
			p.t.Fatal(run, err)
		}
		for range n {
			p.now = p.now.Add(p.rules.orDefault().Every)
			var actions []Action
			p.s, actions = p.rules.Decide(p.s, Look{At: p.now, Bad: kind == 'b', Why: "slow", Hold: p.hold})
			for _, a := range actions {
				p.events = append(p.events, a.Kind)
			}
		}
	}
}

// TestDecide: what looks lead to, step by step, with the events that tell of it.
func TestDecide(t *testing.T) {
	type step struct {
		looks string
		phase Phase
		since string // events of this step
	}
	for name, steps := range map[string][]step{
		"a blip is no reason": {
			{"5g 1b 1g 1b 5g", Healthy, ""},
		},
		"yield, then pause": {
			{"1b", Healthy, ""}, {"1b", Yield, "throttle"}, {"1b", Yield, ""}, {"1b", Paused, "pause"}, {"20b", Paused, ""},
		},
		"yielding is enough": {
			{"2b", Yield, "throttle"}, {"1b 14g 1b 14g", Yield, ""}, {"1g", Ramping, "resume"}, {"59g", Ramping, ""}, {"1g", Healthy, "health"},
		},
		"good looks must be in a row": {
			{"4b", Paused, "throttle pause"}, {"14g 1b 14g", Paused, ""}, {"1g", Ramping, "resume"},
		},
		"a ramp stands still at a bad look": {
			{"4b 15g", Ramping, "throttle pause resume"}, {"30g 1b 1g 1b 28g", Ramping, ""}, {"1g", Healthy, "health"},
		},
		"a ramp falls back to the pause": {
			{"4b 15g 10g", Ramping, "throttle pause resume"}, {"2b", Paused, "pause"}, {"15g 60g", Healthy, "resume health"},
		},
		"a ramp out of a yield falls back to the yield": {
			{"2b 15g", Ramping, "throttle resume"}, {"2b", Yield, "throttle"}, {"2b", Paused, "pause"},
		},
		"not caused by bulk": {
			{"4b", Paused, "throttle pause"}, {"299b", Paused, ""}, {"1b", Trickle, "alert"}, {"2000b", Trickle, ""},
			{"15g 10g", Ramping, "resume"}, {"2b", Trickle, "throttle"}, {"500b", Trickle, ""}, // no pause before they were well
			{"15g 60g", Healthy, "resume health"}, {"4b", Paused, "throttle pause"},
		},
		"getting better is waited for": {
			{"4b 295b 14g", Paused, "throttle pause"}, {"1g", Ramping, "resume"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &script{t: t, rules: paced, now: begin}
			for i, s := range steps {
				p.events = nil
				p.looks(s.looks)
				if got := strings.Join(p.events, " "); p.s.Phase != s.phase || got != s.since {
					t.Fatalf("step %d, %s: phase %s with events %q, want %s with %q", i, s.looks, p.s.Phase, got, s.phase, s.since)
				}
			}
		})
	}
}

// TestDecideInTime: with the default rules the pause comes at most six seconds
// after a threshold is crossed, which leaves four of the ten for counting.
func TestDecideInTime(t *testing.T) {
	p := &script{t: t, now: begin}
	p.looks("1g")
	crossed := p.now // just after a good look: the worst moment
	for p.s.Phase != Paused {
		p.looks("1b")
	}
	if took := p.now.Sub(crossed); took > 6*time.Second {
		t.Errorf("the pause comes up to %v after the crossing", took)
	}
}

// TestDecideHeld: a hold leaves what is in force as it is; an override opens all,
// and afterwards looks count from nothing.
func TestDecideHeld(t *testing.T) {
	p := &script{t: t, rules: paced, now: begin}
	p.looks("4b")
	p.hold = Hold{Until: p.now.Add(10 * time.Second), By: "alice"}
	if p.looks("5g"); p.s.Phase != Paused {
		t.Errorf("held: phase %s, want the pause to stay", p.s.Phase)
	}
	p.events, p.hold = nil, Hold{Until: p.now.Add(20 * time.Second), By: "alice", Open: true}
	if p.looks("9b"); p.s.Phase != Healthy || strings.Join(p.events, " ") != "resume" {
		t.Errorf("overruled: phase %s, events %v, want healthy by one resume", p.s.Phase, p.events)
	}
	p.looks("1b") // the moment the hold ends
	if p.looks("1b"); p.s.Phase != Yield {
		t.Errorf("after the override: phase %s after two bad looks, want yield", p.s.Phase)
	}
}

// TestDecideAfterGap: what no leader renewed has lapsed, and is not taken for a
// pause that did not help.
func TestDecideAfterGap(t *testing.T) {
	p := &script{t: t, rules: paced, now: begin}
	p.looks("4b")
	p.now = p.now.Add(20 * time.Second)
	if p.looks("1b"); p.s.Phase != Paused {
		t.Errorf("after 20 s without a leader: phase %s, want the pause to go on", p.s.Phase)
	}
	p.now = p.now.Add(20 * time.Minute)
	if p.looks("1b"); p.s.Phase != Healthy {
		t.Errorf("after 20 min without a leader: phase %s, want to begin anew", p.s.Phase)
	}
}

// TestWants: what each phase leaves to a class with and one without a guarantee.
func TestWants(t *testing.T) {
	plain, granted := limiter.Class{Name: "bulk"}, limiter.Class{Name: "evaluation", GuaranteePPM: 250_000}
	at := begin.Add(30 * time.Second)
	for _, c := range []struct {
		state          State
		plain, granted want
	}{
		{State{Phase: Healthy}, want{}, want{}},
		{State{Phase: Yield}, want{share: share{to: 100_000}}, want{share: share{to: 250_000}}},
		{State{Phase: Paused}, want{closed: true}, want{closed: true}},
		{State{Phase: Trickle}, want{share: share{to: 20_000}}, want{share: share{to: 20_000}}},
		{State{Phase: Ramping, Looked: at, Ramped: 30 * time.Second},
			want{share: share{from: 100_000, to: million, begin: begin, end: begin.Add(2 * time.Minute)}},
			want{share: share{from: 250_000, to: million, begin: begin, end: begin.Add(2 * time.Minute)}}},
		{State{Phase: Ramping, Looked: at, Ramped: 30 * time.Second, Bad: 1}, // stands still at a quarter of the way
			want{share: share{to: 325_000}}, want{share: share{to: 437_500}}},
	} {
		if got := c.state.wants(Rules{}, plain); got != c.plain {
			t.Errorf("%s, bad %d: %+v, want %+v", c.state.Phase, c.state.Bad, got, c.plain)
		}
		if got := c.state.wants(Rules{}, granted); got != c.granted {
			t.Errorf("%s, bad %d, with a guarantee: %+v, want %+v", c.state.Phase, c.state.Bad, got, c.granted)
		}
	}
}

// TestRulesProblems: each is named by its field.
func TestRulesProblems(t *testing.T) {
	classes := []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true}}
	zero := func(f func(*Thresholds)) Watch {
		w := Watch{Thresholds: DefaultThresholds}
		f(&w.Thresholds)
		return w
	}
	for _, c := range []struct {
		watch Watch
		rules Rules
		field string
	}{
		{watch: zero(func(t *Thresholds) { t.P95 = 0 }), field: "health.p95"},
		{watch: zero(func(t *Thresholds) { t.FirstToken = 0 }), field: "health.first_token"},
		{watch: zero(func(t *Thresholds) { t.Samples = 0 }), field: "health.samples"},
		{watch: zero(func(t *Thresholds) { t.RefusedRatio = 0 }), field: "health.refused_ratio"},
		{watch: zero(func(t *Thresholds) { t.RefusedRatio = 1 }), field: "health.refused_ratio"},
		{watch: zero(func(t *Thresholds) { t.Refusals = 0 }), field: "health.refusals"},
		{watch: Watch{Features: map[string]Thresholds{"chat": {P95: time.Second}}}, field: "health.features.chat.first_token"},
		{watch: Watch{Classes: []string{"chat"}}, field: "health.classes"},
		{watch: Watch{Classes: []string{"bulk"}}, field: "health.classes"},
		{rules: Rules{Every: time.Minute}, field: "health.every"},
		{rules: Rules{Every: -time.Second}, field: "health.every"},
		{rules: Rules{Bad: -1}, field: "health.bad"},
		{rules: Rules{Good: -1}, field: "health.good"},
		{rules: Rules{GiveUp: 30 * time.Second}, field: "health.give_up"},
		{rules: Rules{RampPPM: 2 * million}, field: "health.ramp_from"},
		{rules: Rules{TricklePPM: -1}, field: "health.trickle"},
	} {
		m := &Monitor{Control: &Control{Classes: classes}, Watch: c.watch, Rules: c.rules}
		var e *ConfigError
		if err := m.Check(); !errors.As(err, &e) || e.Field != c.field {
			t.Errorf("%+v %+v: %v, want %s to be named", c.watch, c.rules, err, c.field)
		}
	}
	if err := (&Monitor{Control: &Control{Classes: classes}}).Check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
