package gemini

import (
	"encoding/json"
	"errors"
	"testing"
)

// TestSavedSamples: a sample's file as it is saved, and its body alone, mean what
// the answer meant.
func TestSavedSamples(t *testing.T) {
	for name, s := range samples(t) {
		file, _ := json.Marshal(map[string]any{"name": name, "http_status": s.Status, "headers": s.Headers, "body": s.Body, "verdict": "ignored"})
		for form, raw := range map[string][]byte{"saved": file, "its body": s.Body, "its text": s.answer().Body} {
			a, err := ParseSaved(raw)
			if err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
				continue
			}
			v := Classify(a, noon)
			if v.Kind != s.Verdict || v.Scope != s.Scope || s.Seconds != nil && v.RetryAfter.Seconds() != *s.Seconds {
				t.Errorf("%s, %s: %+v, want %s/%s", name, form, v, s.Verdict, s.Scope)
			}
		}
	}
}

func TestSavedForms(t *testing.T) {
	for in, want := range map[string]struct {
		status int
		body   string
	}{
		`{"http_status":503,"body":"<html>"}`:                           {503, "<html>"},
		`{"http_status":null,"body":{"error":1}}`:                       {0, `{"error":1}`},
		`{"http_status":429}`:                                           {429, ""},
		`{"http_status":1011,"body":"x"}`:                               {1011, "x"},
		`{"body":"x","status":"ignored"}`:                               {0, "x"},
		`{"error":{"code":429},"body":1}`:                               {0, `{"error":{"code":429},"body":1}`},
		`"{\"error\":{}}"`:                                              {0, `{"error":{}}`},
		"data: {}\n\n":                                                  {200, "data: {}"},
		`{"candidates":[{"finishReason":"STOP"}]}`:                      {200, `{"candidates":[{"finishReason":"STOP"}]}`},
		`[{"error":{"code":429}}]`:                                      {0, `[{"error":{"code":429}}]`},
		`{"error":{"code":42`:                                           {0, `{"error":{"code":42`},
		"some text":                                                     {0, "some text"},
		"\ufeff" + `{"http_status":500,"headers":{"A":7},"body":null} `: {500, ""},
	} {
		a, err := ParseSaved([]byte(in))
		if err != nil || a.Status != want.status || string(a.Body) != want.body {
			t.Errorf("%s: %d %q, %v; want %d %q", in, a.Status, a.Body, err, want.status, want.body)
		}
	}
}

func TestSavedWrong(t *testing.T) {
	for in, field := range map[string]string{
		"":                                       "",
		" \n":                                    "",
		`{"http_status":42}`:                     "http_status",
		`{"http_status":429.5}`:                  "http_status",
		`{"http_status":"429","body":""}`:        "http_status",
		`{"http_status":429,"headers":"x"}`:      "headers",
		`{"http_status":429,"headers":{"A":{}}}`: "headers",
		`{"http_status":429,"body":{"error":`:    "",
		`{"http_status":429} {"x":1}`:            "",
	} {
		_, err := ParseSaved([]byte(in))
		if saved, ok := errors.AsType[*SavedError](err); !ok || saved.Field != field {
			t.Errorf("%s: %v, want one about %q", in, err, field)
		}
	}
}
