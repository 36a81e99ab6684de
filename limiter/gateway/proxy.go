package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"

	"nightshift/limiter"
)

type visitKey struct{}

// forwarded is a visit on its way out, with the path to call.
type forwarded struct {
	*visit
	path string
}

func forwardedOf(ctx context.Context) *forwarded { return ctx.Value(visitKey{}).(*forwarded) }

func (g *Gateway) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		ModifyResponse: modifyResponse,
		ErrorHandler:   answerError,
		Transport:      wayOut{g.cfg.Transport},
		BufferPool:     &buffers{},
		ErrorLog:       slog.NewLogLogger(g.log.Handler(), slog.LevelDebug), // clients that went; the transport cleans its errors
	}
}

// wayOut makes sure that an answer knows its request.
type wayOut struct{ http.RoundTripper }

// RoundTrip is the transport's.
func (o wayOut) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Request = r
	}
	return resp, err
}

// rewrite makes the call for the provider. Credentials are off already, the
// transport puts its own on.
func (g *Gateway) rewrite(p *httputil.ProxyRequest) {
	f := forwardedOf(p.In.Context())
	u := *g.base
	u.Path += f.path
	if u.RawPath != "" {
		u.RawPath += f.path
	}
	u.RawQuery = p.Out.URL.RawQuery
	p.Out.URL, p.Out.Host = &u, ""
	for name := range p.Out.Header {
		if strings.HasPrefix(name, "X-Nightshift-") {
			p.Out.Header.Del(name)
		}
	}
}

// modifyResponse passes the provider's answer on as it is, with our headers. A
// stream has not been read yet; all else has, and its usage is known. Only that our key
// is refused is not for the client: he is told what those are told who call after him.
func modifyResponse(resp *http.Response) error {
	f := forwardedOf(resp.Request.Context())
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return errors.New("the provider switched protocols unasked")
	}
	if d := f.obs.KeyRefused(f.g.cfg.Now()); d != nil {
		f.sayDenied(d)
		return d
	}
	f.status = resp.StatusCode
	resp.Header.Del("Alt-Svc") // of the provider's own address
	if resp.Header.Get("Content-Type") == "" {
		f.w.Header()["Content-Type"] = nil // no guess of net/http's
	}
	f.describe(resp.Header)
	if strings.HasSuffix(f.path, ":streamGenerateContent") && resp.StatusCode/100 == 2 {
		resp.Header.Set("X-Accel-Buffering", "no") // nginx would collect 4 KB of events first
		resp.ContentLength = -1                    // which makes the proxy pass each event on at once, also those of a JSON array
		f.trailed(resp)
		return nil
	}
	f.describeUsage(resp.Header)
	return nil
}

// answerError answers a call that has no answer of the provider's.
func answerError(_ http.ResponseWriter, r *http.Request, err error) {
	f := forwardedOf(r.Context())
	if cause := context.Cause(r.Context()); errors.Is(cause, errCallTime) {
		err = cause
	}
	e := refusalOf(err)
	switch {
	case f.obs.Denied != nil:
		f.sayDenied(f.obs.Denied)
		if f.obs.Sent == 0 {
			e.Message += "; the call was not sent to Gemini"
		}
	case e.Code == http.StatusBadGateway || e.Code == http.StatusGatewayTimeout:
		f.g.say("provider", "the provider could not be reached", err)
	}
	f.fail(e)
}

// sayDenied tells the operator of refusals, by reason.
func (v *visit) sayDenied(d *limiter.Denied) {
	v.g.say(string(d.Reason), "calls are refused", nil, "class", d.Class, "feature", d.Feature, "model", d.Model,
		"limiter", d.Limiter, "node", d.Node, "detail", d.Detail, "trace_id", v.trace)
}

// buffers are what answers are copied through.
type buffers struct{ pool sync.Pool }

// Get gives a buffer of 32 KB.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

// Put takes it back.
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
