package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"nightshift/limiter/gemini"
)

// What a caller may say about its call.
const (
	headerClass   = "X-Nightshift-Class"   // lowers the class
	headerFeature = "X-Nightshift-Feature" // what the call is for
	headerTrace   = "X-Nightshift-Trace"   // the caller's own trace id
	headerSession = "X-Nightshift-Session" // names a conversation, all of which a ramp keeps at one model
)

const mostSession = 256

// observedClass is the class of callers that nobody knows yet. Most of them wait
// for their answer, and who does not shows by its traffic.
func (g *Gateway) observedClass() string {
	if slices.Contains(g.cfg.Classes, "interactive") {
		return "interactive"
	}
	return g.cfg.Classes[0]
}

// callerOf finds out who calls with a key, and as what. A report may name a
// feature for each of its calls, so it need not have one of its own.
func (g *Gateway) callerOf(ctx context.Context, key string, h http.Header, needFeature bool) (Identity, gemini.Caller, *apiError) {
	who, refused := g.identify(ctx, key)
	if refused != nil {
		return who, gemini.Caller{}, refused
	}
	class, refused := g.classOf(who, strings.ToLower(headerClass), h.Get(headerClass))
	if refused != nil {
		return who, gemini.Caller{}, refused
	}
	feature := who.feature(h.Get(headerFeature))
	if feature != "" || needFeature {
		if refused := g.refusesFeature(who, "x-nightshift-feature", feature); refused != nil {
			return who, gemini.Caller{}, refused
		}
	}
	session := h.Get(headerSession)
	if len(session) > mostSession {
		return who, gemini.Caller{}, badRequest("x-nightshift-session: want at most %d characters, a name of the conversation such as its id", mostSession)
	}
	path := who.Path
	path.Key = cmp.Or(path.Key, who.ID)
	return who, gemini.Caller{Class: class, Feature: feature, Path: path, Session: session}, nil
}

// refusesFeature says why a call, whose field names a feature, cannot be for it: by
// its key, or because there is no such feature. Who only observes refuses none.
func (g *Gateway) refusesFeature(who Identity, field, feature string) *apiError {
	if err := who.refuses(field, feature); err != nil {
		return err
	}
	if known := g.cfg.Features; len(known) > 0 && !g.cfg.Observe && !slices.Contains(known, feature) {
		return badRequest("%s: there is no feature %q (known: %s)", field, feature, strings.Join(known, ", ")).identity("feature")
	}
	return nil
}

// refuses says what of it is the key's.
func (i Identity) refuses(field, feature string) *apiError {
	only := ""
	if len(i.Features) > 0 {
		only = " of " + strings.Join(i.Features, ", ")
	}
	switch {
	case feature == "":
		return badRequest("%s: the call names none and key %s has none by default: want a name%s", field, i.ID, only).identity("no feature")
	case !featurePattern.MatchString(feature):
		return badRequest("%s: want 1 to 64 of a-z, 0-9, dot, dash and underscore", field).identity("feature")
	case !i.May(feature):
		return fail(http.StatusForbidden, permissionDenied, "%s: key %s may not be used for %q, only for one%s", field, i.ID, feature, only).identity("feature")
	}
	return nil
}

// identify gives the key's identity, if its project is ours.
func (g *Gateway) identify(ctx context.Context, key string) (Identity, *apiError) {
	who, err := g.cfg.Keys.Lookup(ctx, key)
	switch {
	case g.cfg.Observe && err != nil && !over(err):
		hash := keyHash(key)
		return Identity{ID: idOf(hash), Project: g.project, Class: g.observedClass(), Feature: "unknown-" + hash[:8]}, nil
	case errors.Is(err, ErrUnknownKey):
		return who, badKey("API key not valid. Please pass a valid API key: " +
			"this gateway knows those of `nightshift keys add`, and Gemini's own once `nightshift keys adopt` has taken them over.").identity("unknown key")
	case over(err):
		return who, badKey("API key not valid: " + err.Error() + " (" + who.ID + "). Please pass a valid API key.").identity("ended key")
	case err != nil:
		g.say("keys", "callers cannot be identified: Redis does not answer", err)
		return who, busy(time.Second, "the caller cannot be identified: the gateway cannot reach its Redis")
	case who.Project != g.project:
		return who, fail(http.StatusForbidden, permissionDenied, "key %s belongs to project %q, this gateway serves project %q", who.ID, who.Project, g.project).identity("project")
	}
	return who, nil
}

// over holds for what is said of a key that held once.
func over(err error) bool {
	return errors.Is(err, ErrRevoked) || errors.Is(err, ErrRotated) || errors.Is(err, ErrExpired)
}

// badKey is what Gemini answers for a key that it does not know.
func badKey(message string) *apiError {
	e := badRequest("%s", message)
	e.info("googleapis.com", "API_KEY_INVALID", map[string]string{"service": "generativelanguage.googleapis.com"})
	return e
}

// classOf gives the identity's class, or a lower one that the caller asks for in a
// header or a field of the body.
func (g *Gateway) classOf(who Identity, field, asked string) (string, *apiError) {
	own := slices.Index(g.cfg.Classes, who.Class)
	if own < 0 {
		return "", fail(http.StatusBadRequest, failedPrecondition, "key %s is for class %q, which is not configured (configured: %s)",
			who.ID, who.Class, strings.Join(g.cfg.Classes, ", ")).identity("class")
	}
	if asked == "" {
		return who.Class, nil
	}
	at := slices.Index(g.cfg.Classes, asked)
	switch {
	case at < 0:
		return "", badRequest("%s: no such class is configured (configured: %s)", field, strings.Join(g.cfg.Classes, ", ")).identity("class")
	case at < own:
		return "", fail(http.StatusForbidden, permissionDenied, "key %s is for class %s: %s may lower it, it may not raise it to %s", who.ID, who.Class, field, asked).identity("class")
	}
	return asked, nil
}

var (
	tracePattern  = regexp.MustCompile(`^[A-Za-z0-9._-]{8,64}$`)
	parentPattern = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16}-[0-9a-f]{2})`) // https://www.w3.org/TR/trace-context/
)

// parentOf is the caller's span in the trace; "" where the trace is not the one that its
// traceparent names.
func parentOf(h http.Header, trace string) string {
	if m := parentPattern.FindStringSubmatch(h.Get("Traceparent")); m != nil && m[1] == trace {
		return m[2]
	}
	return ""
}

// traceOf takes the caller's trace id over when it is one, and makes one otherwise.
func traceOf(h http.Header) string {
	if t := h.Get(headerTrace); tracePattern.MatchString(t) {
		return t
	}
	if m := parentPattern.FindStringSubmatch(h.Get("Traceparent")); m != nil && strings.Trim(m[1], "0") != "" {
		return m[1]
	}
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
