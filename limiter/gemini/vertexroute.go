package gemini

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// vertexRules is the allow-list of Vertex AI's methods. predict is how its older
// embedding models are called; of other models it makes images or videos.
var vertexRules = map[string]rule{
	"generateContent":       rules["generateContent"],
	"streamGenerateContent": rules["streamGenerateContent"],
	"embedContent":          rules["embedContent"],
	"predict":               {verb: http.MethodPost, tokens: true, perText: true},
	"countTokens":           rules["countTokens"],
	"":                      rules[""],
}

var vertexVersions = []string{"v1beta1", "v1"}

const (
	vertexServed = "this gateway serves generateContent, streamGenerateContent, embedContent, predict of embedding models, and countTokens " +
		"of models/… under publishers/google, with or without projects/PROJECT/locations/LOCATION before it, and models list and get, under /v1beta1 and /v1"
	vertexHere = "%q is a path of the Gemini API, and Vertex AI is called here: use the SDK's Vertex AI backend (genai.BackendVertexAI, vertexai: true)"
	geminiHere = "%q is a path of Vertex AI, and the Gemini API is called here: use the SDK's Gemini API backend (genai.BackendGeminiAPI, vertexai: false)"
	publisher  = "publishers/google/models"
)

// vertexPath holds for paths that only Vertex AI has.
func vertexPath(version, rest string) bool {
	return version == "v1beta1" || strings.HasPrefix(rest, "projects/") || strings.HasPrefix(rest, "publishers/")
}

// CheckPath says as a *RefusedError what is wrong with a path that is none of Vertex
// AI's Gemini models, whatever the project; for nil, of the Gemini API's.
func CheckPath(v *Vertex, path string) error {
	version, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if v == nil {
		if vertexPath(version, rest) {
			return refuse(http.StatusNotFound, geminiHere, path)
		}
		return nil
	}
	_, _, err := splitVertex(path)
	return err
}

// splitVertex gives version and rest of a path that may be one of Vertex AI's.
func splitVertex(path string) (version, rest string, err error) {
	version, rest, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	next, _, _ := strings.Cut(rest, "/")
	switch {
	case strings.HasPrefix(next, "models") || strings.HasPrefix(next, "tunedModels") || version == "v1beta" || version == "v1alpha":
		return "", "", notVertex(vertexHere, path)
	case !slices.Contains(vertexVersions, version):
		return "", "", notVertex("path %q: want /v1beta1 or /v1", path)
	case slices.Contains(vertexVersions, next):
		return "", "", notVertex("path %q has the version twice: the SDK adds it, so leave it out of the base URL", path)
	case next != "projects" && next != "publishers":
		return "", "", notVertex("path %q is none of a model", path)
	}
	return version, rest, nil
}

// notVertex is a 404 that says what is served.
func notVertex(format string, args ...any) error {
	return &RefusedError{Status: http.StatusNotFound, Why: clip(Redact(fmt.Sprintf(format, args...)), mostWhy), Served: vertexServed}
}

// parse reads "/v1beta1/projects/P/locations/L/publishers/google/models/NAME:METHOD",
// the same without project and location, and GET of the publisher's models.
func (v *Vertex) parse(path string) (route, error) {
	version, rest, err := splitVertex(path)
	if err != nil {
		return route{}, err
	}
	if rest, err = v.own(rest); err != nil {
		return route{}, err
	}
	if rest == publisher {
		return route{rule: vertexRules[""], version: version}, nil
	}
	name, method, called := strings.Cut(rest, ":")
	model, ok := strings.CutPrefix(name, publisher+"/")
	if !ok {
		return route{}, notVertex("%q is no model of Google's: want publishers/google/models/NAME", name)
	}
	if !validName(model) {
		return route{}, refuse(http.StatusBadRequest, "%q is not a model", name)
	}
	rule, known := vertexRules[method]
	if !known || called && method == "" || method == "predict" && !strings.Contains(model, "embedding") {
		return route{}, notVertex("method %q of %s is not one that goes through the gate", method, model)
	}
	return route{model: NormalizeModel(model), method: method, rule: rule, version: version}, nil
}

// own takes project and location off, which must be the ones that are called.
func (v *Vertex) own(rest string) (string, error) {
	below, named := strings.CutPrefix(rest, "projects/")
	if !named {
		return rest, nil
	}
	p := strings.SplitN(below, "/", 4)
	switch {
	case len(p) < 4 || p[1] != "locations":
		return "", notVertex("%q is none of a model", rest)
	case v.Project == "":
		return "", refuse(http.StatusForbidden, "calls are made in express mode here, with one key: leave project %q and location %q out", p[0], p[2])
	case p[0] != v.Project:
		return "", refuse(http.StatusForbidden, "project %q is not called here, only %q is", p[0], v.Project)
	case p[2] != v.Location:
		return "", refuse(http.StatusForbidden, "location %q is not called here, only %q is", p[2], v.Location)
	}
	return p[3], nil
}

// path writes a call's path. The list of models, and what there is to know of one,
// stand under no project.
func (v *Vertex) path(r route) string {
	path := "/" + r.version + "/"
	if v.Project != "" && r.method != "" {
		path += "projects/" + v.Project + "/locations/" + v.Location + "/"
	}
	path += publisher
	if r.model != "" {
		path += "/" + r.model
	}
	if r.method != "" {
		path += ":" + r.method
	}
	return path
}
