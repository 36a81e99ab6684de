package geminitest

import (
	"net/url"
	"regexp"
	"strings"
)

// The methods, as they stand behind the colon of the path.
const (
	methodGenerate   = "generateContent"
	methodStream     = "streamGenerateContent"
	methodCount      = "countTokens"
	methodEmbed      = "embedContent"
	methodBatchEmbed = "batchEmbedContents"
	methodPredict    = "predict" // embeddings of Vertex AI
	methodList       = "models.list"
	methodGet        = "models.get"
)

var methods = map[string]bool{
	methodGenerate: true, methodStream: true, methodCount: true, methodEmbed: true, methodBatchEmbed: true, methodPredict: true,
}

// route is what a URL asks for.
type route struct {
	version string
	model   string
	method  string
	sse     bool
}

var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// parseRoute reads /{version}/models[/{model}[:{method}]]. The methods of
// other resources, and of models that we do not simulate, are not routes.
func parseRoute(httpMethod string, u *url.URL) (route, bool) {
	version, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	rest, vertex := withoutProject(rest)
	if !hasVersion(version, vertex) {
		return route{}, false
	}
	if rest == "models" {
		return route{version: version, method: methodList}, httpMethod == "GET"
	}
	name, isModel := strings.CutPrefix(rest, "models/")
	if !isModel {
		return route{}, false
	}
	name, method, called := strings.Cut(name, ":")
	if !modelName.MatchString(name) {
		return route{}, false
	}
	if !called {
		return route{version: version, model: name, method: methodGet}, httpMethod == "GET"
	}
	r := route{version: version, model: name, method: method}
	r.sse = strings.Contains(u.RawQuery, "alt=sse") && u.Query().Get("alt") == "sse"
	return r, httpMethod == "POST" && hasMethod(method, vertex)
}

func hasVersion(version string, vertex bool) bool {
	return version == "v1" || (version == "v1beta1") == vertex && (vertex || version == "v1beta" || version == "v1alpha")
}

func hasMethod(method string, vertex bool) bool {
	switch method {
	case methodBatchEmbed:
		return !vertex
	case methodPredict:
		return vertex
	}
	return methods[method]
}

// vertexPrefix is what stands before the models of Vertex AI.
var vertexPrefix = regexp.MustCompile(`^(projects/[a-z0-9-]+/locations/[a-z0-9-]+/)?publishers/google/`)

// withoutProject takes that off, if it is there: one server simulates the Gemini API
// and Vertex AI, which answer alike.
func withoutProject(rest string) (string, bool) {
	prefix := vertexPrefix.FindString(rest)
	return rest[len(prefix):], prefix != ""
}
