package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// credentialParams are query parameters that carry credentials at Google's
// APIs (https://cloud.google.com/apis/docs/system-parameters).
var credentialParams = []string{"key", "$key", "access_token", "$access_token", "oauth_token"}

// credentialHeaders never travel on.
var credentialHeaders = []string{"X-Goog-Api-Key", "Authorization", "Proxy-Authorization", "Cookie"}

// takeKey takes every credential off the request, also off the one that the
// server and whoever wraps this handler may log afterwards, and gives the one
// key that the caller sent. It strips whether or not it can make sense of them.
func takeKey(r *http.Request) (key string, err *apiError) {
	found := slices.Concat(r.Header.Values("X-Goog-Api-Key"), takeParams(r))
	auth := r.Header.Values("Authorization")
	for _, h := range credentialHeaders {
		r.Header.Del(h)
	}
	for _, a := range auth {
		scheme, token, _ := strings.Cut(a, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", badRequest("Authorization: only Bearer is accepted; send the key as x-goog-api-key, as Authorization: Bearer or as ?key=").identity("credentials")
		}
		found = append(found, token)
	}
	return oneKey(found)
}

// takeParams takes the credentials out of the query. A query that cannot be
// read goes as a whole, since nobody can say what is in it.
func takeParams(r *http.Request) []string {
	r.RequestURI = ""
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		r.URL.RawQuery = ""
	}
	var found []string
	for name, values := range query {
		if slices.Contains(credentialParams, strings.ToLower(name)) {
			found = append(found, values...)
			delete(query, name)
		}
	}
	if len(found) > 0 && err == nil {
		r.URL.RawQuery = query.Encode()
	}
	return found
}

// oneKey gives the key that all places agree on.
func oneKey(found []string) (string, *apiError) {
	key := ""
	for _, k := range found {
		k = strings.TrimSpace(k)
		if k != "" && key != "" && k != key {
			return "", badRequest("the request carries two different credentials: send one, as x-goog-api-key, as Authorization: Bearer or as ?key=").identity("credentials")
		}
		if k != "" {
			key = k
		}
	}
	if key == "" {
		return "", fail(http.StatusForbidden, permissionDenied, "Method doesn't allow unregistered callers (callers without established identity). "+
			"Please use a key of this gateway, as x-goog-api-key, as Authorization: Bearer or as ?key=; `nightshift keys add` makes one.").identity("no key")
	}
	return key, nil
}
