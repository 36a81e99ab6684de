package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestPathsThatMeanSomethingElse: no escape and no other method reaches the
// provider, whoever asks.
func TestPathsThatMeanSomethingElse(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	key := s.chat()
	for _, path := range []string{
		"/v1beta/models/%2e%2e/%2e%2e/v1beta/files",
		"/v1beta/models/..%2f..%2ffiles:generateContent",
		"/v1beta/models/" + flash + "%2ffiles:generateContent",
		"/v1beta/models/" + flash + "%3AgenerateContent",
		"/v1beta/models/" + flash + "%253AgenerateContent",
		"/v1beta/models/" + flash + "%00:generateContent",
		"/v1beta/models/..:generateContent",
		"/v1beta/models/../files:generateContent",
		"/v1beta/models/" + flash + ";x=y:generateContent",
		"/v1beta/models/" + flash + "/cachedContents",
		"/v1beta/models/" + flash + ":batchGenerateContent",
		"/v1beta/models/" + flash + ":generateContent:streamGenerateContent",
		"/v1beta/models/" + flash + ":",
		"/v1beta/models/:generateContent",
		"/v1beta/cachedContents",
		"/v1beta/models//" + flash + ":generateContent",
		"/v1beta//models/" + flash + ":generateContent",
		"/v1/observe/../models/" + flash + ":generateContent",
		"/../v1beta/models",
		"/v1beta/models/x\\y:generateContent",
	} {
		got := s.send(http.MethodPost, path, question, "x-goog-api-key", key)
		s.rpcError(got)
		if got.status != http.StatusBadRequest && got.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	s.untouched()
	s.refused(s.send(http.MethodGet, generate, "", "x-goog-api-key", key), http.StatusMethodNotAllowed, "POST")
	s.refused(s.send(http.MethodDelete, "/v1beta/models/"+flash, "", "x-goog-api-key", key), http.StatusMethodNotAllowed, "GET")
	s.refused(s.send(http.MethodPost, "/v1beta/models/unheard-of:generateContent", question, "x-goog-api-key", key), http.StatusNotFound, "unheard-of")
}

// TestRequestsThatAreNone: each is answered in Gemini's shape, without a permit.
func TestRequestsThatAreNone(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	key := s.chat()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(question))
	s.must(z.Close())
	flood := []string{"x-goog-api-key", key}
	for i := range 80 {
		flood = append(flood, fmt.Sprintf("X-Flood-%d", i), strings.Repeat("f", 500))
	}
	for name, c := range map[string]struct {
		status int
		text   string
		body   string
		header []string
	}{
		"gzip":          {http.StatusUnsupportedMediaType, "gzip", zipped.String(), []string{"Content-Encoding", "gzip"}},
		"no JSON":       {http.StatusBadRequest, "JSON", "hello", nil},
		"half a JSON":   {http.StatusBadRequest, "JSON", question[:20], nil},
		"two documents": {http.StatusBadRequest, "JSON", question + question, nil},
		"websocket":     {http.StatusBadRequest, "upgrade", question, []string{"Connection", "Upgrade", "Upgrade", "websocket"}},
		"many headers":  {http.StatusRequestHeaderFieldsTooLarge, "headers", question, flood},
		"bad feature":   {http.StatusBadRequest, "feature", question, []string{"x-nightshift-feature", "No Such"}},
		"a class above": {http.StatusForbidden, "raise", question, []string{"x-nightshift-class", "interactive", "x-goog-api-key", s.key("bulk", "nightly")}},
		"no class":      {http.StatusBadRequest, "interactive, bulk", question, []string{"x-nightshift-class", "vip"}},
	} {
		header := c.header
		if !strings.Contains(strings.Join(header, " "), "x-goog-api-key") {
			header = append(header, "x-goog-api-key", key)
		}
		t.Log(name)
		s.refused(s.send(http.MethodPost, generate, c.body, header...), c.status, c.text)
	}
}

// TestOfferOfHTTP2IsPassedOver: some clients add it to every plain request.
func TestOfferOfHTTP2IsPassedOver(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	got := s.send(http.MethodPost, generate, question, "x-goog-api-key", s.chat(),
		"Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "HTTP2-Settings", "AAMAAABkAAQAoAAAAAIAAAAA")
	if got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestSwitchedProtocols: an answer that is none of Gemini's goes nowhere.
func TestSwitchedProtocols(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{base: sender(func(*http.Request) (*http.Response, error) {
		resp := reply(http.StatusSwitchingProtocols, "", "")
		resp.Header.Set("Upgrade", "websocket")
		return resp, nil
	})})
	got := s.send(http.MethodPost, generate, question, "x-goog-api-key", s.chat())
	if e := s.rpcError(got); got.status != http.StatusBadGateway || got.header.Get("Upgrade") != "" {
		t.Errorf("%d %v", got.status, e)
	}
}

// TestLargeBodies: up to the limit they pass; beyond it the caller, who writes
// all before it reads, still reads a 413, with its length announced or not.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{config: func(c *Config) { c.Bounds.Body = 1 << 20 }})
	key := s.chat()
	send := func(size int, chunked bool) answer {
		var body io.Reader = strings.NewReader(`{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"` + strings.Repeat("A", size) + `"}}]}]}`)
		if chunked {
			body = struct{ io.Reader }{body}
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+generate, body)
		s.must(err)
		req.Header.Set("X-Goog-Api-Key", key)
		return s.do(req)
	}
	for _, chunked := range []bool{false, true} {
		s.refused(send(1_200_000, chunked), http.StatusRequestEntityTooLarge, "1048576 bytes")
	}
	for _, chunked := range []bool{false, true} {
		if got := send(900_000, chunked); got.status != http.StatusOK {
			t.Errorf("900 kB, chunked %v: %d %s", chunked, got.status, got.body)
		}
	}
	s.eventually("the memory is given back", func() bool { return len(s.gate.memory.pages) == 0 })
}

// TestHugeBodyIsNotAskedFor: a client that waits to be asked for its body gets
// the 413 at once.
func TestHugeBodyIsNotAskedFor(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	s.must(err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: g\r\nX-Goog-Api-Key: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", generate, s.chat(), 25<<20)
	s.must(err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	s.must(err)
	s.refused(read(t, resp), http.StatusRequestEntityTooLarge, "22020096 bytes")
}

// TestMemoryForBodiesIsBounded: who finds no room is told to come again, and
// what is given back is there for the next.
func TestMemoryForBodiesIsBounded(t *testing.T) {
	t.Parallel()
	arrived, leave := make(chan struct{}), make(chan struct{})
	s := start(t, knobs{
		base: sender(func(*http.Request) (*http.Response, error) {
			arrived <- struct{}{}
			<-leave
			return reply(200, "application/json", `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`), nil
		}),
		config: func(c *Config) { c.Bounds.Memory = 1 << 20 },
	})
	key := s.chat()
	body := `{"contents":[{"parts":[{"text":"` + strings.Repeat("word ", 150_000) + `"}]}]}`
	first := make(chan answer, 1)
	go func() { first <- s.send(http.MethodPost, generate, body, "x-goog-api-key", key) }()
	<-arrived
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+generate, struct{ io.Reader }{strings.NewReader(body)})
	s.must(err)
	req.Header.Set("X-Goog-Api-Key", key)
	got := s.do(req)
	if e := s.rpcError(got); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" || !strings.Contains(e.Message, "memory") {
		t.Errorf("%d %s", got.status, got.body)
	}
	small := make(chan answer, 1)
	go func() { small <- s.send(http.MethodPost, generate, question, "x-goog-api-key", key) }()
	<-arrived // a small one needs no room
	close(leave)
	for _, c := range []chan answer{first, small} {
		if got := <-c; got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	s.eventually("the memory is given back", func() bool { return len(s.gate.memory.pages) == 0 })
}
