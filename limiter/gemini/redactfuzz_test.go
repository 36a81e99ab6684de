package gemini

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzRedact: no key comes through, whatever stands around it, and a text that was
// cleaned once stays as it is.
func FuzzRedact(f *testing.F) {
	for _, around := range [][2]string{
		{"https://host/v1?key=", "&alt=sse"}, {"X-Goog-Api-Key: [", "]"}, {"Bearer ", "\n"}, {"", ""}, {"key%3D", "%26"}, {"?key=AIza", ""}, {"\"", "\""}, {"é", "-"}, {"nsk_", "AAAA"},
	} {
		f.Add(around[0], around[1])
	}
	f.Fuzz(func(t *testing.T, before, behind string) {
		text := before + fuzzedKey + behind
		once := Redact(text)
		if strings.Contains(once, fuzzedKey) {
			t.Errorf("%q became %q", text, once)
		}
		if again := Redact(once); strings.Contains(again, fuzzedKey) {
			t.Errorf("%q became %q", once, again)
		}
	})
}

// FuzzVerdict: what is known of an answer is bounded, holds no key of it, comes out the
// same twice, and names no moment that nobody would wait for.
func FuzzVerdict(f *testing.F) {
	for _, s := range samples(f) {
		a := s.answer()
		f.Add(a.Status, a.Body, "17", uint(len(a.Body)/2))
	}
	for _, after := range []string{"", "-1", "1e9", "Wed, 21 Oct 2065 07:28:00 GMT", "NaN", "0.3s", "5h59m59s", "0x10", "Infinity"} {
		f.Add(429, []byte(`{"error":{"message":"Please retry in `+after+`","details":[{"retryDelay":"`+after+`"}]}}`), after, uint(20))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, after string, at uint) {
		place := int(at % uint(len(body)+1))
		with := []byte(string(body[:place]) + fuzzedKey + string(body[place:]))
		a := Answer{Status: status, Header: http.Header{"Retry-After": {after}}, Body: with}
		v := Classify(a, noon)
		said := strings.Join(v.Evidence, "\n") + string(v.Reason) + v.Bucket
		if strings.Contains(strings.ToLower(said), strings.ToLower(fuzzedKey)) {
			t.Errorf("%q: %s", with, said)
		}
		if len(said) > 8<<10 {
			t.Errorf("%q: %d bytes of evidence", with, len(said))
		}
		if v.RetryAfter < 0 || v.RetryAfter > longestHint || v.RetryAfter%time.Second != 0 {
			t.Errorf("%q: retry after %s", with, v.RetryAfter)
		}
		if !v.RetryAt.IsZero() && (v.RetryAt.Before(noon) || v.RetryAt.After(noon.AddDate(0, 2, 0))) {
			t.Errorf("%q: retry at %s", with, v.RetryAt)
		}
		if again := Classify(a, noon); again.Kind != v.Kind || again.Scope != v.Scope || !again.RetryAt.Equal(v.RetryAt) || strings.Join(again.Evidence, "\n") != strings.Join(v.Evidence, "\n") {
			t.Errorf("%q: %+v, then %+v", with, v, again)
		}
	})
}
