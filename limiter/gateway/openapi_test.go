package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

// TestOpenAPIDocument is one of OpenAPI 3.1 by the specification's own schema.
func TestOpenAPIDocument(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(oasSchema); err != nil {
		cannot(t, "the schema of OpenAPI 3.1 is not installed: npm ci --prefix "+nodeDir)
	}
	j, err := described()
	if err == nil {
		err = j.document()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// exchange makes a request and holds it and its answer against the description.
// sound says that the request is as described; it must then not be refused for
// what it is.
func (s *setup) exchange(sound bool, method, path, body string, header ...string) answer {
	s.Helper()
	j, err := described()
	s.must(err)
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	if err := j.request(method, path, body, h); (err == nil) != sound {
		s.Errorf("%s %s %.300s: described: %t, want %t: %v", method, path, body, err == nil, sound, err)
	}
	got := s.send(method, path, body, header...)
	if err := j.answer(method, path, got); err != nil {
		s.Errorf("%s %s: answer %d %s is not as described: %v", method, path, got.status, got.body, err)
	}
	return got
}

// TestOpenAPIServed: to anyone, also beside a path prefix, and only to be read.
func TestOpenAPIServed(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "/gemini"} {
		s := start(t, knobs{config: func(c *Config) { c.PathPrefix = prefix }})
		for _, at := range []string{"", prefix} {
			got := s.send(http.MethodGet, at+"/openapi.json?key=wrong", "")
			var doc struct {
				OpenAPI string
				Servers []struct{ URL string }
				Paths   map[string]any
			}
			if err := json.Unmarshal([]byte(got.body), &doc); err != nil || got.status != http.StatusOK || !strings.HasPrefix(doc.OpenAPI, "3.1") || len(doc.Paths) < 8 {
				t.Fatalf("%d %v: %.200s", got.status, err, got.body)
			}
			// Where a client finds the API by the document alone.
			base, err := url.Parse(s.url + prefix + "/openapi.json")
			s.must(err)
			server, err := base.Parse(doc.Servers[0].URL + "/v1/permits")
			s.must(err)
			if want := s.url + prefix + "/v1/permits"; server.String() != want {
				t.Errorf("the document leads to %s, want %s", server, want)
			}
		}
		s.refused(s.send(http.MethodPost, prefix+"/openapi.json", ""), http.StatusMethodNotAllowed, "wants GET")
	}
}

// TestOpenAPIExamples: what the description shows can be sent as it is.
func TestOpenAPIExamples(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	key := s.chat()
	var loose struct{ Paths map[string]json.RawMessage }
	s.must(json.Unmarshal(openAPIDocument(), &loose))
	sent := 0
	for path, raw := range loose.Paths {
		var item struct {
			Post struct {
				RequestBody struct {
					Content map[string]struct {
						Example  json.RawMessage
						Examples map[string]struct{ Value json.RawMessage }
					}
				}
			}
		}
		s.must(json.Unmarshal(raw, &item))
		c := item.Post.RequestBody.Content["application/json"]
		examples := map[string]json.RawMessage{}
		if len(c.Example) > 0 {
			examples["example"] = c.Example
		}
		for name, e := range c.Examples {
			examples[name] = e.Value
		}
		for name, value := range examples {
			var b bytes.Buffer
			s.must(json.Compact(&b, value))
			at := path
			if strings.Contains(path, "{id}") {
				at = strings.Replace(path, "{id}", s.permit(key).ID, 1)
			}
			if at == observePath {
				continue // TestObserve
			}
			if got := s.exchange(true, http.MethodPost, at, b.String(), "x-goog-api-key", key); got.status != http.StatusOK {
				t.Errorf("%s, %s: %d %s", path, name, got.status, got.body)
			}
			sent++
		}
	}
	if sent < 8 {
		t.Errorf("%d examples", sent)
	}
}
