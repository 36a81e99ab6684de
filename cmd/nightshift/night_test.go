package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
	"nightshift/limiter/gemini"
)

// night is a whole fleet of processes with people beside the bulk: gateway,
// scheduler and workers, on a real Redis and the simulated Gemini.
type night struct {
	*fleet
	gateway string // its URL
	scope   limiter.Scope
	limits  *limiter.Redis
}

// TestNights are the stories that watch what happens within seconds. They wait most
// of their time and so run side by side, but not beside the scripts, which would
// starve them on two processors.
func TestNights(t *testing.T) {
	for name, story := range map[string]func(t *testing.T){"Incident": incident, "Morning": morning, "RefusedChat": refusedChat} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t)
		})
	}
}

// defaultConf leaves everything but the limits as it is for a new user.
const defaultConf = "models:\n  %s: {%s}\n"

func newNight(t testing.TB, rpm int64, conf string) *night {
	t.Helper()
	return newNightOn(t, quota{rpm: rpm, inputTPM: 100 * rpm * 1000}, conf)
}

func newNightOn(t testing.TB, q quota, conf string) *night {
	t.Helper()
	n := nightOf(newFleet(t, q, defaultConf+conf))
	addr := freeAddr(t)
	n.gateway = "http://" + addr
	n.start(n.command("gateway", "--listen", addr), "gateway.log")
	n.await("the gateway is up", 30*time.Second, func() bool { return dials(addr) })
	return n
}

// nightOf is a fleet of which nothing of ours runs yet.
func nightOf(f *fleet) *night {
	n := &night{fleet: f, scope: limiter.Scope{Provider: "gemini", Project: "default"}}
	n.limits = limiter.NewRedis(f.rdb, n.scope, limiter.RedisOptions{})
	return n
}

func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func dials(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// scheduler starts one; several may run.
func (n *night) scheduler(name string) *exec.Cmd {
	cmd := n.command("scheduler")
	n.start(cmd, name+".log")
	return cmd
}

// people is a chat with a key of its own.
type people struct {
	n      *night
	client *genai.Client

	mu    sync.Mutex
	heard []answer // guarded by mu
	asked int      // guarded by mu
}

// answer is what one of them got.
type answer struct {
	at     time.Time
	took   time.Duration
	failed bool
	why    string
}

// client is the SDK with its retries off, behind the gateway.
func (n *night) client(class, feature string) *genai.Client {
	secret, _, err := gateway.NewKeys(n.rdb, nil).Add(context.Background(), gateway.Identity{Name: feature, Project: n.scope.Project, Class: class, Feature: feature})
	n.must(err)
	return n.sdk(n.gateway, secret)
}

func (n *night) sdk(url, key string) *genai.Client {
	c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Timeout: time.Minute}, HTTPOptions: genai.HTTPOptions{BaseURL: url + "/"},
	})
	n.must(err)
	return c
}

func (n *night) people(client *genai.Client) *people { return &people{n: n, client: client} }

// ask makes one call and keeps what came of it.
func (p *people) ask(ctx context.Context) {
	p.mu.Lock()
	p.asked++
	prompt := fmt.Sprintf("id: chat-%05d\nIs the lamp in stock?", p.asked)
	p.mu.Unlock()
	began := time.Now()
	_, err := p.client.Models.GenerateContent(ctx, benchModel, genai.Text(prompt), nil)
	a := answer{at: began, took: time.Since(began), failed: err != nil}
	if err != nil {
		a.why = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, a)
}

// come asks for a while, so many a minute at random moments; the same seed asks
// at the same moments.
func (p *people) come(ctx context.Context, seed uint64, perMinute func(time.Duration) float64, most float64, span time.Duration) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var all sync.WaitGroup
	start := time.Now()
	for at := time.Duration(0); ; {
		at += time.Duration(rnd.ExpFloat64() / most * float64(time.Minute))
		if at > span {
			break
		}
		if rnd.Float64()*most > perMinute(at) {
			continue
		}
		select {
		case <-ctx.Done():
			all.Wait()
			return
		case <-time.After(time.Until(start.Add(at))):
		}
		all.Go(func() { p.ask(ctx) })
	}
	all.Wait()
}

// answers are those heard so far.
func (p *people) answers() []answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]answer(nil), p.heard...)
}

// simulate changes how the provider behaves.
func (n *night) simulate(what string, body any) {
	n.Helper()
	b, err := json.Marshal(body)
	n.must(err)
	resp, err := http.Post(n.sim+"/sim/"+what, "application/json", bytes.NewReader(b))
	n.must(err)
	n.must(resp.Body.Close())
	if resp.StatusCode >= 300 {
		n.Fatalf("/sim/%s: HTTP %d", what, resp.StatusCode)
	}
}

// of gives the calls that the provider saw of those whose id begins so.
func of(calls []simCall, prefix string) (out []simCall) {
	for _, c := range calls {
		if strings.HasPrefix(c.ID, prefix) {
			out = append(out, c)
		}
	}
	return out
}

// last is the latest arrival; the zero time of none.
func last(calls []simCall) (at time.Time) {
	for _, c := range calls {
		if c.At.After(at) {
			at = c.At
		}
	}
	return at
}

// library calls Gemini as a Go service would: the governed transport in its own
// process, as a class that may be paused.
func (n *night) library(ctx context.Context, class, prefix string, every time.Duration) (stopped <-chan struct{}) {
	lanes, err := gemini.NewLaneMap(n.scope.Project, "", gemini.Model{Name: benchModel})
	n.must(err)
	t, err := gemini.NewTransport(gemini.TransportConfig{BaseURL: n.sim, APIKey: "not-a-real-key", Gate: n.limits, Lanes: lanes})
	n.must(err)
	client, err := gemini.NewClient(ctx, t, "")
	n.must(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			ctx := gemini.WithCaller(ctx, gemini.Caller{Class: class, Feature: prefix})
			_, err := client.Models.GenerateContent(ctx, benchModel, genai.Text(fmt.Sprintf("id: %s-%05d\nhello", prefix, i)), gemini.OneRequest(nil))
			var denied *limiter.Denied
			if err != nil && !errors.As(err, &denied) && ctx.Err() == nil {
				n.Logf("library call: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(every):
			}
		}
	}()
	return ended
}

// repeat calls through the gateway again and again; what becomes of it is seen
// at the provider.
func (n *night) repeat(ctx context.Context, client *genai.Client, prefix string, every time.Duration) <-chan struct{} {
	return background(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_, _ = client.Models.GenerateContent(ctx, benchModel, genai.Text(fmt.Sprintf("id: %s-%05d\nhello", prefix, i)), nil)
			select {
			case <-ctx.Done():
			case <-time.After(every):
			}
		}
	})
}
