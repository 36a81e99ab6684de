package scheduler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/limiter/gemini"
)

// fourSteps is a ramp whose steps have ten minutes each: 300 looks.
func fourSteps() gemini.Ramp {
	return gemini.Ramp{
		Scope: gemini.RampScope{Kind: "feature", Name: "chat"}, From: "gemini-a", To: "gemini-b", Sticky: gemini.StickyConversation, Seed: "s",
		Steps: []int64{50_000, 250_000, 500_000, million}, Over: 40 * time.Minute,
		Phase: gemini.RampMoving, Since: begin, Changed: begin, Started: begin, Counted: begin,
	}
}

// What a look may see: well, worse than what stays, no better there, nothing, few.
var rampSights = map[rune]gemini.RampView{
	'g': {Moved: gemini.RampFigures{Calls: 100, N: 100, P95: time.Second}, Stayed: gemini.RampFigures{Calls: 900, N: 900, P95: time.Second}},
	'b': {Moved: gemini.RampFigures{Calls: 100, Refused: 10}, Stayed: gemini.RampFigures{Calls: 900}},
	'a': {Moved: gemini.RampFigures{Calls: 100, Refused: 10}, Stayed: gemini.RampFigures{Calls: 900, Refused: 90}},
	'n': {},
}

// rampScript is a run of looks at an even pace, as script is of the monitor.
type rampScript struct {
	t      *testing.T
	rules  RampRules
	r      gemini.Ramp
	now    time.Time
	events []string
}

// looks plays "3b 2g". A look of n sees no call.
func (p *rampScript) looks(runs string) {
	p.t.Helper()
	for run := range strings.FieldsSeq(runs) {
		var n int
		var kind rune
		if _, err := fmt.Sscanf(run, "%d%c", &n, &kind); err != nil {
			p.t.Fatal(run, err)
		}
		for range n {
			p.now = p.now.Add(p.rules.orDefault().Every)
			calls := rampSights[kind].Moved.Calls / 100
			var actions []Action
			p.r, actions = p.rules.Decide(p.r, RampLook{At: p.now, View: rampSights[kind], Calls: calls, Counted: p.now})
			for _, a := range actions {
				p.events = append(p.events, a.Kind)
			}
		}
	}
}

func TestRampDecide(t *testing.T) {
	t.Parallel()
	type step struct {
		looks  string
		phase  gemini.RampPhase
		share  int64 // percent
		events string
	}
	for name, steps := range map[string][]step{
		"all goes well": {
			{"300g", gemini.RampMoving, 5, ""}, // the first look has no time behind it
			{"1g", gemini.RampMoving, 25, "ramp"},
			{"300g", gemini.RampMoving, 50, "ramp"},
			{"300g", gemini.RampMoving, 100, "ramp"},
			{"299g", gemini.RampMoving, 100, ""},
			{"1g", gemini.RampMoving, 100, "ramp"}, // ready to be finished, said once
			{"500g", gemini.RampMoving, 100, ""},
		},
		"a blip stops time, and nothing else": {
			{"200g 1b 100g", gemini.RampMoving, 5, ""},
			{"1g", gemini.RampMoving, 25, "ramp"},
		},
		"no calls: time goes on, the step waits for calls to judge by": {
			{"400n", gemini.RampMoving, 5, ""},
			{"19g", gemini.RampMoving, 5, ""},
			{"1g", gemini.RampMoving, 25, "ramp"},
		},
		"bad: it stands, goes on after good looks, and has its time still before it": {
			{"301g", gemini.RampMoving, 25, "ramp"},
			{"100g 2b", gemini.RampBad, 25, "ramp"},
			{"50b", gemini.RampBad, 25, ""},
			{"14g", gemini.RampBad, 25, ""},
			{"1g", gemini.RampMoving, 25, "ramp"},
			{"199g", gemini.RampMoving, 25, ""},
			{"1g", gemini.RampMoving, 50, "ramp"},
		},
		"bad for long: back by steps, with an alert, to the first and no further": {
			{"601g", gemini.RampMoving, 50, "ramp ramp"},
			{"61b", gemini.RampBad, 50, "ramp"},
			{"1b", gemini.RampBad, 25, "ramp alert"},
			{"59b", gemini.RampBad, 25, ""},
			{"1b", gemini.RampBad, 5, "ramp alert"},
			{"60b", gemini.RampBad, 5, "alert"}, // it is said that only a command takes it back
			{"900b", gemini.RampBad, 5, ""},
			{"15g", gemini.RampMoving, 5, "ramp"},
			{"299g", gemini.RampMoving, 5, ""}, // the step has its whole time again
			{"1g", gemini.RampMoving, 25, "ramp"},
		},
		"as bad where the calls stay: it stands, and going back would help nobody": {
			{"301g 2a", gemini.RampBad, 25, "ramp ramp"},
			{"900a", gemini.RampBad, 25, ""},
		},
	} {
		p := rampScript{t: t, r: fourSteps(), now: begin}
		for i, s := range steps {
			p.events = nil
			p.looks(s.looks)
			if got := p.r.SharePPM() / 10_000; p.r.Phase != s.phase || got != s.share || strings.Join(p.events, " ") != s.events {
				t.Errorf("%s, step %d (%s): %s at %d %%, events %v; want %s at %d, %q", name, i+1, s.looks, p.r.Phase, got, p.events, s.phase, s.share, s.events)
			}
		}
	}
}

// TestRampHeldStays: nothing that is seen moves what a person holds.
func TestRampHeldStays(t *testing.T) {
	t.Parallel()
	p := rampScript{t: t, r: fourSteps(), now: begin}
	p.looks("301g")
	p.r = enterRamp(p.r, gemini.RampHeld, p.now)
	p.r.Why = "lunch"
	p.looks("500g 500b")
	if p.r.Phase != gemini.RampHeld || p.r.Step != 1 || p.r.Why != "lunch" || len(p.events) != 1 {
		t.Errorf("%s at step %d (%s), events %v", p.r.Phase, p.r.Step, p.r.Why, p.events)
	}
	if p.r.Seen.Moved.Refused != 10 {
		t.Error("what is seen meanwhile does not show")
	}
}

// TestRampNeverJumps: whatever looks see and however long nobody looked, the share
// changes by at most a step at a time, never before a step had its good time and
// calls, and never upwards at a bad look.
func TestRampNeverJumps(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a script
		rules := RampRules{}.orDefault()
		r, now := fourSteps(), begin
		var good time.Duration // an upper bound of what the step had
		var calls int64
		for range 3000 {
			gap := rules.Every
			if rng.IntN(50) == 0 {
				gap = time.Duration(rng.IntN(int(time.Hour))) // the leader died
			}
			now = now.Add(gap)
			kind := []rune("ggggggggggbann")[rng.IntN(14)]
			if rng.IntN(100) < 30 {
				kind = 'g'
			}
			n := rampSights[kind].Moved.Calls / 50
			next, _ := rules.Decide(r, RampLook{At: now, View: rampSights[kind], Calls: n, Counted: now})
			good, calls = good+min(gap, 3*rules.Every), calls+n
			switch d := next.Step - r.Step; {
			case d < -1 || d > 1:
				t.Fatalf("seed %d: from step %d to %d", seed, r.Step, next.Step)
			case d == 1 && (kind == 'b' || kind == 'a' || good < r.StepTime() || calls < rules.Limits.Samples):
				t.Fatalf("seed %d: a step up at a look of %c after %s and %d calls", seed, kind, good, calls)
			case d != 0:
				good, calls = 0, 0
			}
			r = next
		}
		if r.Step == 0 && r.Ramped == 0 {
			t.Errorf("seed %d: it never got anywhere", seed)
		}
	}
}

func TestJudgeRamp(t *testing.T) {
	t.Parallel()
	fig := func(calls, refused, failed, degraded int64) gemini.RampFigures {
		return gemini.RampFigures{Calls: calls, Refused: refused, Failed: failed, Degraded: degraded}
	}
	timed := func(n int64, p95 time.Duration, streams int64, first time.Duration) gemini.RampFigures {
		return gemini.RampFigures{Calls: n + streams, N: n, P95: p95, Streams: streams, FirstToken: first}
	}
	none := gemini.RampFigures{}
	for _, c := range []struct {
		name          string
		moved, stayed gemini.RampFigures
		why           string // "" is good
		worse         bool
	}{
		{"nothing seen", none, none, "", false},
		{"one refusal says nothing", fig(10, 1, 0, 0), fig(100, 0, 0, 0), "", false},
		{"refusals at the limit", fig(400, 2, 0, 0), fig(400, 0, 0, 0), "", false},
		{"refusals over it", fig(399, 2, 0, 0), fig(400, 0, 0, 0), "2 of 399 moved calls are refused for quota or capacity, 0 of 400 that stay", true},
		{"as many where they stay", fig(100, 3, 0, 0), fig(100, 3, 0, 0), "3 of 100 moved calls are refused", false},
		{"few that stay say nothing", fig(100, 3, 0, 0), fig(19, 1, 0, 0), "3 of 100 moved calls are refused", true},
		{"few that stay, and as bad", fig(4, 0, 2, 0), fig(10, 0, 5, 0), "", false},
		{"few that stay, and better", fig(4, 0, 3, 0), fig(10, 0, 2, 0), "3 of 4 moved calls fail, 2 of 10 that stay", true},
		{"failures beyond those that stay", fig(100, 0, 4, 0), fig(100, 0, 2, 0), "4 of 100 moved calls fail, 2 of 100 that stay", true},
		{"failures as ever", fig(100, 0, 3, 0), fig(100, 0, 2, 0), "", false},
		{"other answers", fig(100, 0, 0, 5), fig(100, 0, 0, 1), "5 of 100 moved calls get another answer", true},
		{"worse goes before what is bad for all", fig(100, 3, 9, 0), fig(100, 3, 0, 0), "9 of 100 moved calls fail", true},
		{"over the limit, nothing to compare", timed(20, 4*time.Second, 0, 0), none, "p95 4.0 s over 3.5 s (20 moved calls)", true},
		{"too few to time", timed(19, 40*time.Second, 0, 0), none, "", false},
		{"slow for all", timed(50, 4*time.Second, 0, 0), timed(50, 4*time.Second, 0, 0), "p95 4.0 s over 3.5 s", false},
		{"half as slow again", timed(50, 1510*time.Millisecond, 0, 0), timed(50, time.Second, 0, 0), "p95 1.5 s of 50 moved calls, 1.0 s of those that stay", true},
		{"not quite", timed(50, 1500*time.Millisecond, 0, 0), timed(50, time.Second, 0, 0), "", false},
		{"a difference that nobody feels", timed(50, 50*time.Millisecond, 0, 0), timed(50, 10*time.Millisecond, 0, 0), "", false},
		{"first tokens", timed(0, 0, 30, 2*time.Second), timed(0, 0, 30, time.Second), "p95 of the first token 2.0 s of 30 moved streams", true},
		{"first tokens over the limit", timed(0, 0, 30, 4*time.Second), none, "p95 of the first token 4.0 s over 3.5 s", true},
	} {
		got := judgeRamp(DefaultRampLimits, gemini.RampView{Moved: c.moved, Stayed: c.stayed})
		if (got.why == "") != (c.why == "") || !strings.HasPrefix(got.why, c.why) || got.worse != c.worse {
			t.Errorf("%s: %q, worse %v; want %q, %v", c.name, got.why, got.worse, c.why, c.worse)
		}
	}
}

func TestRampRulesAreChecked(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]RampRules{
		"ramps.every:":       {Every: time.Minute},
		"ramps.over:":        {Over: time.Second},
		"ramps.bad:":         {Bad: -1},
		"ramps.good:":        {Good: -1},
		"ramps.back:":        {Back: 2},
		"ramps.samples:":     {Limits: gemini.RampLimits{Samples: -1}},
		"ramps.least:":       {Limits: gemini.RampLimits{Least: -1}},
		"ramps.p95:":         {Limits: gemini.RampLimits{P95: -1}},
		"ramps.first_token:": {Limits: gemini.RampLimits{FirstToken: -1}},
		"ramps.slower:":      {Limits: gemini.RampLimits{SlowerPPM: 900_000}},
		"ramps.refused:":     {Limits: gemini.RampLimits{RefusedPPM: million}},
		"ramps.failed:":      {Limits: gemini.RampLimits{FailedPPM: -1}},
		"ramps.degraded:":    {Limits: gemini.RampLimits{DegradedPPM: 2 * million}},
	} {
		if err := w.Check("ramps"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := (RampRules{}).Check("ramps"); err != nil {
		t.Error(err)
	}
	own := gemini.RampLimits{P95: time.Second}
	if got := RampLimitsOver(own, DefaultRampLimits); got.P95 != time.Second || got.SlowerPPM != DefaultRampLimits.SlowerPPM {
		t.Errorf("%+v", got)
	}
}

// TestSeeRamp: calls count once, by side, and those of before the share changed not.
func TestSeeRamp(t *testing.T) {
	t.Parallel()
	r := fourSteps()
	r.Counted = begin.Add(12 * time.Second)
	now := begin.Add(70 * time.Second)
	sample := func(side, seed string, after time.Duration, n int) gemini.UsageSample {
		s := calls(side, seed, n, time.Second)
		s.At = begin.Add(after)
		return s
	}
	l := seeRamp(r, []gemini.UsageSample{
		sample(gemini.SideMoved, "s", 0, 1),              // before what a look judges
		sample(gemini.SideMoved, "s", 10*time.Second, 2), // judged, and counted before
		sample(gemini.SideMoved, "s", 15*time.Second, 4),
		sample(gemini.SideMoved, "s", 60*time.Second, 8),
		sample(gemini.SideMoved, "s", 65*time.Second, 16), // may still grow
		sample(gemini.SideStayed, "s", 20*time.Second, 32),
		sample(gemini.SideUnfit+"tools", "s", 20*time.Second, 64),
		sample(gemini.SideMoved, "another", 20*time.Second, 128),
		sample(gemini.SideRefused+"cooldown", "s", 30*time.Second, 256), // and the old model answered
		sample(gemini.SideRefused+"spend", "s", 30*time.Second, 512),    // which is no fault of the model
	}, now, time.Minute)
	if l.Calls != 12+256+512 || !l.Counted.Equal(begin.Add(65*time.Second)) {
		t.Errorf("counted %d up to %s", l.Calls, l.Counted.Sub(begin))
	}
	if l.View.Moved.Calls != 30+256+512 || l.View.Moved.Refused != 256 || l.View.Moved.N != 30 || l.View.Stayed.Calls != 96 || !reflect.DeepEqual(l.View.Unfit, map[string]int64{"tools": 64}) {
		t.Errorf("seen %+v", l.View)
	}
}

// TestRampCommands: each does what it says where it may, keeps an event, and says
// what is wrong where it may not.
func TestRampCommands(t *testing.T) {
	r := newRig(t, realRedis(t))
	x := &Ramps{Control: r.c, Store: gemini.NewRampStore(r.rdb, testScope), Owner: "ada"}
	got, err := x.Start(t.Context(), fourSteps())
	r.must(err)
	refused := func(what string, err error, phase gemini.RampPhase) {
		t.Helper()
		var wrong *RampPhaseError
		if !errors.As(err, &wrong) || wrong.Ramp.Phase != phase {
			t.Errorf("%s: %v, want it to be refused as %s", what, err, phase)
		}
	}
	is := func(what string, err error, phase gemini.RampPhase, share int64) {
		t.Helper()
		r.must(err)
		all, err := x.Store.Ramps(t.Context())
		r.must(err)
		if len(all) != 1 || all[0].Phase != phase || all[0].SharePPM() != share {
			t.Fatalf("%s: %+v", what, all)
		}
	}
	_, err = x.Start(t.Context(), fourSteps())
	refused("another one", err, gemini.RampMoving)
	_, err = x.Resume(t.Context(), got)
	refused("resuming what moves", err, gemini.RampMoving)
	refused("forgetting it", x.Forget(t.Context(), got), gemini.RampMoving)
	_, err = x.Finish(t.Context(), got, false)
	refused("finishing at the first step", err, gemini.RampMoving)
	_, err = x.Hold(t.Context(), got, "lunch")
	is("held", err, gemini.RampHeld, 50_000)
	_, err = x.Resume(t.Context(), got)
	is("resumed", err, gemini.RampMoving, 50_000)
	_, err = x.Finish(t.Context(), got, true)
	is("finished", err, gemini.RampFinished, million)
	_, err = x.Hold(t.Context(), got, "")
	refused("holding what is finished", err, gemini.RampFinished)
	_, err = x.Start(t.Context(), fourSteps())
	refused("another one over it", err, gemini.RampFinished)
	_, err = x.Rollback(t.Context(), got, "worse answers")
	is("rolled back", err, gemini.RampRolledBack, 0)
	_, err = x.Rollback(t.Context(), got, "")
	refused("again", err, gemini.RampRolledBack)
	_, err = x.Start(t.Context(), fourSteps())
	is("started anew", err, gemini.RampMoving, 50_000)
	if found, err := x.Find(t.Context(), got.Scope, ""); err != nil || found.Name() != got.Name() {
		t.Errorf("found %+v, %v", found, err)
	}
	var none *NoRampError
	if _, err := x.Find(t.Context(), gemini.RampScope{Kind: "tenant", Name: "x"}, ""); !errors.As(err, &none) || len(none.Known) != 1 {
		t.Errorf("found nothing: %v", err)
	}
	got, err = x.Rollback(t.Context(), got, "")
	r.must(err)
	r.must(x.Forget(t.Context(), got))
	if texts := r.events(gemini.EventRamp); len(texts) != 8 || !slices.ContainsFunc(texts, func(s string) bool { return strings.HasSuffix(s, "is held at 5 % (lunch)") }) {
		t.Errorf("events: %q", texts)
	}
}

// TestResumeBeginsTheStepAnew: a bad ramp whose step had its time and calls does not go
// on to the next one at its first look after a person resumed it.
func TestResumeBeginsTheStepAnew(t *testing.T) {
	r := newRig(t, realRedis(t))
	x := &Ramps{Control: r.c, Store: gemini.NewRampStore(r.rdb, testScope), Owner: "ada"}
	bad := fourSteps()
	_, err := x.Start(t.Context(), bad)
	r.must(err)
	bad, err = x.Store.Change(t.Context(), bad.Scope, bad.From, func(r *gemini.Ramp) error {
		r.Phase, r.Ramped, r.Moved = gemini.RampBad, r.StepTime(), 500
		return nil
	})
	r.must(err)
	got, err := x.Resume(t.Context(), bad)
	r.must(err)
	if got.Ramped != 0 || got.Moved != 0 || got.Counted.IsZero() || !got.Changed.Equal(bad.Changed) {
		t.Errorf("resumed: %+v", got)
	}
	at := got.Looked.Add(2 * time.Second)
	if next, acts := (RampRules{}).Decide(got, RampLook{At: at, View: rampSights['g'], Calls: 100, Counted: at}); next.Step != got.Step || len(acts) > 0 {
		t.Errorf("it goes to step %d at once: %v", next.Step+1, acts)
	}
}
