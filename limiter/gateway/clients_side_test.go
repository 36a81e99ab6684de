package gateway

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

// clientModels are the models of the matrix.
func clientModels() []geminitest.Model {
	return []geminitest.Model{
		{Name: flash, ThinkingTokens: 60, AnswerTokens: 60},
		{Name: "gemini-long", AnswerTokens: 60},
		{Name: "gemini-stepped", AnswerTokens: 60},
		{Name: "gemini-limited", Limits: geminitest.Limits{RPM: 1}},
		{Name: "gemini-refused"}, {Name: "gemini-broken"},
		{Name: "gemini-midway", AnswerTokens: 60}, {Name: "gemini-cut", AnswerTokens: 60},
		{Name: "gemini-embedding-001", Embeds: true, ContextTokens: 2048},
	}
}

// modelPaths are their names as a list of models gives them.
func modelPaths() []string {
	var paths []string
	for _, m := range clientModels() {
		paths = append(paths, "models/"+m.Name)
	}
	slices.Sort(paths)
	return paths
}

// side is one way to the simulated API, which is its own.
type side struct {
	*testing.T
	sim   *geminitest.Server
	steps chan struct{} // lets the next chunk of a stepped stream out
	url   string        // of the simulated API
	plan  plan
	lim   *limiter.Redis // nil without a gateway
	lanes *gemini.LaneMap
	proto atomic.Value // a string: the version of HTTP at the gateway
}

// newSide serves a simulated API over loopback.
func newSide(t *testing.T) *side {
	t.Helper()
	s := &side{T: t, steps: make(chan struct{}, 1000)}
	s.sim = geminitest.MustNew(geminitest.Config{
		Models: clientModels(), Strict: true, Keys: []string{providerKey}, Seed: 7,
		Latency: geminitest.Latency{Base: time.Millisecond, SlowFactor: 500}, // slow is half a second until the first byte
		Faults: []geminitest.Fault{
			{Kind: geminitest.Fault429RPM, Model: "gemini-refused", Retry: 17 * time.Second},
			{Kind: geminitest.Fault503, Model: "gemini-broken"},
			{Kind: geminitest.FaultStreamError, Model: "gemini-midway"},
			{Kind: geminitest.FaultCut, Model: "gemini-cut"},
			{Kind: geminitest.FaultSlow, Text: "slowly"},
		},
	})
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.plan = newPlan(s.url, providerKey)
	return s
}

// serve is the simulated API. A stepped stream waits for its reader, a long one
// stops after its first piece.
func (s *side) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1beta/models/gemini-stepped:streamGenerateContent":
		w = &steppedWriter{ResponseWriter: w, step: s.steps, ctx: r.Context()}
	case "/v1beta/models/gemini-long:streamGenerateContent":
		w = &steppedWriter{ResponseWriter: w, ctx: r.Context()}
	}
	s.sim.ServeHTTP(w, r)
}

// gateway puts a gateway of its own, under a prefix, before the side's API:
// permits in rdb, one provider's key out, our key in.
func (s *side) gateway(rdb redis.UniversalClient, project string) { s.serveGateway(rdb, project, nil) }

func (s *side) serveGateway(rdb redis.UniversalClient, project string, secure *tls.Config) {
	s.Helper()
	must := (&setup{T: s.T}).must
	var models []gemini.Model
	for _, m := range clientModels() {
		models = append(models, gemini.Model{Name: m.Name, Context: m.ContextTokens})
	}
	lanes, err := gemini.NewLaneMap(project, "", models...)
	must(err)
	s.lanes = lanes
	c := limiter.Config{Scope: lanes.Lanes()[0].Scope(), Classes: []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true}}}
	for _, lane := range lanes.Lanes() {
		limits := limiter.Limits{RPM: 1000, InputTPM: 1_000_000, Concurrency: 100}
		if lane.Model == "gemini-limited" {
			limits.RPM = 1
		}
		c.Lanes = append(c.Lanes, limiter.LaneConfig{Lane: lane, Limits: limits, Lend: "now"})
	}
	s.lim = limiter.NewRedis(rdb, c.Scope, limiter.RedisOptions{})
	must(s.lim.Configure(s.Context(), c))
	transport, err := gemini.NewTransport(gemini.TransportConfig{BaseURL: s.url, APIKey: providerKey, Gate: s.lim, Lanes: lanes})
	must(err)
	keys := NewKeys(rdb, nil)
	gate, err := New(Config{Transport: transport, BaseURL: s.url, Keys: keys, Classes: []string{"interactive", "bulk"}, Lanes: lanes, PathPrefix: "/gemini"})
	must(err)
	secret, _, err := keys.Add(s.Context(), Identity{Name: "clients", Project: project, Class: "interactive", Feature: "chat"})
	must(err)
	l, err := Listen("127.0.0.1:0")
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Server{TLS: secure}.Serve(ctx, l, s.noting(gate)) }()
	s.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			s.Errorf("the gateway's end: %v", err)
		}
	})
	s.plan = newPlan("http://"+l.Addr().String()+"/gemini", secret)
}

// noting notes the version of HTTP that the client speaks.
func (s *side) noting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.proto.Store(r.Proto)
		h.ServeHTTP(w, r)
	})
}

// secureGateway is a gateway over HTTPS, with a certificate that the plan names.
func (s *side) secureGateway(rdb redis.UniversalClient, project string) {
	s.Helper()
	lend := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	lend.Close()
	s.serveGateway(rdb, project, &tls.Config{Certificates: lend.TLS.Certificates})
	ca := filepath.Join(s.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lend.Certificate().Raw})
	(&setup{T: s.T}).must(os.WriteFile(ca, block, 0o600))
	s.plan.Base, s.plan.CA = strings.Replace(s.plan.Base, "http:", "https:", 1), ca
}
