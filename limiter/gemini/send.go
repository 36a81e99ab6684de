package gemini

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

// readBody reads a request's body once, up to the bound.
func readBody(req *http.Request, bound int64) ([]byte, error) {
	if enc := req.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, refuse(http.StatusUnsupportedMediaType, "Content-Encoding %q: send the body as it is", enc)
	}
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	if req.ContentLength > bound {
		return nil, tooLarge(bound)
	}
	buf := bytes.NewBuffer(make([]byte, 0, max(req.ContentLength, 0)+bytes.MinRead))
	n, err := buf.ReadFrom(io.LimitReader(req.Body, bound+1))
	if err != nil {
		return nil, err
	}
	if n > bound {
		return nil, tooLarge(bound)
	}
	return buf.Bytes(), nil
}

func tooLarge(bound int64) error {
	return refuse(http.StatusRequestEntityTooLarge, "the request is larger than %d bytes: upload the media with the Files API", bound)
}

// reach is how far a request got, for what a failure before sending gives back.
type reach struct{ asked, connected atomic.Bool }

// sent is false only when the base is an http.Transport that never had a
// connection: then nothing can have reached the provider.
func (r *reach) sent() bool { return !r.asked.Load() || r.connected.Load() }

func (r *reach) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { r.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { r.connected.Store(true) },
	})
}

// send makes the call with a request of our own: the caller's may not be changed.
func (c *call) send(req *http.Request) (*http.Response, error) {
	c.reach = &reach{}
	out := req.Clone(c.reach.trace(c.ctx))
	out.Host, out.RequestURI = "", ""
	c.setPath(out)
	c.setBody(out)
	c.setHeader(out.Header)
	out.URL.RawQuery, out.URL.Fragment, out.URL.RawFragment = keptQuery(out.URL.RawQuery), "", ""
	c.sentAt = c.t.cfg.Now()
	c.obs.Sent++
	return c.t.cfg.Base.RoundTrip(out)
}

func (c *call) setBody(out *http.Request) {
	out.TransferEncoding, out.ContentLength = nil, int64(len(c.body))
	if len(c.body) == 0 {
		out.Body, out.GetBody = http.NoBody, nil
		return
	}
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
	out.Body, _ = out.GetBody()
}

// stripped are headers that must not travel on: the caller's credentials, what
// could turn the call into another one behind the allow-list, what would hide
// usage from us, and encodings that we could not read.
var stripped = []string{
	"Authorization", "X-Goog-Api-Key", "Proxy-Authorization", "Cookie", "X-Goog-User-Project",
	"X-Goog-Iam-Authorization-Token", "X-Http-Method-Override", "X-Http-Method", "X-Method-Override",
	"X-Goog-Fieldmask", "Accept-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade",
}

func (c *call) setHeader(h http.Header) {
	for _, name := range stripped {
		h.Del(name)
	}
	c.setKey(h)
	c.setServerTimeout(h)
}

// setServerTimeout writes the deadline anew: the SDK wrote it before the
// request waited for its permit. It never goes under what Gemini takes; a
// client that wants less hangs up by itself.
func (c *call) setServerTimeout(h http.Header) {
	left, _ := strconv.ParseInt(h.Get("X-Server-Timeout"), 10, 64)
	if deadline, ok := c.ctx.Deadline(); ok {
		remaining := int64(time.Until(deadline) / time.Second)
		left = min(cmp.Or(max(left, 0), remaining), remaining)
	} else if left <= 0 {
		return
	}
	left = max(left, int64(c.t.cfg.Bounds.LeastTime/time.Second))
	h.Set("X-Server-Timeout", strconv.FormatInt(left, 10))
}

// keptParams may travel on. Others may not: key and access_token are
// credentials, and system parameters such as fields, $httpHeaders or alt=proto
// hide usage or rewrite the request.
var keptParams = []string{"pageSize", "pageToken", "prettyPrint"}

func keptQuery(raw string) string {
	if raw == "" || raw == "alt=sse" {
		return raw
	}
	given, _ := url.ParseQuery(raw)
	kept := url.Values{}
	for _, name := range keptParams {
		if given.Has(name) {
			kept.Set(name, given.Get(name))
		}
	}
	if given.Get("alt") == "sse" || given.Get("$alt") == "sse" {
		kept.Set("alt", "sse")
	}
	return kept.Encode()
}
