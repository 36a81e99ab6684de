package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"nightshift/limiter"
)

type degradingKey struct{}

// mayDegrade says whether another answer may take the place of the model's: of
// generated text only, since the vectors of two models do not compare. A call
// that is itself the other answer gets none.
func (c *call) mayDegrade() bool {
	return c.t.cfg.Degrade != nil && !c.t.cfg.Observe && !c.caller.Full && c.generates() && c.ctx.Value(degradingKey{}) == nil
}

func (c *call) generates() bool {
	return c.route.method == "generateContent" || c.route.method == "streamGenerateContent"
}

// instead gives another answer in the place of the one that err, or the
// verdict, is about; nil when there is none. The call is over by then but for
// its record.
func (c *call) instead(req *http.Request, err error) *http.Response {
	cause := c.causeOf(err)
	if cause == "" || !c.mayDegrade() || req.Context().Err() != nil {
		return nil
	}
	return c.degrade(req, cause)
}

// causeOf reads the limiter's refusal, or the provider's.
func (c *call) causeOf(err error) DegradeCause {
	var denied *limiter.Denied
	if errors.As(err, &denied) {
		return causeOfDenied(denied)
	}
	return causeOfVerdict(c.obs.Verdict, c.obs.Status)
}

// degrade asks the Degrader. The context's observation is about the answer that
// the caller gets; this call keeps one of its own for its record.
func (c *call) degrade(req *http.Request, cause DegradeCause) *http.Response {
	shown, own := c.obs, *c.obs
	c.obs = &own
	a, ok := c.askDegrader(req, cause)
	own.Sent = max(own.Sent, shown.Sent)
	if ok {
		own.Degraded = &Degradation{Kind: a.Kind, Reason: cause, Model: a.Model, Note: a.Note, Denied: own.Denied}
		own.Decision = limiter.Degraded
	}
	resp := a.Response
	if !ok || resp == nil {
		*shown = own // another model may have been tried in vain
	}
	if !ok {
		c.obs = shown
		return nil
	}
	if resp == nil {
		resp = c.answerWith(req, a)
	}
	shown.Degraded, shown.Decision, shown.Asked = own.Degraded, own.Decision, own.Asked
	resp.Header.Set(HeaderDegraded, own.Degraded.String())
	c.t.degraded.note(c.t.log, c.caller.Feature, own.Degraded, c.t.cfg.Now())
	return resp
}

// askDegrader is safe from what a service's own func may do.
func (c *call) askDegrader(req *http.Request, cause DegradeCause) (a DegradedAnswer, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			c.t.log.Error("the degrade path panicked", "feature", c.caller.Feature, "reason", string(cause), "panic", Redact(fmt.Sprint(r)))
			a, ok = DegradedAnswer{}, false
		}
	}()
	a, ok, err := c.t.cfg.Degrade.Degrade(req.Context(), c.degradeRequest(req, cause))
	if err != nil {
		c.t.degraded.complain(c.t.log, c.caller.Feature, cause, err, c.t.cfg.Now())
	}
	return a, ok && err == nil && (a.Response != nil || a.Text != "" || json.Valid(a.Body))
}

func (c *call) degradeRequest(req *http.Request, cause DegradeCause) DegradeRequest {
	r := c.asRequest()
	r.Cause, r.Denied, r.Verdict = cause, c.obs.Denied, c.obs.Verdict
	r.Call = func(ctx context.Context, model string, body []byte) (*http.Response, error) {
		return c.callOther(ctx, req, model, body)
	}
	return r
}

// asRequest is the call as such, without why it gets no answer.
func (c *call) asRequest() DegradeRequest {
	return DegradeRequest{
		Caller: c.caller, Lane: c.obs.Lane, Model: c.model, Version: c.route.version, Stream: c.route.rule.stream, Body: c.body,
	}
}

// callOther goes the one way with another model. It never waits for a permit:
// the caller has waited already.
func (c *call) callOther(ctx context.Context, req *http.Request, model string, body []byte) (*http.Response, error) {
	caller := c.caller
	caller.Lane, caller.Ticket, caller.MaxWait = limiter.Lane{}, "", time.Nanosecond
	caller.Instead, caller.TraceID = c.obs.Lane.Model, c.obs.TraceID
	ctx = context.WithValue(WithCaller(ctx, caller), degradingKey{}, true)
	seen, ok := ctx.Value(observationKey{}).(*Observation)
	if !ok {
		ctx, seen = Observe(ctx)
	}
	resp, err := c.t.RoundTrip(c.requestFor(ctx, req, model, body))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 && c.route.rule.stream { // what it means shows as it is read
		return resp, nil
	}
	if v := seen.Verdict; v != nil && v.Scope != ScopeJob || resp.StatusCode/100 != 2 {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s answered with status %d (%s)", model, resp.StatusCode, v.Reason)
	}
	return resp, nil
}

// requestFor is the caller's request for another model.
func (c *call) requestFor(ctx context.Context, req *http.Request, model string, body []byte) *http.Request {
	out := req.Clone(ctx)
	out.URL = c.t.at(c.t.pathTo(c.route, model))
	out.URL.RawQuery = req.URL.RawQuery
	out.GetBody, out.TransferEncoding = nil, nil
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return out
}
