package gemini

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/limiter"
)

const (
	oldModel = "gemini-2.5-flash"
	newModel = "gemini-3.5-flash"
)

// somewhere has ramps without Redis.
type somewhere struct {
	mu    sync.Mutex
	ramps []Ramp
	err   error
}

func (s *somewhere) Ramps(context.Context) ([]Ramp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Ramp{}, s.ramps...), s.err
}

// routesRig is a transport with routes over a provider that answers everything.
type routesRig struct {
	*testing.T
	tr      *Transport
	routes  *Routes
	gate    *fakeGate
	source  *somewhere
	records *recorded
	now     time.Time

	mu    sync.Mutex
	paths []string // that were called
	sent  []string // bodies
}

func routesLanes(t *testing.T) *LaneMap {
	t.Helper()
	lanes, err := NewLaneMap("proj", "", Model{Name: oldModel, Aliases: []string{"gemini-flash-latest"}},
		Model{Name: newModel, Context: 3000}, Model{Name: lite}, Model{Name: "gemini-embedding-001"})
	if err != nil {
		t.Fatal(err)
	}
	return lanes
}

func newRoutesRig(t *testing.T, cfg RoutesConfig, change ...func(*TransportConfig)) *routesRig {
	t.Helper()
	r := &routesRig{T: t, gate: &fakeGate{}, source: &somewhere{}, records: &recorded{}, now: time.Unix(1_790_000_000, 0)}
	cfg.Lanes, cfg.Source = routesLanes(t), r.source
	var err error
	if r.routes, err = NewRoutes(cfg); err != nil {
		t.Fatal(err)
	}
	change = append([]func(*TransportConfig){func(c *TransportConfig) {
		c.Lanes, c.Routes, c.Records, c.Now = cfg.Lanes, r.routes, r.records, func() time.Time { return r.now }
	}}, change...)
	r.tr = newTestTransport(t, sender(r.answer), r.gate, change...)
	return r
}

func (r *routesRig) answer(req *http.Request) (*http.Response, error) {
	body := []byte{}
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths, r.sent = append(r.paths, req.URL.Path), append(r.sent, string(body))
	if strings.Contains(req.URL.RawQuery, "alt=sse") {
		return reply(200, "text/event-stream", "data: "+good+"\r\n\r\n"), nil
	}
	return reply(200, "application/json", good), nil
}

// ramps puts some in force.
func (r *routesRig) ramps(list ...Ramp) {
	r.Helper()
	r.source.mu.Lock()
	r.source.ramps = list
	r.source.mu.Unlock()
	if err := r.routes.Refresh(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// chatting is who calls in these tests.
func chatting(change ...func(*Caller)) Caller {
	c := Caller{Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: "acme", Team: "web", Key: "k_1"}}
	for _, f := range change {
		f(&c)
	}
	return c
}

// call makes a call and gives the path that was called, its record and what was seen.
func (r *routesRig) call(c Caller, path, body string) (called string, rec Record, obs *Observation) {
	r.Helper()
	ctx, obs := Observe(WithCaller(r.Context(), c))
	req := post(ctx, path, body)
	if !strings.Contains(path, ":") {
		req = req.Clone(ctx)
		req.Method, req.Body, req.ContentLength = http.MethodGet, nil, 0
	}
	resp, err := r.tr.RoundTrip(req)
	if err != nil {
		r.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.records.all()
	return r.paths[len(r.paths)-1], all[len(all)-1], obs
}

// goes wants a call to be made to a model, and the ramp to have decided so.
func (r *routesRig) goes(what string, c Caller, body, model, side string) {
	r.Helper()
	called, rec, obs := r.call(c, generate, body)
	if called != "/v1beta/models/"+model+":generateContent" || obs.Lane.Model != model || rec.RampSide != side {
		r.Errorf("%s: called %s in lane %s, side %q; want %s, %q", what, called, obs.Lane.Model, rec.RampSide, model, side)
	}
}

func TestAlias(t *testing.T) {
	r := newRoutesRig(t, RoutesConfig{Aliases: map[string]string{"Fast": "chat-model", "chat-model": "models/gemini-flash-latest"}})
	for path, want := range map[string]string{
		"/v1beta/models/fast:generateContent":             "/v1beta/models/gemini-flash-latest:generateContent",
		"/v1/models/FAST:streamGenerateContent?alt=sse":   "/v1/models/gemini-flash-latest:streamGenerateContent",
		"/v1beta/models/chat-model:countTokens":           "/v1beta/models/gemini-flash-latest:countTokens",
		"/v1beta/models/chat-model":                       "/v1beta/models/gemini-flash-latest",
		"/v1beta/models/gemini-2.5-flash:generateContent": "/v1beta/models/gemini-2.5-flash:generateContent",
		"/v1beta/models/Gemini-2.5-Flash:generateContent": "/v1beta/models/Gemini-2.5-Flash:generateContent", // what needs no route is not touched
		"/v1beta/models": "/v1beta/models",
		"/v1beta/models/gemini-3.5-flash:streamGenerateContent":   "/v1beta/models/gemini-3.5-flash:streamGenerateContent",
		"/v1alpha/models/chat-model:generateContent?key=whatever": "/v1alpha/models/gemini-flash-latest:generateContent",
	} {
		if called, _, _ := r.call(chatting(), path, question); called != want {
			t.Errorf("%s called %s, want %s", path, called, want)
		}
	}
	_, rec, obs := r.call(chatting(), "/v1beta/models/fast:generateContent", question)
	if rec.Asked != "fast" || rec.Called != "gemini-flash-latest" || !strings.HasSuffix(rec.Lane, oldModel) || obs.Asked != "fast" || obs.Called != "gemini-flash-latest" {
		t.Errorf("record: asked %q called %q lane %q; observation: %q, %q", rec.Asked, rec.Called, rec.Lane, obs.Asked, obs.Called)
	}
	if _, rec, obs = r.call(chatting(), generate, question); rec.Asked != "" || obs.Asked != obs.Called {
		t.Errorf("without an alias: %q, %q to %q", rec.Asked, obs.Asked, obs.Called)
	}
	if got := r.routes.Aliases(); !maps.Equal(got, map[string]string{"fast": "gemini-flash-latest", "chat-model": "gemini-flash-latest"}) {
		t.Errorf("aliases: %v", got)
	}
}

// TestAliasOfARow: the worker's calls may name one too.
func TestAliasOfARow(t *testing.T) {
	r := newRoutesRig(t, RoutesConfig{Aliases: map[string]string{"fast": lite}})
	called, _, obs := r.call(Caller{Class: "bulk", Feature: "x", Run: "r", Row: "1", Ticket: "t"}, "/v1beta/models/fast:generateContent", question)
	if !strings.Contains(called, lite) || obs.Lane.Model != lite {
		t.Errorf("called %s in %s", called, obs.Lane)
	}
}

func TestRoutesAreChecked(t *testing.T) {
	for _, c := range []struct {
		cfg  RoutesConfig
		want string
	}{
		{RoutesConfig{Aliases: map[string]string{"a": "b", "b": "c", "c": "a"}}, "routes.a: goes round in a circle: a → b → c → a"},
		{RoutesConfig{Aliases: map[string]string{"a": "a"}}, "routes.a: goes round in a circle: a → a"},
		{RoutesConfig{Aliases: map[string]string{"A": oldModel, "a": newModel}}, "routes.a: is the same name as routes.A, since names match without case"},
		{RoutesConfig{Aliases: map[string]string{"models/x": oldModel}}, "routes.models/x: want the name without models/: write x"},
		{RoutesConfig{Aliases: map[string]string{"fast": "gemini-9"}}, `routes.fast: "gemini-9" is not configured`},
		{RoutesConfig{Aliases: map[string]string{"fast": ""}}, "routes.fast: want the name of a model"},
		{RoutesConfig{Aliases: map[string]string{oldModel: newModel}}, "routes." + oldModel + ": " + oldModel + " is a model's own name"},
		{RoutesConfig{Aliases: map[string]string{"gemini-flash-latest": newModel}}, "routes.gemini-flash-latest: gemini-flash-latest is a model's own name (it counts in the quota of " + oldModel},
		{RoutesConfig{Aliases: map[string]string{"a/b": newModel}}, `routes.a/b: "a/b" is no name that a client can send`},
		{RoutesConfig{Moves: []Move{{RampScope{"feature", "chat"}, oldModel, "gemini-9"}}}, `moves[0].to: "gemini-9" is not configured`},
		{RoutesConfig{Moves: []Move{{RampScope{"feature", "chat"}, oldModel, "gemini-flash-latest"}}}, "moves[0].to: gemini-2.5-flash and gemini-flash-latest are one model with one quota"},
		{RoutesConfig{Moves: []Move{{RampScope{"feature", "chat"}, "", newModel}}}, "moves[0].from: want the name of a model"},
		{RoutesConfig{Moves: []Move{{RampScope{"planet", "earth"}, oldModel, newModel}}}, `moves[0].scope: "planet/earth": want feature/NAME`},
		{RoutesConfig{Moves: []Move{{RampScope{"feature", "c"}, oldModel, newModel}, {RampScope{"feature", "c"}, "gemini-flash-latest", lite}}}, "moves[1].from: calls of feature/c for gemini-flash-latest are moved by an earlier line"},
		{RoutesConfig{Moves: []Move{{RampScope{"feature", "c"}, oldModel, newModel}, {RampScope{"feature", "c"}, newModel, oldModel}}}, "moves[1].to: calls of feature/c would go round in a circle"},
		{RoutesConfig{Moves: []Move{{RampScope{"route", "fast"}, oldModel, newModel}}}, "moves[0].scope: an alias is moved by naming its model in routes.fast"},
	} {
		c.cfg.Lanes = routesLanes(t)
		if _, err := NewRoutes(c.cfg); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v:\n%v, want %q", c.cfg, err, c.want)
		}
	}
}

// TestNoRoutes: a transport without any sends calls where they name.
func TestNoRoutes(t *testing.T) {
	var none *Routes
	if none.Real("models/Gemini-X") != "gemini-x" || none.Aliases() != nil || none.Refresh(t.Context()) != nil {
		t.Error("the nil Routes do something")
	}
	none.Watch(t.Context()) // returns
}
