package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"nightshift/limiter/gemini"
)

// pathOf gives a request's path under the prefix. What is escaped in it might
// mean something else behind us, so nothing may be.
func (g *Gateway) pathOf(u *url.URL) (string, *apiError) {
	if u.EscapedPath() != u.Path {
		return "", badRequest("the path has escaped characters: no model and no method needs any")
	}
	path, ok := strings.CutPrefix(u.Path, g.cfg.PathPrefix)
	if !ok || !strings.HasPrefix(path, "/") {
		return "", fail(http.StatusNotFound, notFound, "nothing is served here: this gateway is at %s/", g.cfg.PathPrefix)
	}
	return "/" + strings.TrimLeft(path, "/"), nil // a base URL with a slash at its end
}

var versions = []string{"v1beta", "v1", "v1alpha"}

// checkServed says what is wrong with a path that nobody needs a key to be told
// about. Models and methods are the transport's to judge.
func (g *Gateway) checkServed(path string) *apiError {
	var other *gemini.RefusedError
	if err := gemini.CheckPath(g.cfg.Vertex, path); errors.As(err, &other) {
		return notServed(other)
	}
	if g.cfg.Vertex != nil {
		return nil
	}
	version, rest, _ := strings.Cut(path[1:], "/")
	if !slices.Contains(versions, version) {
		return fail(http.StatusNotFound, notFound, "path %.200q is not Gemini's; %s", clean(path), served)
	}
	first, _, _ := strings.Cut(rest, "/")
	if slices.Contains(versions, first) {
		return fail(http.StatusNotFound, notFound, "path %.200q has the version twice: the SDK adds it, so leave it out of the base URL", clean(path))
	}
	if kind, _, _ := strings.Cut(first, ":"); kind != "models" && kind != "tunedModels" {
		return fail(http.StatusNotFound, notFound, "%.100q is not served; %s", clean(kind), served)
	}
	return nil
}
