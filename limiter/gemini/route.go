package gemini

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// rule is what one method of the API costs.
type rule struct {
	verb    string
	tokens  bool // takes a permit with requests and tokens
	perText bool // each text of the batch is a request (https://ai.google.dev/gemini-api/docs/rate-limits counts embeddings so)
	counted bool // has the transport's own small limit instead of a permit
	stream  bool
}

// rules is the allow-list: what is not here is refused before a permit is
// taken. The empty method is reading about models.
var rules = map[string]rule{
	"generateContent":       {verb: http.MethodPost, tokens: true},
	"streamGenerateContent": {verb: http.MethodPost, tokens: true, stream: true},
	"embedContent":          {verb: http.MethodPost, tokens: true},
	"batchEmbedContents":    {verb: http.MethodPost, tokens: true, perText: true},
	"countTokens":           {verb: http.MethodPost, counted: true},
	"":                      {verb: http.MethodGet},
}

var versions = []string{"v1", "v1beta", "v1alpha"}

// route is where a request goes.
type route struct {
	model  string // normalized; "" for the list of models
	method string
	rule   rule

	version string // of the API
}

// RefusedError says why a request is not one that may go to Gemini. No permit
// was taken and nothing was sent.
type RefusedError struct {
	Status int    // what an HTTP server should answer: 400, 403, 404, 405, 413 or 415
	Why    string // for the caller; holds no credentials
	Served string // what is served, where that is not the Gemini API; "" otherwise
}

// Error is the reason.
func (e *RefusedError) Error() string { return "refused: " + e.Why }

// mostWhy is how long a refusal may be, which quotes what was asked for.
const mostWhy = 500

func refuse(status int, format string, args ...any) error {
	return &RefusedError{Status: status, Why: clip(Redact(fmt.Sprintf(format, args...)), mostWhy)}
}

// routeOf reads a request's URL. Both the path as sent and the path as decoded
// must match, so that no escape reaches another method of the back end.
func (t *Transport) routeOf(req *http.Request) (route, error) {
	u := req.URL
	if u.Opaque != "" || u.User != nil || u.Scheme != t.base.Scheme || u.Host != t.base.Host {
		return route{}, refuse(http.StatusBadRequest, "this transport sends to %s://%s only", t.base.Scheme, t.base.Host)
	}
	raw, okRaw := strings.CutPrefix(u.EscapedPath(), t.base.EscapedPath())
	decoded, ok := strings.CutPrefix(u.Path, t.base.Path)
	if !ok || !okRaw || raw != decoded {
		return route{}, refuse(http.StatusBadRequest, "path %q is not a plain path under %q", u.EscapedPath(), t.base.Path)
	}
	parse := parseRoute
	if t.cfg.Vertex != nil {
		parse = t.cfg.Vertex.parse
	}
	r, err := parse(decoded)
	if err == nil && req.Method != r.rule.verb {
		err = refuse(http.StatusMethodNotAllowed, "%s wants %s, not %s", decoded, r.rule.verb, req.Method)
	}
	return r, err
}

// parseRoute reads "/v1beta/models/NAME:METHOD", "/v1beta/models/NAME" and
// "/v1beta/models".
func parseRoute(path string) (route, error) {
	version, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if vertexPath(version, rest) {
		return route{}, refuse(http.StatusNotFound, geminiHere, path)
	}
	if !slices.Contains(versions, version) {
		return route{}, refuse(http.StatusNotFound, "path %q: want /v1, /v1beta or /v1alpha", path)
	}
	if next, _, _ := strings.Cut(rest, "/"); slices.Contains(versions, next) {
		return route{}, refuse(http.StatusNotFound, "path %q has the version twice: the SDK adds it, so leave it out of the base URL", path)
	}
	if rest == "models" {
		return route{rule: rules[""], version: version}, nil
	}
	name, method, called := strings.Cut(rest, ":")
	rule, known := rules[method]
	if !known || (called && method == "") {
		return route{}, refuse(http.StatusNotFound, "method %q is not one that goes through the gate", method)
	}
	if !resourceName(name) {
		return route{}, refuse(http.StatusBadRequest, "%q is not a model", name)
	}
	return route{model: NormalizeModel(name), method: method, rule: rule, version: version}, nil
}

// resourceName holds for "models/NAME" and "tunedModels/NAME".
func resourceName(s string) bool {
	kind, name, _ := strings.Cut(s, "/")
	return (kind == "models" || kind == "tunedModels") && validName(name)
}

// validModel holds for what NormalizeModel may give.
func validModel(s string) bool {
	return validName(strings.TrimPrefix(s, "tunedmodels/"))
}

// validName holds for letters, digits, dots, dashes and underscores, beginning
// with a letter or digit and without two dots in a row.
func validName(s string) bool {
	if s == "" || len(s) > 128 || strings.Contains(s, "..") {
		return false
	}
	for i, c := range []byte(s) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '-' && c != '_') {
			return false
		}
	}
	return true
}

// baseOf reads the configured base URL; its path keeps no slash at the end.
func baseOf(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("base URL %q: want http(s)://host[/prefix]", Redact(s))
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}
