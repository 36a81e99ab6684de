package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"nightshift/limiter/gateway"
)

var (
	portkeyDir     = flag.String("portkey", "../../limiter/peers/portkey", "GatewaySpeed: where `npm ci` has installed @portkey-ai/gateway; left out if it is not there")
	gatewayProfile = flag.String("gateway-profile", "", "GatewaySpeed: keep the CPU profile of the gateway under full load in this `FILE`")
	profileStreams = flag.Bool("profile-streams", false, "GatewaySpeed: … of StreamCPU instead of CPU")
)

// way is one of the ways to the same simulated API.
type way struct {
	name   string
	proc   *exec.Cmd // what is between; nil: nothing
	url    string
	header http.Header
	// openai speaks OpenAI's API in front, as portkey does for Gemini. It holds the
	// first chunk of a stream back for 25 ms by itself, and breaks a stream off at its
	// last chunk when the API's JSON is not indented; what came before counts.
	openai bool
}

// simulated says how the upstream of a set of ways answers.
type simulated struct {
	latency, perToken time.Duration
	tokens            int // of each answer
}

// ways are processes of their own, all to one simulated API.
type ways struct {
	*night
	direct, bare, ours, portkey *way // portkey is nil where it is not installed
}

// newWays starts them. Limits are so wide that they never bind: what is measured
// is what a call costs, not what it waits for.
func newWays(b *testing.B, s simulated) *ways {
	b.Helper()
	n := newNightOn(b, unlimited(b, s), "")
	w := &ways{night: n, direct: &way{name: "direct", url: n.sim, header: http.Header{"X-Goog-Api-Key": {"direct"}}}}
	w.ours = &way{name: "nightshift gateway", proc: n.all[len(n.all)-1], url: n.gateway, header: http.Header{"X-Goog-Api-Key": {n.gatewayKey()}}}
	w.bare = w.startBare()
	w.portkey = w.startPortkey()
	return w
}

// unlimited is a quota that never binds, and a provider that behaves so.
func unlimited(b *testing.B, s simulated) quota {
	conf := filepath.Join(b.TempDir(), "sim.yaml")
	text := fmt.Sprintf("models: [{name: %s, answer_tokens: %d, limits: {rpm: 100000000, input_tpm: 100000000000}}]\nkeep_calls: 1000\n", benchModel, s.tokens)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return quota{rpm: 100_000_000, inputTPM: 100_000_000_000, sim: []string{
		"--sim-config", conf, "--latency", s.latency.String(), "--per-token", s.perToken.String(), "--sigma", "0",
	}}
}

func (n *night) gatewayKey() string {
	secret, _, err := gateway.NewKeys(n.rdb, nil).Add(context.Background(),
		gateway.Identity{Name: "speed", Project: n.scope.Project, Class: "interactive", Feature: "chat"})
	n.must(err)
	return secret
}

// all are those that are there, the direct one first.
func (w *ways) list() []*way {
	list := []*way{w.direct, w.bare, w.ours}
	if w.portkey != nil {
		list = append(list, w.portkey)
	}
	return list
}

func (w *ways) startBare() *way {
	addr := freeAddr(w)
	cmd := w.command()
	cmd.Args = []string{"bareproxy", addr, w.sim}
	w.start(cmd, "bare.log")
	w.await("the bare proxy is up", 10*time.Second, func() bool { return dials(addr) })
	return &way{name: "bare httputil.ReverseProxy", proc: cmd, url: "http://" + addr, header: w.direct.header}
}

// runBareProxy is the process that does nothing but pass calls on: what no gateway
// in Go can be cheaper than. Its connections to the upstream are kept, as ours are.
func runBareProxy() {
	target, err := url.Parse(os.Args[2])
	if err == nil {
		out := http.DefaultTransport.(*http.Transport).Clone()
		out.MaxIdleConns, out.MaxIdleConnsPerHost = 0, 2000
		proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, Transport: out}
		err = (&http.Server{Addr: os.Args[1], Handler: proxy, ReadHeaderTimeout: 10 * time.Second}).ListenAndServe()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// startPortkey starts @portkey-ai/gateway without its console.
func (w *ways) startPortkey() *way {
	script, err := filepath.Abs(filepath.Join(*portkeyDir, "node_modules/@portkey-ai/gateway/build/start-server.js"))
	w.must(err)
	if _, err := os.Stat(script); err != nil {
		return nil
	}
	addr := freeAddr(w)
	_, port, err := net.SplitHostPort(addr)
	w.must(err)
	cmd := exec.Command("node", script, "--port="+port, "--headless")
	cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "NODE_ENV=production")
	w.start(cmd, "portkey.log")
	w.await("portkey is up", 30*time.Second, func() bool { return dials(addr) })
	return &way{name: "@portkey-ai/gateway", proc: cmd, url: "http://" + addr, openai: true, header: http.Header{
		"X-Portkey-Provider": {"google"}, "X-Portkey-Custom-Host": {w.sim}, "Authorization": {"Bearer direct"},
	}}
}

// stop ends the processes; the gateway by a signal, so that its profile is written.
func (w *ways) stop() {
	_ = w.ours.proc.Process.Signal(syscall.SIGTERM)
	_ = w.ours.proc.Wait()
	w.stopAll()
}

// prompt is what somebody asks with a page of what was said before: 2 kB.
var prompt = words(330)

// request is one call, the same one for every way.
func (w *way) request(ctx context.Context, stream bool) *http.Request {
	path, body := "/v1beta/models/"+benchModel+":generateContent", any(map[string]any{
		"contents":         []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": prompt}}}},
		"generationConfig": map[string]any{"maxOutputTokens": 8000},
	})
	if stream {
		path = "/v1beta/models/" + benchModel + ":streamGenerateContent?alt=sse"
	}
	if w.openai {
		path, body = "/v1/chat/completions", map[string]any{
			"model": benchModel, "stream": stream, "max_tokens": 8000, "messages": []any{map[string]any{"role": "user", "content": prompt}},
		}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings and numbers
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	req.Header = w.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	return req
}

// caller keeps its connections, as every SDK does.
func caller() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000, DisableCompression: true}}
}

// call makes one call and gives the time to its first byte of content and to its end.
func (w *way) call(c *http.Client, stream bool) (first, whole time.Duration, err error) {
	began := time.Now()
	resp, err := c.Do(w.request(context.Background(), stream))
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return 0, 0, fmt.Errorf("%s: HTTP %d: %s", w.name, resp.StatusCode, text)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
		return 0, 0, fmt.Errorf("%s: an answer without content: %w", w.name, err)
	}
	first = time.Since(began)
	if _, err = io.Copy(io.Discard, resp.Body); err != nil {
		err = fmt.Errorf("%s: an answer that breaks off: %w", w.name, err)
	}
	return first, time.Since(began), err
}
