package gemini

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

// chatRamp moves feature chat from the old model to the new one.
func chatRamp(change ...func(*Ramp)) Ramp {
	r := Ramp{
		Scope: RampScope{"feature", "chat"}, From: oldModel, To: newModel, Sticky: StickyConversation, Seed: "seed-1",
		Steps: []int64{50_000, 250_000, 500_000, ppmWhole}, Over: 2 * time.Hour, Phase: RampMoving,
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func whole1(r *Ramp) { r.Step, r.Before = 3, ppmWhole }

func session(name string) func(*Caller) { return func(c *Caller) { c.Session = name } }

// said is a conversation of so many turns that began with a text.
func said(first string, turns int) string {
	contents := []string{`{"role":"user","parts":[{"text":"` + first + `"}]}`}
	for i := range turns {
		contents = append(contents, fmt.Sprintf(`{"role":"model","parts":[{"text":"answer %d"}]},{"role":"user","parts":[{"text":"and %d?"}]}`, i, i))
	}
	return `{"contents":[` + strings.Join(contents, ",") + `]}`
}

// TestShareIsExact: of 20,000 callers each share is moved, within four standard
// deviations of a binomial draw, and whom a step moves the next one moves too.
func TestShareIsExact(t *testing.T) {
	const callers = 20_000
	for _, seed := range []string{"seed-1", "seed-2"} {
		r := chatRamp(func(r *Ramp) { r.Seed, r.Steps = seed, []int64{10_000, 50_000, 250_000, 500_000, ppmWhole} })
		moved := map[string]bool{}
		for step, share := range r.Steps {
			r.Step, r.Before = step, share
			n := 0
			for i := range callers {
				who := fmt.Sprintf("s%d", i)
				in := r.takes(chatting(session(who)), nil, time.Time{})
				if moved[who] && !in {
					t.Fatalf("step %d takes %s back", step, who)
				}
				if moved[who] = in; in {
					n++
				}
			}
			p := float64(share) / ppmWhole
			if off := math.Abs(float64(n) - p*callers); off > 4*math.Sqrt(p*(1-p)*callers) {
				t.Errorf("seed %s, share %v: %d of %d are moved", seed, p, n, callers)
			}
		}
	}
}

// TestSeedsDiffer: two ramps do not begin with the same callers.
func TestSeedsDiffer(t *testing.T) {
	a, b := chatRamp(func(r *Ramp) { r.Step = 2 }), chatRamp(func(r *Ramp) { r.Step, r.Seed = 2, "seed-2" })
	both := 0
	for i := range 2000 {
		c := chatting(session(fmt.Sprint(i)))
		if a.takes(c, nil, time.Time{}) && b.takes(c, nil, time.Time{}) {
			both++
		}
	}
	if both < 400 || both > 600 {
		t.Errorf("half and half have %d of 2000 in common, want some 500", both)
	}
}

// TestConversationStays: the turns of a conversation have one place, others'
// conversations and other keys have others.
func TestConversationStays(t *testing.T) {
	r := chatRamp()
	at := func(c Caller, body string) int64 { return r.position(r.who(c, []byte(body))) }
	traced := func(c Caller) Caller {
		c.TraceID = fmt.Sprint(rand.Uint64()) //nolint:gosec // any other one
		return c
	}
	first := at(traced(chatting()), said("my invoice", 0))
	for turns := range 5 {
		if got := at(traced(chatting()), said("my invoice", turns)); got != first {
			t.Errorf("turn %d stands at %d, the first one at %d", turns, got, first)
		}
	}
	seen := map[int64]bool{first: true}
	for what, got := range map[string]int64{
		"another opening":  at(chatting(), said("my order", 0)),
		"another key":      at(chatting(func(c *Caller) { c.Path.Key = "k_2" }), said("my invoice", 0)),
		"a session":        at(chatting(session("a")), said("my invoice", 0)),
		"another session":  at(chatting(session("b")), said("my invoice", 0)),
		"a single content": at(chatting(), `{"contents":{"parts":[{"text":"other"}]}}`),
		"a picture":        at(chatting(), `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}]}`),
		"no content":       at(traced(chatting()), `{}`),
	} {
		if seen[got] {
			t.Errorf("%s stands where another one does", what)
		}
		seen[got] = true
	}
	if at(chatting(session("a")), said("one", 0)) != at(chatting(session("a")), said("two", 3)) {
		t.Error("a session does not keep together")
	}
}

// TestSticky: by key all calls of a key keep together, by call none do.
func TestSticky(t *testing.T) {
	r := chatRamp(func(r *Ramp) { r.Sticky = StickyKey })
	if r.who(chatting(session("a")), []byte(said("x", 0))) != r.who(chatting(session("b")), []byte(said("y", 0))) {
		t.Error("a key's calls do not keep together")
	}
	r.Sticky = StickyCall
	one, two := chatting(func(c *Caller) { c.TraceID = "1" }), chatting(func(c *Caller) { c.TraceID = "2" })
	if r.who(one, []byte(said("x", 0))) == r.who(two, []byte(said("x", 0))) {
		t.Error("calls keep together")
	}
}

// TestLoopOfFunctions: whom a step moves ends a loop of function calls where it
// began; a command or a step back is for everybody at once.
func TestLoopOfFunctions(t *testing.T) {
	loop := []byte(`{"contents":[{"parts":[{"text":"x"}]},{"parts":[{"functionCall":{"name":"f"}}]},{"parts":[{"functionResponse":{"name":"f"}}]}]}`)
	at := time.Unix(1_790_000_000, 0)
	r := chatRamp(func(r *Ramp) { r.Step, r.Before, r.Changed = 3, 0, at })
	for what, c := range map[string]struct {
		body  []byte
		after time.Duration
		want  bool
	}{
		"in the loop":       {loop, time.Minute, false},
		"long after":        {loop, loopTime, true},
		"no loop":           {[]byte(question), time.Minute, true},
		"with no text even": {[]byte(`{}`), time.Minute, true},
	} {
		if got := r.takes(chatting(), c.body, at.Add(c.after)); got != c.want {
			t.Errorf("%s: moved %v, want %v", what, got, c.want)
		}
	}
	r.Phase, r.Before = RampRolledBack, 0
	if r.takes(chatting(), loop, at) {
		t.Error("a ramp that is rolled back moves a loop")
	}
}

// TestMoved: a moved call is one of the other model in all respects.
func TestMoved(t *testing.T) {
	r := newRoutesRig(t, RoutesConfig{})
	r.ramps(chatRamp(whole1))
	called, rec, obs := r.call(chatting(), "/v1beta/models/gemini-flash-latest:streamGenerateContent?alt=sse", question)
	if called != "/v1beta/models/"+newModel+":streamGenerateContent" {
		t.Errorf("called %s", called)
	}
	if got := r.gate.acquired[0].Lane.Model; got != newModel {
		t.Errorf("the permit is of lane %s", got)
	}
	if rec.Asked != "gemini-flash-latest" || rec.Called != newModel || rec.Ramp != "feature/chat" || rec.RampSide != SideMoved || rec.rampSeed != "seed-1" {
		t.Errorf("record: %+v", rec)
	}
	price, _ := EmbeddedPrices().Quote(newModel, obs.Usage.Prompt, "", r.now)
	if want := price.pico(obs.Usage); obs.PicoUSD != want || want == 0 {
		t.Errorf("cost %d, at the new model's price %d", obs.PicoUSD, want)
	}
}

// TestWhoIsMoved: those of the scope whose call can be moved, and nobody else.
func TestWhoIsMoved(t *testing.T) {
	r := newRoutesRig(t, RoutesConfig{Aliases: map[string]string{"chat-model": oldModel}})
	r.ramps(chatRamp(whole1))
	r.goes("the feature", chatting(), question, newModel, SideMoved)
	r.goes("another feature", chatting(func(c *Caller) { c.Feature = "search" }), question, oldModel, "")
	r.goes("a row", chatting(func(c *Caller) { c.Run = "r1" }), question, oldModel, "")
	r.goes("what holds a ticket", chatting(func(c *Caller) { c.Ticket = "t1" }), question, oldModel, "")
	if called, rec, _ := r.call(chatting(), "/v1beta/models/gemini-2.5-flash:countTokens", question); !strings.Contains(called, oldModel) || rec.Ramp != "" {
		t.Errorf("tokens are counted by %s", called)
	}
	r.ramps(chatRamp(whole1, func(r *Ramp) { r.From = "gemini-embedding-001" }))
	if called, _, _ := r.call(chatting(), "/v1beta/models/gemini-embedding-001:embedContent", `{"content":{"parts":[{"text":"x"}]}}`); !strings.Contains(called, "embedding") {
		t.Errorf("a vector comes from %s", called)
	}
	for _, scope := range []RampScope{{"tenant", "acme"}, {"team", "web"}, {"key", "k_1"}} {
		r.ramps(chatRamp(whole1, func(r *Ramp) { r.Scope = scope }))
		r.goes(scope.String(), chatting(), question, newModel, SideMoved)
		r.goes("not "+scope.String(), chatting(func(c *Caller) { c.Path = limiter.Path{Tenant: "b", Team: "b", Key: "b"} }), question, oldModel, "")
	}
	r.ramps(chatRamp(whole1, func(r *Ramp) { r.Scope = RampScope{"route", "chat-model"} }))
	r.goes("who names the model", chatting(), question, oldModel, "")
	if called, rec, _ := r.call(chatting(), "/v1beta/models/chat-model:generateContent", question); !strings.Contains(called, newModel) || rec.Asked != "chat-model" {
		t.Errorf("who names the alias gets %s, record %q", called, rec.Asked)
	}
}

// TestNarrowestDecides: alone, also when it leaves the call where it is.
func TestNarrowestDecides(t *testing.T) {
	r := newRoutesRig(t, RoutesConfig{Moves: []Move{{RampScope{"feature", "chat"}, oldModel, lite}}})
	r.goes("the configuration", chatting(), question, lite, "")
	tenant := chatRamp(whole1, func(r *Ramp) { r.Scope = RampScope{"tenant", "acme"} })
	r.ramps(tenant, chatRamp(whole1))
	r.goes("tenant before feature", chatting(), question, newModel, SideMoved)
	tenant.Steps, tenant.Step, tenant.Before = []int64{1, ppmWhole}, 0, 1
	r.ramps(tenant)
	r.goes("the tenant's ramp leaves it", chatting(), question, oldModel, SideStayed)
	tenant.Phase = RampRolledBack
	r.ramps(tenant)
	r.goes("one that is rolled back decides nothing", chatting(), question, lite, "")
}

// TestChain: what a finished ramp moved the next one may move on, and no circle turns.
func TestChain(t *testing.T) {
	r := newRoutesRig(t, RoutesConfig{})
	done := chatRamp(func(r *Ramp) { r.Phase = RampFinished })
	r.ramps(done)
	r.goes("finished", chatting(), question, newModel, "")
	next := chatRamp(whole1, func(r *Ramp) { r.From, r.To, r.Seed = newModel, lite, "seed-2" })
	r.ramps(done, next)
	r.goes("moved on", chatting(), question, lite, SideMoved)
	next.To = oldModel
	r.ramps(done, next)
	if called, _, _ := r.call(chatting(), generate, question); !strings.Contains(called, "flash") {
		t.Errorf("a circle calls %s", called)
	}
}

// TestWhatDoesNotFitStays: what the other model does not take, by what is declared
// of the pair, by its context and by its limits.
func TestWhatDoesNotFitStays(t *testing.T) {
	tools, schema := `{"contents":[{"parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[]}]}`,
		`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseSchema":{"type":"STRING"}}}`
	long := `{"contents":[{"parts":[{"text":"` + strings.Repeat("many words ", 20_000) + `"}]}]}`
	cached := `{"contents":[{"parts":[{"text":"x"}]}],"cachedContent":"cachedContents/1"}`
	budget := int64(0)
	pair := ModelPair{From: oldModel, To: newModel, Residency: true, ThinkingBudget: &budget, Drop: []string{"logprobs"}}

	r := newRoutesRig(t, RoutesConfig{})
	r.ramps(chatRamp(whole1))
	r.goes("tools, without a pair", chatting(), tools, newModel, SideMoved)
	r.goes("cached contents", chatting(), cached, oldModel, SideUnfit+"cached")
	r.goes("longer than the context", chatting(), long, oldModel, SideUnfit+"context")
	r.gate.refuse = func(_ int, q limiter.Request) error {
		if q.Lane.Model == newModel {
			return &limiter.Denied{Reason: limiter.ReasonTooLarge, Permanent: true}
		}
		return nil
	}
	r.goes("larger than its limit", chatting(), question, oldModel, SideUnfit+"context")
	r.gate.refuse = nil
	r.ramps(chatRamp(whole1, func(r *Ramp) { r.To = "gemini-9" }))
	r.goes("a model without limits here", chatting(), question, oldModel, SideUnfit+"model")

	r = newRoutesRig(t, RoutesConfig{Pairs: []ModelPair{pair}})
	r.ramps(chatRamp(whole1))
	r.goes("tools", chatting(), tools, oldModel, SideUnfit+"tools")
	r.goes("a schema", chatting(), schema, oldModel, SideUnfit+"schema")
	signed := `{"contents":[{"parts":[{"text":"x","thoughtSignature":"c2ln"}]}],"generationConfig":{"logprobs":3,"thinkingConfig":{"thinkingLevel":"LOW"}}}`
	r.goes("what the pair changes", chatting(), signed, newModel, SideMoved)
	if got := r.sent[len(r.sent)-1]; strings.Contains(got, "logprobs") || !strings.Contains(got, `"thinkingBudget":0`) || !strings.Contains(got, "thoughtSignature") {
		t.Errorf("sent %s", got)
	}
}

// TestRefusedThere: a moved call that finds no room at the other model is made at the
// old one, and its record says so: the ramp has to see it. What is not about the model
// is refused as ever, and so is what a finished ramp moved.
func TestRefusedThere(t *testing.T) {
	lane := &limiter.Denied{Node: "lane", Reason: limiter.ReasonQuota, RetryAfterMS: 1000}
	for what, c := range map[string]struct {
		denied *limiter.Denied
		phase  RampPhase
		side   string // "" when it is refused
	}{
		"no quota":          {lane, RampMoving, SideRefused + "quota"},
		"at rest":           {&limiter.Denied{Reason: limiter.ReasonCooldown, RetryAfterMS: 60_000}, RampBad, SideRefused + "cooldown"},
		"breaker":           {&limiter.Denied{Reason: limiter.ReasonBreaker, RetryAfterMS: 60_000}, RampHeld, SideRefused + "breaker"},
		"the tenant's own":  {&limiter.Denied{Node: "tenant/acme", Reason: limiter.ReasonQuota, RetryAfterMS: 1000}, RampMoving, ""},
		"paused":            {&limiter.Denied{Reason: limiter.ReasonPaused, RetryAfterMS: 1000}, RampMoving, ""},
		"finished for good": {lane, RampFinished, ""},
	} {
		r := newRoutesRig(t, RoutesConfig{})
		r.ramps(chatRamp(whole1, func(r *Ramp) { r.Phase = c.phase }))
		r.gate.refuse = func(_ int, q limiter.Request) error {
			if q.Lane.Model != newModel {
				return nil
			}
			d := *c.denied
			return &d
		}
		if c.side != "" {
			r.goes(what, chatting(), question, oldModel, c.side)
			continue
		}
		ctx, _ := Observe(WithCaller(t.Context(), chatting()))
		_, err := r.tr.RoundTrip(post(ctx, generate, question))
		var d *limiter.Denied
		if !errors.As(err, &d) || len(r.paths) > 0 {
			t.Fatalf("%s: err %v, called %v", what, err, r.paths)
		}
		if rec := r.records.all()[0]; rec.Refusal != c.denied.Reason || !strings.HasSuffix(rec.Lane, newModel) {
			t.Errorf("%s: record %+v", what, rec)
		}
	}
}

// TestRefusedThereWaitsOnce: what a call waited for the other model is part of the
// time for which it may wait.
func TestRefusedThereWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoutesRig(t, RoutesConfig{})
		r.ramps(chatRamp(whole1))
		r.gate.refuse = func(int, limiter.Request) error {
			return &limiter.Denied{Node: "lane", Reason: limiter.ReasonQuota, RetryAfterMS: 1000}
		}
		begin := time.Now()
		ctx, _ := Observe(WithCaller(t.Context(), chatting(func(c *Caller) { c.MaxWait = 4500 * time.Millisecond })))
		_, err := r.tr.RoundTrip(post(ctx, generate, question))
		var d *limiter.Denied
		if took := time.Since(begin); !errors.As(err, &d) || took > 4500*time.Millisecond || took < 3*time.Second {
			t.Errorf("waited %s: %v", took, err)
		}
		if rec := r.records.all()[0]; rec.RampSide != SideRefused+"quota" || !strings.HasSuffix(rec.Lane, oldModel) {
			t.Errorf("record %+v", rec)
		}
	})
}

// TestWatch: what changes is in force within a second, and an outage changes nothing.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoutesRig(t, RoutesConfig{})
		go r.routes.Watch(t.Context())
		set := func(err error, list ...Ramp) {
			r.source.mu.Lock()
			r.source.ramps, r.source.err = list, err
			r.source.mu.Unlock()
			pass(time.Second)
		}
		set(nil, chatRamp(whole1))
		r.goes("started", chatting(), question, newModel, SideMoved)
		set(errors.New("Redis is away"))
		r.goes("through an outage", chatting(), question, newModel, SideMoved)
		set(nil, chatRamp(whole1, func(r *Ramp) { r.Phase = RampRolledBack }))
		r.goes("rolled back", chatting(), question, oldModel, "")
	})
}
