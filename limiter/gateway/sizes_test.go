package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// image is a request with an inline image of so many bytes of base64.
func image(size int) string {
	return `{"contents":[{"parts":[{"text":"what is this?"},{"inlineData":{"mimeType":"image/png","data":"` + strings.Repeat("A", size) + `"}}]}]}`
}

// postImage sends one with its length announced or not.
func (s *setup) postImage(key, body string, chunked bool) answer {
	s.Helper()
	var r io.Reader = strings.NewReader(body)
	if chunked {
		r = struct{ io.Reader }{r}
	}
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+generate, r)
	s.must(err)
	req.Header.Set("X-Goog-Api-Key", key)
	return s.do(req)
}

// TestImageSizes: 5 and 18 MB reach the provider whole, 25 MB are a 413 in
// Gemini's shape, with the length announced or not.
func TestImageSizes(t *testing.T) {
	t.Parallel()
	var got int64
	s := start(t, knobs{base: sender(func(r *http.Request) (*http.Response, error) {
		n, err := io.Copy(io.Discard, r.Body)
		got = n
		if err != nil || r.ContentLength != n {
			t.Errorf("%d of %d bytes, %v", n, r.ContentLength, err)
		}
		return reply(200, "application/json", last[6:len(last)-4]), nil
	})})
	key := s.chat()
	for _, c := range []struct {
		size    int
		chunked bool
	}{{5 << 20, false}, {18 << 20, false}, {18 << 20, true}} {
		body := image(c.size)
		if a := s.postImage(key, body, c.chunked); a.status != http.StatusOK || got != int64(len(body)) {
			t.Errorf("%d MB, chunked %v: %d %s, %d bytes came", c.size>>20, c.chunked, a.status, a.body, got)
		}
	}
	got = 0
	for _, chunked := range []bool{false, true} {
		a := s.postImage(key, image(25<<20), chunked)
		if e := s.rpcError(a); a.status != http.StatusRequestEntityTooLarge || e.Status != invalidArgument || got != 0 {
			t.Errorf("25 MB, chunked %v: %d %s, %d bytes came", chunked, a.status, a.body, got)
		}
	}
	s.eventually("the memory is given back", func() bool { return len(s.gate.memory.pages) == 0 })
}

// TestManyImagesAtOnce: fifty of 256 KB through a memory for eight. Each has its
// answer, or is told to come again when its turn did not come in time.
func TestManyImagesAtOnce(t *testing.T) {
	t.Parallel()
	var most, now atomic.Int64
	s := start(t, knobs{
		base: sender(func(r *http.Request) (*http.Response, error) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			_, err := io.Copy(io.Discard, r.Body)
			now.Add(-1)
			return reply(200, "application/json", last[6:len(last)-4]), err
		}),
		config: func(c *Config) { c.Bounds.Memory = 8 << 18 },
	})
	key, body := s.chat(), image(1<<18-200)
	var all sync.WaitGroup
	var good atomic.Int64
	for range 50 {
		all.Go(func() {
			req, err := http.NewRequest(http.MethodPost, s.url+generate, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("X-Goog-Api-Key", key)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			switch {
			case resp.StatusCode == http.StatusOK:
				good.Add(1)
			case resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "":
				t.Errorf("%s %v", resp.Status, resp.Header)
			}
		})
	}
	all.Wait()
	if good.Load() == 0 || most.Load() > 8 {
		t.Errorf("%d were answered, %d were in memory at once, where there is room for 8", good.Load(), most.Load())
	}
	s.eventually("the memory is given back", func() bool { return len(s.gate.memory.pages) == 0 && s.state().InFlight == 0 })
}

// TestLargeEvents: an event of 100 KB, 2 MB or 20 MB passes whole and its usage
// is read, whatever the provider sends it in pieces of.
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	for i, size := range []int{100 << 10, 2 << 20, 20 << 20} {
		tokens := 1000 + i
		large := fmt.Sprintf("data: {\"candidates\":[{\"content\":{\"parts\":[{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"%s\"}}]},\"finishReason\":\"STOP\"}],"+
			"\"usageMetadata\":{\"promptTokenCount\":%d,\"candidatesTokenCount\":7,\"totalTokenCount\":%d}}\r\n\r\n", strings.Repeat("A", size), tokens, tokens+7)
		base, w := piped("text/event-stream")
		s := start(t, knobs{base: base})
		go func() {
			_, _ = io.WriteString(w, event+large)
			_ = w.Close()
		}()
		got := s.send(http.MethodPost, stream, question, "x-goog-api-key", s.chat())
		if got.status != http.StatusOK || !bytes.Equal([]byte(got.body), []byte(event+large)) {
			t.Errorf("%d bytes: %d, %d bytes came of %d", size, got.status, len(got.body), len(event+large))
		}
		s.eventually("its usage is charged", func() bool { return s.used("input_tpm") == int64(tokens) })
	}
}
