package gemini

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// sample is one answer as it was seen in the wild, and what it means.
type sample struct {
	Status  int               `json:"http_status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Verdict Kind              `json:"verdict"`
	Scope   Scope             `json:"scope"`
	Seconds *float64          `json:"seconds"`
	Why     string            `json:"why"`
}

func (s sample) answer() Answer {
	a := Answer{Status: s.Status, Header: http.Header{}, Body: s.Body}
	for k, v := range s.Headers {
		a.Header.Set(k, v)
	}
	var text string
	if json.Unmarshal(s.Body, &text) == nil {
		a.Body = []byte(text)
	}
	return a
}

func samples(t testing.TB) map[string]sample {
	t.Helper()
	names, _ := filepath.Glob("testdata/errors/*.json")
	if len(names) < 50 {
		t.Fatalf("found %d samples", len(names))
	}
	all := map[string]sample{}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var s sample
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[filepath.Base(name)] = s
	}
	return all
}

var noon = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC) // in Los Angeles

func TestSamples(t *testing.T) {
	for name, s := range samples(t) {
		v := Classify(s.answer(), noon)
		if v.Kind != s.Verdict || v.Scope != s.Scope {
			t.Errorf("%s: %s/%s (%s, %v), want %s/%s: %s", name, v.Kind, v.Scope, v.Reason, v.Evidence, s.Verdict, s.Scope, s.Why)
		}
		if s.Seconds != nil && v.RetryAfter.Seconds() != *s.Seconds {
			t.Errorf("%s: retry after %s, want %g s", name, v.RetryAfter, *s.Seconds)
		}
		if v.Reason == "" || len(v.Evidence) == 0 {
			t.Errorf("%s: no reason or evidence: %+v", name, v)
		}
	}
}
