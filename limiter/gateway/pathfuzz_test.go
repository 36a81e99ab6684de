package gateway

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// FuzzPath: whatever a client writes behind the host, what is passed on is a plain path
// below the prefix, with nothing in it that could mean another place behind us, and what
// is refused is refused as Gemini does, in a message of one line.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		generate, stream, "//v1beta/models", "/v1beta/models/a%2f..%2fb:generateContent", "/v1beta/models/../files", "/v1beta/models/%2e%2e/x", "/v1beta/models/a:generateContent%3Fkey=x", "/gw/v1/models", "/gw/../v1/models",
		"/v1beta/v1beta/models/a", "/v1/files/x", "/v1beta/tunedModels/a:generateContent", "/v2/models/a", "/v1beta1/projects/p/locations/global/publishers/google/models/m:generateContent", "/v1beta/models/a\\..\\b", "/v1beta/models/é", "/", "/v1", "/v1beta/models:x", "/healthz;/../v1/models",
	} {
		f.Add(path, false)
		f.Add("/gw"+path, true)
	}
	plain := &Gateway{cfg: Config{}}
	below := &Gateway{cfg: Config{PathPrefix: "/gw"}}
	f.Fuzz(func(t *testing.T, target string, prefixed bool) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			return // net/http answers
		}
		g := plain
		if prefixed {
			g = below
		}
		path, bad := g.pathOf(u)
		if bad == nil {
			bad = g.checkServed(path)
		}
		if bad != nil {
			if bad.Code/100 != 4 || bad.Message == "" || len(bad.Message) > 1500 || strings.ContainsAny(bad.Message, "\n\r\x00") {
				t.Errorf("%q: %d %q", target, bad.Code, bad.Message)
			}
			return
		}
		if path != "/"+strings.TrimLeft(strings.TrimPrefix(u.Path, g.cfg.PathPrefix), "/") || strings.ContainsAny(path, "%?#") {
			t.Errorf("%q is passed on as %q", target, path)
		}
		if behind, err := url.Parse("https://host" + path); err != nil || behind.Path != path || behind.RawQuery != "" || behind.Host != "host" {
			t.Errorf("%q is passed on as %q, which is %v", target, path, behind)
		}
	})
}

// FuzzPermitAsk: a body that is taken asks for amounts and times within their bounds, and
// means the same when its values are written again; one that is not is told which field.
func FuzzPermitAsk(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","amounts":{"input_tokens":9007199254740993,"output_tokens":3e14}}`, `{"model":"m","amounts":{"input_tokens":5,"requests":2,"images":1},"wait_ms":0,"lease_ms":60000,"request_id":"a:1"}`,
		`{"model":"m","request":{"contents":[]},"class":"bulk"}`, `{"model":"m","request":null,"amounts":null}`, `{"model":"m","amounts":{"input_tokens":-1}}`, `{"model":"m","amounts":{"input_tokens":1.0}}`,
		`{"model":"m","amounts":{"input_tokens":1e400}}`, `{} {}`, `{"modle":"m"}`, `[]`, `{"MODEL":"m","model":"n","amounts":{"input_tokens":1}}`, `{"model":"m","amounts":{"input_tokens":"NaN"}}`, `{"model":"m","request":[],"wait_ms":99999999999999999999}`, `{"model":1}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		var p permitAsk
		err := decodeObject(body, &p)
		if (err == nil) && !json.Valid(body) {
			t.Fatalf("%q is taken for JSON", body)
		}
		var ask gemini.LoanAsk
		if err == nil {
			ask, err = p.ask()
		}
		if err != nil {
			if err.Code != http.StatusBadRequest || err.Message == "" || len(err.Message) > 1000 || strings.ContainsAny(err.Message, "\n\r\x00") {
				t.Errorf("%q: %d %q", body, err.Code, err.Message)
			}
			return
		}
		a := ask.Amounts
		if ask.Body == nil && (a.Requests < 1 || a.Requests > mostRequests || a.InputTokens < 0 || a.InputTokens > mostTokens || a.OutputTokens < -1 || a.OutputTokens > mostTokens || a.Images < 0 || a.Images > mostImages) {
			t.Errorf("%q asks for %+v", body, a)
		}
		if ask.Model == "" || ask.Wait < -1 || ask.Wait > gemini.MostLoanWait || ask.Lease < min(leastLease, limiter.DefaultLease) || ask.Lease > max(gemini.MostLoanLease, limiter.DefaultLease) || ask.Lease%time.Millisecond != 0 {
			t.Errorf("%q asks for %+v", body, ask)
		}
	})
}
