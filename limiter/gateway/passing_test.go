package gateway

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"nightshift/limiter"
)

// TestStreamSaysWhatItTook behind its last byte to a client that asks for it; one
// that breaks off does not.
func TestStreamSaysWhatItTook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  string
		err   error
		usage string
	}{
		"whole":        {event + last, nil, "input_tokens=1, output_tokens=2, total_tokens=3"},
		"no usage":     {"data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\r\n\r\n", nil, ""},
		"broken off":   {event, io.ErrUnexpectedEOF, ""},
		"one document": {"[" + last[6:len(last)-4] + "]", nil, "input_tokens=1, output_tokens=2, total_tokens=3"},
	} {
		kind := "text/event-stream"
		if c.body[0] == '[' {
			kind = "application/json"
		}
		base, w := piped(kind)
		s := start(t, knobs{base: base})
		go func() {
			_, _ = io.WriteString(w, c.body)
			_ = w.CloseWithError(c.err)
		}()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+stream, strings.NewReader(question))
		s.must(err)
		req.Header.Set("X-Goog-Api-Key", s.chat())
		req.Header.Set("TE", "deflate;q=0.5, Trailers")
		resp, err := http.DefaultClient.Do(req)
		s.must(err)
		got, err := io.ReadAll(resp.Body)
		if (err != nil) != (c.err != nil) || string(got) != c.body {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		resp.Body.Close()
		if u := resp.Trailer.Get(headerUsage); u != c.usage || (resp.Trailer.Get(headerCost) != "") != (c.err == nil) || resp.Header.Get(headerUsage) != "" {
			t.Errorf("%s: trailers %v, headers %v", name, resp.Trailer, resp.Header)
		}
	}
}

// TestTrailersUnasked: whoever does not ask for them gets none.
func TestTrailersUnasked(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	s.must(err)
	defer c.Close()
	_, err = io.WriteString(c, "POST "+stream+" HTTP/1.1\r\nHost: g\r\nConnection: close\r\nX-Goog-Api-Key: "+s.chat()+"\r\nContent-Length: "+
		strconv.Itoa(len(question))+"\r\n\r\n"+question)
	s.must(err)
	all, err := io.ReadAll(c)
	if text := string(all); err != nil || !strings.HasPrefix(text, "HTTP/1.1 200") || strings.Contains(text, "Trailer") || strings.Contains(text, headerUsage) {
		t.Errorf("%v %s", err, text)
	}
}

// TestProviderErrorsPass: whatever the provider refuses with, the client has
// byte for byte, with its status and headers, unary or asked for as a stream.
func TestProviderErrorsPass(t *testing.T) {
	t.Parallel()
	quota := `{
  "error": {"code": 429, "message": "Quota exceeded  ü", "status": "RESOURCE_EXHAUSTED", "details": [
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}]}
}
`
	for name, c := range map[string]struct {
		status     int
		kind, body string
		header     string
	}{
		"quota":        {429, "application/json; charset=UTF-8", quota, "7"},
		"array":        {429, "application/json", "[" + quota + "]", ""},
		"odd type":     {400, "text/x-odd; a=\"b\"", `{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`, ""},
		"no type":      {503, "", "overloaded", "Wed, 21 Oct 2026 07:28:00 GMT"},
		"HTML":         {502, "text/html; charset=utf-8", "<html>\r\n<b>Bad Gateway</b>\x00\xff", ""},
		"event":        {500, "text/event-stream", "data: {\"error\":{\"code\":500}}\r\n\r\n", ""},
		"empty":        {504, "application/json", "", ""},
		"not modified": {403, "application/json", `{"error":{"code":403,"message":"The caller does not have permission","status":"PERMISSION_DENIED"}}`, ""},
	} {
		for _, path := range []string{generate, stream} {
			s := start(t, knobs{base: sender(func(*http.Request) (*http.Response, error) {
				resp := reply(c.status, c.kind, c.body)
				if c.kind == "" {
					resp.Header.Del("Content-Type")
				}
				if c.header != "" {
					resp.Header.Set("Retry-After", c.header)
				}
				resp.Header.Set("X-Gemini-Service-Tier", "standard")
				resp.Header["Vary"] = []string{"Origin", "X-Origin"}
				return resp, nil
			})})
			got := s.send(http.MethodPost, path, question, "x-goog-api-key", s.chat())
			if got.status != c.status || got.body != c.body || got.header.Get("Content-Type") != c.kind || got.header.Get("Retry-After") != c.header ||
				got.header.Get("X-Gemini-Service-Tier") != "standard" || len(got.header["Vary"]) != 2 {
				t.Errorf("%s %s: %d %v %q", name, path, got.status, got.header, got.body)
			}
			if d := got.header.Get(headerDecision); d != "admitted" && d != string(limiter.AdmittedThenProviderRejected) || got.header.Get(headerTraceID) == "" {
				t.Errorf("%s: decision %q", name, d)
			}
		}
	}
}

// TestOurKeyIsNotTheClients: that the provider refuses our key, a client is told as
// those are for whom no call is made: not in the provider's words, which read as if his
// own key were meant. It is so of the look at a dead key, too.
func TestOurKeyIsNotTheClients(t *testing.T) {
	t.Parallel()
	theirs := `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[
		{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`
	for _, path := range []string{generate, stream} {
		calls := 0
		s := start(t, knobs{base: sender(func(*http.Request) (*http.Response, error) {
			calls++
			return reply(400, "application/json", theirs), nil
		})})
		key := s.chat()
		for i, sent := range []int{1, 1, 2} { // the first opens the breaker, the second is held back, the third looks
			if i == 2 {
				_, err := s.lim.LookAgain(t.Context())
				s.must(err)
			}
			got := s.send(http.MethodPost, path, question, "x-goog-api-key", key)
			e := s.rpcError(got)
			if got.status != http.StatusServiceUnavailable || e.Status != unavailable || got.header.Get("Retry-After") == "" || strings.Contains(got.body, "pass a valid") ||
				s.info(got)["reason"] != string(limiter.ReasonCredentials) || calls != sent {
				t.Errorf("%s, call %d: %d %v %s; %d were sent", path, i, got.status, got.header, got.body, calls)
			}
		}
	}
}

// TestEachAnswerSaysWhatBecameOfIt: the headers of every kind of answer.
func TestEachAnswerSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	always := []string{headerDecision, headerTraceID}
	asked := append(always, headerWaited, headerEstimate)
	s := start(t, knobs{limits: limiter.Limits{RPM: 2, InputTPM: 1_000_000}})
	key := s.chat()
	call := func(path string) answer { return s.send(http.MethodPost, path, question, "x-goog-api-key", key) }
	for _, c := range []struct {
		name   string
		got    answer
		status int
		want   []string
	}{
		{"unary", call(generate), 200, append(asked, headerUsage, headerCost)},
		{"stream", call(stream), 200, asked},
		{"refused", call(generate), 429, append(asked, "Retry-After")},
		{"no key", s.send(http.MethodPost, generate, question), 403, always},
		{"no path", call("/nowhere"), 404, always},
	} {
		for _, h := range c.want {
			if c.got.status != c.status || c.got.header.Get(h) == "" {
				t.Errorf("%s: %d, no %s: %v", c.name, c.got.status, h, c.got.header)
			}
		}
	}
}

// TestRefusalSaysAll: all that a program needs is in the ErrorInfo, also of a
// refusal that no limit made.
func TestRefusalSaysAll(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{limits: limiter.Limits{RPM: 1, InputTPM: 1_000_000}})
	secret, id, err := s.keys.Add(t.Context(), Identity{Name: "acme", Project: "proj", Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: "acme", Team: "web"}})
	s.must(err)
	s.send(http.MethodPost, generate, question, "x-goog-api-key", secret)
	got := s.send(http.MethodPost, generate, question, "x-goog-api-key", secret, "x-nightshift-trace", "trace-4711")
	info := s.info(got)
	for field, want := range map[string]string{
		"type": "quota_denied", "limiter": "rpm", "node": "lane", "provider": "gemini", "project": "proj", "model": flash, "class": "interactive",
		"feature": "chat", "path_tenant": "acme", "path_team": "web", "path_key": id, "reason": "quota", "gateway_decision": "rejected_locally",
		"fallback_allowed": "*", "trace_id": "trace-4711", "retry_after_ms": "*", "retry_at": "*", "estimates_requests": "1", "estimates_input_tokens": "*",
		"limit": "1", "used": "1", "shortage": "1", "holders_interactive": "1",
	} {
		if v, ok := info[field]; !ok || want != "*" && v != want {
			t.Errorf("%s is %q, want %q", field, v, want)
		}
	}
	if !strings.Contains(got.body, `"reason": "QUOTA"`) || !strings.Contains(got.body, "RetryInfo") || got.header.Get("Retry-After") == "" {
		t.Errorf("%v %s", got.header, got.body)
	}
	info = s.info(s.send(http.MethodPost, generate, question, "x-goog-api-key", secret, "x-nightshift-class", "vip", "x-nightshift-trace", "trace-4712"))
	if info["type"] != "request_refused" || info["gateway_decision"] != "rejected_locally" || info["trace_id"] != "trace-4712" || info["project"] != "proj" {
		t.Errorf("%v", info)
	}
}

// info is the metadata of a refusal's own ErrorInfo.
func (s *setup) info(a answer) map[string]string {
	s.Helper()
	for _, d := range s.rpcError(a).Details {
		if d, ok := d.(map[string]any); ok && d["domain"] == "nightshift" {
			out := map[string]string{}
			for name, v := range d["metadata"].(map[string]any) {
				out[name] = v.(string)
			}
			return out
		}
	}
	s.Fatalf("no ErrorInfo of ours in %s", a.body)
	return nil
}
