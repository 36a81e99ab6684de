package tenants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// realRedis is one for all tests of the package, ended by TestMain.
var realRedis struct {
	once sync.Once
	addr string
	cmd  *exec.Cmd
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if realRedis.cmd != nil {
		_ = realRedis.cmd.Process.Kill()
		_ = realRedis.cmd.Wait()
	}
	os.Exit(code)
}

func startRedis() {
	r := &realRedis
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if r.err = err; err != nil {
		return
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	r.addr, r.cmd = "127.0.0.1:"+port, exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", os.TempDir())
	if r.err = r.cmd.Start(); r.err != nil {
		r.cmd = nil
	}
}

// onBoth runs a test on the embedded Redis and on a real one.
func onBoth(t *testing.T, f func(*testing.T, *rig)) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) { f(t, newRig(t, embedded(t))) })
	t.Run("real", func(t *testing.T) {
		if _, err := exec.LookPath("redis-server"); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal("redis-server is not installed: Lua must be tested on real Redis in CI")
			}
			t.Skip("redis-server is not installed")
		}
		realRedis.once.Do(startRedis)
		if realRedis.err != nil {
			t.Fatal(realRedis.err)
		}
		f(t, newRig(t, redis.NewClient(&redis.Options{Addr: realRedis.addr, MaxRetries: 25, MinRetryBackoff: 20 * time.Millisecond, MaxRetryBackoff: 200 * time.Millisecond})))
	})
}

func embedded(t *testing.T) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
}

// rig is a book with its API.
type rig struct {
	*testing.T
	book   *Book
	api    http.Handler
	caller Caller
	acts   []Act
}

var rigs struct {
	mu sync.Mutex
	n  int
}

// newRig has a project of its own, where tenant/* has 100 requests a minute.
func newRig(t *testing.T, rdb redis.UniversalClient) *rig {
	t.Helper()
	t.Cleanup(func() { _ = rdb.Close() })
	rigs.mu.Lock()
	rigs.n++
	scope := limiter.Scope{Provider: "gemini", Project: fmt.Sprintf("p%d", rigs.n)}
	rigs.mu.Unlock()
	r := &rig{T: t, caller: Caller{By: "ana", Operate: true}}
	r.book = &Book{
		Redis: rdb, Scope: scope, Limiter: limiter.NewRedis(rdb, scope, limiter.RedisOptions{}), Keys: gateway.NewKeys(rdb, nil), Classes: []string{"interactive", "bulk"},
	}
	lane := limiter.Lane{Provider: "gemini", Project: scope.Project, Region: "global", Model: "m"}
	r.must(r.book.Limiter.Configure(t.Context(), limiter.Config{
		Scope: scope, Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: 1000}, Lend: "now"}},
		Classes: []limiter.Class{{Name: "interactive", GuaranteePPM: 300_000, FloorPPM: 20_000}, {Name: "bulk", Pausable: true}},
		Nodes:   map[string]limiter.Limits{"tenant/*": {RPM: 100}},
	}))
	r.api = NewAPI(API{Book: r.book, Caller: func(*http.Request) Caller { return r.caller }, Record: func(_ *http.Request, a Act) { r.acts = append(r.acts, a) }})
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// answer is what came, and what JSON is in it.
type answer struct {
	*httptest.ResponseRecorder
	json map[string]any
}

func (a answer) tag() string { return a.Header().Get("ETag") }

// ask makes a request and holds it and its answer against the description.
func (r *rig) ask(method, path, body string, header ...string) answer {
	r.Helper()
	q := httptest.NewRequestWithContext(r.Context(), method, Prefix[:len(Prefix)-1]+path, io.Reader(strings.NewReader(body)))
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	r.api.ServeHTTP(a, q)
	_ = json.Unmarshal(a.Body.Bytes(), &a.json)
	if err := described().answer(method, q.URL.Path, a); err != nil {
		r.Errorf("%s %s: %d %.300s is not as described: %v", method, path, a.Code, a.Body, err)
	}
	if a.Code < 300 && body != "" {
		if err := described().request(method, q.URL.Path, body); err != nil {
			r.Errorf("%s %s: what was taken is not as described: %v", method, path, err)
		}
	}
	return a
}

// wants asks and wants a status, and parts of the answer.
func (r *rig) wants(status int, method, path, body string, parts ...string) answer {
	r.Helper()
	a := r.ask(method, path, body)
	r.is(a, status, parts...)
	return a
}

func (r *rig) is(a answer, status int, parts ...string) {
	r.Helper()
	if a.Code != status {
		r.Errorf("status %d, want %d: %.500s", a.Code, status, a.Body)
	}
	for _, p := range parts {
		if !strings.Contains(a.Body.String(), p) {
			r.Errorf("%q is not in %.600s", p, a.Body)
		}
	}
}

// judge holds requests and answers against the description, whose schemas are JSON Schema.
type judge struct {
	doc map[string]any
	mu  sync.Mutex
	c   *jsonschema.Compiler // guarded by mu
}

var described = sync.OnceValue(func() *judge {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Document()))
	if err != nil {
		panic(err)
	}
	j := &judge{doc: doc.(map[string]any), c: jsonschema.NewCompiler()}
	j.c.AssertFormat()
	if err := j.c.AddResource("test:///doc.json", doc); err != nil {
		panic(err)
	}
	return j
})

// at follows a JSON pointer, through references.
func (j *judge) at(pointer string) (string, any) {
	var v any = j.doc
	at := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		m, _ := v.(map[string]any)
		at += "/" + part
		v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		if m, ok := v.(map[string]any); ok {
			if ref, ok := m["$ref"].(string); ok {
				at, v = j.at(strings.TrimPrefix(ref, "#"))
			}
		}
	}
	return at, v
}

func (j *judge) operation(method, path string) string {
	for template := range j.doc["paths"].(map[string]any) {
		have, want := strings.Split(path, "/"), strings.Split(template, "/")
		if slices.EqualFunc(have, want, func(h, w string) bool { return h == w || strings.HasPrefix(w, "{") }) {
			return "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(template) + "/" + strings.ToLower(method)
		}
	}
	return ""
}

func (j *judge) fits(pointer, text string) error {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s, err := j.c.Compile("test:///doc.json#" + pointer)
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func (j *judge) request(method, path, body string) error {
	op := j.operation(method, path)
	if _, has := j.at(op + "/requestBody"); op == "" || has == nil {
		return fmt.Errorf("it takes no body")
	}
	return j.fits(op+"/requestBody/content/application~1json/schema", body)
}

func (j *judge) answer(method, path string, a answer) error {
	op := j.operation(method, path)
	if _, there := j.at(op); op == "" || there == nil || a.Code >= 400 {
		if kind := a.Header().Get("Content-Type"); kind != "application/problem+json" {
			return fmt.Errorf("an error's type is %s", kind)
		}
		return j.fits("/components/schemas/Problem", a.Body.String())
	}
	at, there := j.at(op + "/responses/" + strconv.Itoa(a.Code))
	if there == nil {
		return fmt.Errorf("status %d is not described", a.Code)
	}
	kind, _, _ := strings.Cut(a.Header().Get("Content-Type"), ";")
	_, content := j.at(at + "/content/application~1json/schema")
	switch {
	case kind == "text/csv":
		return nil
	case content == nil && a.Body.Len() > 0:
		return fmt.Errorf("a body of %s is not described", kind)
	case content == nil:
		return nil
	}
	_, wantsTag := j.at(at + "/headers/ETag/required")
	if wantsTag == true && a.tag() == "" {
		return fmt.Errorf("ETag is missing")
	}
	return j.fits(at+"/content/application~1json/schema", a.Body.String())
}
