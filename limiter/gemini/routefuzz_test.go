package gemini

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const fuzzedKey = "AIzaSyFuzzed0123456789abcdefghijklmnopq"

// FuzzRoute: what is let through is a path of one model and one known method, which can
// be written again from what was understood; what is refused is refused without a key.
func FuzzRoute(f *testing.F) {
	for _, path := range []string{
		"/v1beta/models/gemini-2.5-flash:generateContent", "/v1/models", "/v1alpha/tunedModels/x:streamGenerateContent", "/v1beta/models/../x:countTokens",
		"/v1beta/models/a%2fb:generateContent", "/v1beta//models/a", "/v1beta/v1beta/models/a", "/v1/models/a:", "/v1/models/a:b:generateContent", "/v1/files/a",
		"/v1beta1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:generateContent", "/v1/publishers/google/models/text-embedding-004:predict",
		"/v1/publishers/google/models", "/v1/projects/q/locations/global/publishers/google/models/m:countTokens", "/v1/projects/p/locations/eu/publishers/google/models/m",
		"/v1/projects/p/locations/global/../../q/models/m:generateContent", "/v1beta/models/m:generateContent?key=" + fuzzedKey, "/" + fuzzedKey, "",
	} {
		f.Add(path)
	}
	vertex := &Vertex{Project: "p", Location: "global"}
	f.Fuzz(func(t *testing.T, path string) {
		r, err := parseRoute(path)
		checkRoute(t, path, r, err)
		if err == nil {
			kept := "/" + r.version + "/models"
			if r.model != "" {
				_, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
				name, _, _ := strings.Cut(rest, ":")
				if NormalizeModel(name) != r.model {
					t.Errorf("%q is taken for %q", path, r.model)
				}
				kept = "/" + r.version + "/" + name
			}
			if r.method != "" {
				kept += ":" + r.method
			}
			if kept != "/"+strings.TrimPrefix(path, "/") {
				t.Errorf("%q is understood as %q", path, kept)
			}
		}
		r, err = vertex.parse(path)
		checkRoute(t, path, r, err)
		if err != nil {
			return
		}
		again, err := vertex.parse(vertex.path(r))
		if err != nil || again != r {
			t.Errorf("%q: %+v is written %q and read %+v, %v", path, r, vertex.path(r), again, err)
		}
		if strings.Contains(path, "projects/") && !strings.Contains(path, "/projects/p/locations/global/") {
			t.Errorf("%q reaches another project", path)
		}
	})
}

func checkRoute(t *testing.T, path string, r route, err error) {
	t.Helper()
	if err != nil {
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Status/100 != 4 || refused.Why == "" || strings.Contains(err.Error(), fuzzedKey) {
			t.Errorf("%q: %v", path, err)
		}
		if len(err.Error()) > 600 {
			t.Errorf("%d bytes about a path of %d", len(err.Error()), len(path))
		}
		return
	}
	if r.rule.verb != http.MethodGet && r.rule.verb != http.MethodPost || !slices.Contains(append(versions, vertexVersions...), r.version) {
		t.Errorf("%q: %+v", path, r)
	}
	if r.model != "" && !validModel(r.model) || r.model == "" && r.method != "" {
		t.Errorf("%q: model %q", path, r.model)
	}
	if strings.Contains(path, "..") || strings.Contains(path, "//") || strings.ContainsAny(path, "%?#\\ \x00\n") {
		t.Errorf("%q is let through", path)
	}
	if u, err := url.Parse("https://host" + path); err != nil || u.EscapedPath() != path {
		t.Errorf("%q is another path in a URL: %v", path, u)
	}
}
