package gemini

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"sync"
	"time"

	"nightshift/limiter"
)

// call is one request on its way through the transport.
type call struct {
	t       *Transport
	ctx     context.Context
	obs     *Observation
	caller  Caller
	route   route
	key     string // the provider's, as it was when the call began
	model   Model
	body    []byte
	routing routing
	ask     Ask
	guess   Estimate
	begin   time.Time          // when the request came
	sentAt  time.Time          // when it went out; zero before
	asked   bool               // the gate was asked for a permit
	reach   *reach             // how far it got
	leave   func()             // gives its place in the local allowance back; nil without one
	unbound context.CancelFunc // frees the timer of a stream's bound; nil without one
	ended   sync.Once          // the permit is settled and the record kept once, whoever ends the call
	lent    bool               // its holder makes it, elsewhere (Lender)
	again   bool               // it was settled before; the limiter is only told once more
	closed  *answer            // of a lent one: what its holder says of the answer
	flowing bool               // its answer is a stream that the caller reads
	pending bool               // its record waits until it is known what the caller gets
	failure error              // of the pending record
}

func (t *Transport) newCall(req *http.Request) *call {
	return &call{t: t, ctx: req.Context(), obs: observation(req.Context()), key: t.cfg.Key(), begin: t.cfg.Now()}
}

// prepare finds out what the request is and what it costs. It always closes
// the request's body, as RoundTrip must.
func (c *call) prepare(req *http.Request) (err error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if err := c.identify(); err != nil {
		return err
	}
	if c.route, err = c.t.routeOf(req); err != nil {
		return err
	}
	c.resolve()
	if c.route.model != "" {
		if err = c.findLane(); err != nil {
			return err
		}
	}
	if c.body, err = readBody(req, c.t.cfg.Bounds.Body); err != nil {
		return err
	}
	c.move()
	if err = c.estimateMoved(); err != nil {
		return err
	}
	return c.authorize()
}

// findLane finds where the call is counted. A call that is only observed has a
// lane of its own name, for which there are no limits.
func (c *call) findLane() (err error) {
	other := c.caller.Lane
	if c.t.cfg.Observe && other.Model == "" {
		other = c.t.cfg.Lanes.lane(c.route.model)
	}
	c.obs.Lane, c.model, err = c.t.cfg.Lanes.lookupOr(c.route.model, other)
	var unknown *UnknownModelError
	if errors.As(err, &unknown) {
		unknown.caller = c.caller
	}
	return err
}

// identify takes who asks from the context.
func (c *call) identify() error {
	caller, ok := CallerFrom(c.ctx)
	if !ok || caller.Class == "" || caller.Feature == "" {
		return refuse(http.StatusBadRequest, "the context names no class and feature: use gemini.WithCaller")
	}
	if caller.TraceID == "" {
		caller.TraceID = newID()
	}
	c.caller, c.obs.caller, c.obs.TraceID = caller, caller, caller.TraceID
	return nil
}

// estimate fills what the call is expected to take, and refuses what can never
// be answered: a prompt over the model's context would be counted in full
// against the quota before it is refused there.
func (c *call) estimate() error {
	if c.route.rule.verb == http.MethodPost {
		if err := checkBody(c.body); err != nil {
			return refuse(http.StatusBadRequest, "%v", err)
		}
	}
	if !c.route.rule.tokens {
		return nil
	}
	c.ask = Ask{Method: c.route.method, Model: c.model, Lane: c.obs.Lane, Class: c.caller.Class, Feature: c.caller.Feature, Body: c.body, Asked: c.route.model}
	var err error
	if c.guess, err = c.t.cfg.Estimator.Ask(c.ask); err != nil {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	c.obs.Estimate, c.obs.Tier = c.guess.Amounts, c.guess.tier
	return c.fitsContext()
}

// fitsContext refuses a prompt over the model's context, which is that of each
// text or request where there are several.
func (c *call) fitsContext() error {
	if c.guess.Least > c.model.Context && !c.route.rule.perText && c.guess.Amounts[limiter.Requests] <= 1 {
		if c.t.cfg.Observe {
			c.obs.Over = string(limiter.ReasonTooLarge)
			return nil
		}
		return c.deny(limiter.ReasonTooLarge, func(d *limiter.Denied) {
			d.Limiter, d.Node, d.Permanent = "context", "lane", true
			d.Limit, d.Shortage = c.model.Context, c.guess.Amounts[limiter.InputTokens]-c.model.Context
		})
	}
	return nil
}

// deny makes a local refusal of this call.
func (c *call) deny(why limiter.Reason, with func(*limiter.Denied)) *limiter.Denied {
	d := &limiter.Denied{
		Type: "quota_denied", Provider: "gemini", Project: c.obs.Lane.Project, Model: c.obs.Lane.Model,
		Class: c.caller.Class, Feature: c.caller.Feature, Path: c.caller.Path, Reason: why,
		Decision: limiter.RejectedLocally, Estimates: c.obs.Estimate, TraceID: c.obs.TraceID,
	}
	with(d)
	return d
}

// refused ends a call that was not sent.
func (c *call) refused(err error) error {
	c.ended.Do(func() {
		c.settle(limiter.Released, limiter.Amounts{})
		c.leaveSoft()
		var d *limiter.Denied
		if errors.As(err, &d) {
			c.noteDenied(d)
		}
		c.record(err)
	})
	return err
}

func (c *call) leaveSoft() {
	if c.leave != nil {
		c.leave()
	}
}

func (c *call) noteDenied(d *limiter.Denied) {
	if d.TraceID == "" {
		d.TraceID = c.obs.TraceID
	}
	if d.Feature == "" {
		d.Feature = c.caller.Feature
	}
	c.obs.Denied, c.obs.Decision = d, d.Decision
	c.t.holding.note(c.t, d)
}

// recoverPanic settles a call whose sender panicked: it may have gone out.
func (c *call) recoverPanic() {
	if r := recover(); r != nil {
		_ = c.lost(errors.New("the sender panicked"))
		c.recordNow()
		panic(r)
	}
}

func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
