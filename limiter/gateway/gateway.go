package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"nightshift/limiter/gemini"
)

// visit is one request on its way through the gateway.
type visit struct {
	g       *Gateway
	w       *slowWriter
	r       *http.Request
	trace   string
	who     Identity // whose key it came with
	caller  gemini.Caller
	obs     *gemini.Observation // nil until the call is handed to the transport
	body    *body               // nil until then
	refused bool                // there was no call, or it got no answer
	status  int                 // of the answer; 0 for one that broke off before it began
}

// ServeHTTP serves Gemini's paths, /healthz, /readyz, /openapi.json, /v1/observe and
// /v1/permits. It takes
// credentials off the request that it is given, so that whoever wraps it cannot
// log them.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := &visit{g: g, w: newSlowWriter(w, g.cfg.Bounds.Chunk), r: r}
	v.w.stop() // what the call before left on the connection
	defer v.end()
	key, bad := takeKey(r)
	v.trace = traceOf(r.Header)
	if err := v.serve(key, bad); err != nil {
		v.fail(err)
	}
}

// serve answers, or says why not. bad is what is wrong with the key, which
// matters only where one is needed.
func (v *visit) serve(key string, bad *apiError) *apiError {
	switch strings.TrimPrefix(v.r.URL.Path, v.g.cfg.PathPrefix) { // what watches us need not know the prefix
	case "/healthz":
		return v.health()
	case "/readyz":
		return v.ready()
	case openAPIPath:
		return v.openAPI()
	}
	path, err := v.g.pathOf(v.r.URL)
	if err != nil {
		return err
	}
	if err := v.wellFormed(path); err != nil {
		return err
	}
	if bad != nil {
		return bad
	}
	if v.who, v.caller, err = v.g.callerOf(v.r.Context(), key, v.r.Header, !ownPath(path)); err != nil {
		return err
	}
	v.caller.TraceID, v.caller.Parent = v.trace, parentOf(v.r.Header, v.trace)
	if ownPath(path) {
		return v.serveOwn(path)
	}
	return v.forward(path)
}

// wellFormed refuses what no call for Gemini looks like.
func (v *visit) wellFormed(path string) *apiError {
	if v.r.URL.Host != "" {
		return badRequest("this gateway is no proxy: send the path alone, with the gateway's address as base URL")
	}
	size := 0
	for name, values := range v.r.Header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	if size > v.g.cfg.Bounds.Header {
		return fail(http.StatusRequestHeaderFieldsTooLarge, invalidArgument, "the request's headers have %d bytes, %d are accepted", size, v.g.cfg.Bounds.Header)
	}
	// Some clients offer HTTP/2 with every plain request; a server may pass over it.
	if up := v.r.Header.Get("Upgrade"); up != "" && !strings.EqualFold(up, "h2c") {
		return badRequest("upgrades are not served: the Live API does not go through this gateway")
	}
	if ownPath(path) {
		return nil
	}
	return v.g.checkServed(path)
}

var errCallTime = errors.New("the call took longer than the gateway lets any call take")

// forward hands the call to the transport.
func (v *visit) forward(path string) *apiError {
	ctx, cancel := context.WithCancelCause(v.r.Context())
	defer cancel(nil)
	// A timer and no deadline: the permit's lease would follow the deadline.
	defer time.AfterFunc(v.g.cfg.Bounds.Call, func() { cancel(errCallTime) }).Stop()
	var err *apiError
	if v.body, err = v.g.bodyOf(ctx, v.r, v.w.rc); err != nil {
		return err
	}
	ctx, v.obs = gemini.Observe(gemini.WithCaller(ctx, v.caller))
	out := v.r.WithContext(context.WithValue(ctx, visitKey{}, &forwarded{v, path}))
	if v.r.Body != nil && v.r.Body != http.NoBody {
		out.Body = v.body
	}
	v.g.proxy.ServeHTTP(v.w, out)
	return nil
}

// fail answers with an error. What the client still sends of a refused request
// is read first.
func (v *visit) fail(e *apiError) {
	v.refused, v.status = true, e.Code
	v.describe(v.w.Header())
	v.explain(e)
	if e.whose != "" { // the message may repeat what the caller sent, so it is not logged
		v.g.say("identity: "+e.whose, "callers are refused for who they are", nil, "status", e.Code, "key", v.who.ID, "trace_id", v.trace)
	}
	if e.Code != statusClientGone {
		drain(v.r, v.w.rc)
	}
	e.write(v.w)
}

// explain says to programs that it is this gateway that refuses, and under which
// id it did, where nothing says so already.
func (v *visit) explain(e *apiError) {
	if slices.ContainsFunc(e.Details, func(d any) bool { info, is := d.(errorInfo); return is && info.Domain == "nightshift" }) {
		return
	}
	e.info("nightshift", e.Status, v.metadata())
}

// metadata is what is said of any call that is refused.
func (v *visit) metadata() map[string]string {
	return map[string]string{
		"type": "request_refused", "gateway_decision": string(v.decision()), "trace_id": v.trace, "project": v.g.project,
		"class": v.caller.Class, "feature": v.caller.Feature,
	}
}

// end gives back what the visit held. The time of the last piece stays set: the
// server still writes what is left in its buffer.
func (v *visit) end() {
	v.w.start()
	if v.body != nil {
		v.body.free()
	}
	if v.trace == "" || !v.refused && v.caller.Class == "" || !v.g.log.Enabled(v.r.Context(), slog.LevelDebug) {
		return
	}
	v.g.log.Debug("call", "trace_id", v.trace, "path", clean(v.r.URL.Path), "class", v.caller.Class,
		"feature", v.caller.Feature, "key", v.caller.Path.Key, "status", v.status, "decision", string(v.decision()))
}
