package gemini

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"nightshift/limiter"
)

// HeaderModel names the model that a call went to, when it is another than the
// one that its caller named.
const HeaderModel = "X-Nightshift-Model"

// What a ramp made of a call, in records and counts.
const (
	SideMoved  = "moved"
	SideStayed = "stayed" // by its share
	SideUnfit  = "unfit " // and what of the request the other model does not take: it stayed too

	// SideRefused and the limiter's reason: it was to move, the other model had no
	// room, and it was made where it was.
	SideRefused = "refused "
)

// mostHops bounds how many moves one call may make: each finished ramp is one.
const mostHops = 4

// routing is how a call came to its model.
type routing struct {
	asked string // by the caller, normalized
	ramp  *Ramp  // that decided last; nil for none
	side  string // SideMoved, …; "" where the decision is not looked at: of whole moves
	back  *stop  // where the call was before its last move; nil for none
}

// stop is a model that a call could go to.
type stop struct {
	name  string
	lane  limiter.Lane
	model Model
	body  []byte
}

// resolve puts the model that an alias stands for in its place.
func (c *call) resolve() {
	c.routing.asked = c.route.model
	c.route.model = c.t.cfg.Routes.Real(c.route.model)
	c.obs.Asked, c.obs.Called = c.routing.asked, c.route.model
}

// movable holds for the calls that ramps are for: generated text, since vectors of
// two models do not compare, and none of a row, whose run names its model. A call
// that is itself another's fallback names its own.
func (c *call) movable() bool {
	return c.generates() && c.caller.Ticket == "" && !c.caller.Full && c.caller.Run == "" && c.caller.Lane.Model == "" &&
		c.ctx.Value(degradingKey{}) == nil
}

// move lets the ramps decide which model answers.
func (c *call) move() {
	if c.t.cfg.Routes == nil || !c.movable() {
		return
	}
	table := *c.t.cfg.Routes.table.Load()
	if len(table) == 0 {
		return
	}
	been := []string{c.model.Name}
	for range mostHops {
		ramp := table.of(c.model.Name, c.routing.asked, c.caller)
		if ramp == nil || !c.obey(ramp) || slices.Contains(been, c.model.Name) {
			return
		}
		been = append(been, c.model.Name)
	}
}

// obey does what a ramp says; false when the call stays.
func (c *call) obey(r *Ramp) bool {
	c.routing.ramp, c.routing.side = r, SideStayed
	if r.Phase == RampFinished {
		c.routing.side = ""
	}
	if !r.takes(c.caller, c.body, c.t.cfg.Now()) {
		return false
	}
	routes := c.t.cfg.Routes
	to := routes.Real(r.To)
	lane, model, err := c.t.cfg.Lanes.Lookup(to)
	if err != nil {
		c.unfit("model")
		return false
	}
	body, why := routes.fit(c.model, model, c.body)
	if why != "" {
		c.unfit(why)
		return false
	}
	c.routing.back = &stop{c.route.model, c.obs.Lane, c.model, c.body}
	c.goTo(stop{to, lane, model, body})
	if c.routing.side != "" {
		c.routing.side = SideMoved
	}
	return true
}

func (c *call) goTo(s stop) {
	c.route.model, c.obs.Lane, c.model, c.body = s.name, s.lane, s.model, s.body
	c.obs.Called = s.name
}

func (c *call) unfit(why string) { c.decided(SideUnfit + why) }

// decided notes what became of a call, where that is looked at.
func (c *call) decided(side string) {
	if c.routing.side != "" {
		c.routing.side = side
	}
}

// estimateMoved is estimate for a call that may have been moved: one that is too
// long for the other model stays where it was.
func (c *call) estimateMoved() error {
	err := c.estimate()
	if c.routing.back == nil || c.guess.Least <= c.model.Context {
		return err
	}
	c.obs.Over = ""
	return c.turnBack(SideUnfit + "context")
}

// turnBack takes a move back, for what shows only later. side is what is noted of it.
func (c *call) turnBack(side string) error {
	c.goTo(*c.routing.back)
	c.routing.back = nil
	c.decided(side)
	return c.estimate()
}

// backFor says why a moved call that got no permit goes back, as the side that it
// then has; "" when it stays refused. One that is larger than a limit of the other
// model could never be made there. One that finds no room there now goes back while
// its ramp is on: the old model answers as before, and the ramp sees the refusal. A
// limit of the caller's own is no fault of the model.
func (c *call) backFor(err error) string {
	var d *limiter.Denied
	switch {
	case c.routing.back == nil || !errors.As(err, &d):
		return ""
	case d.Permanent && d.Reason == limiter.ReasonTooLarge:
		return SideUnfit + "context"
	case c.routing.side == SideMoved && (d.Node == "" || d.Node == "lane") && slices.Contains(noRoom, d.Reason):
		return SideRefused + string(d.Reason)
	}
	return ""
}

// noRoom are the refusals that are about a model as it is now: another one may have room.
var noRoom = []limiter.Reason{
	limiter.ReasonQuota, limiter.ReasonShare, limiter.ReasonSmoothing, limiter.ReasonTurn,
	limiter.ReasonCooldown, limiter.ReasonBreaker, limiter.ReasonSpend,
}

// setPath writes the model into a request of our own, when it is another than the
// one that the URL has.
func (c *call) setPath(out *http.Request) {
	if v := c.t.cfg.Vertex; v != nil {
		c.setURL(out, v.path(c.route))
		return
	}
	if c.route.model == c.routing.asked || c.route.model == "" {
		return
	}
	name, tuned := strings.CutPrefix(c.route.model, "tunedmodels/")
	kind := map[bool]string{true: "tunedModels", false: "models"}[tuned]
	path := "/" + c.route.version + "/" + kind + "/" + name
	if c.route.method != "" {
		path += ":" + c.route.method
	}
	c.setURL(out, path)
}

func (c *call) setURL(out *http.Request, path string) {
	query := out.URL.RawQuery
	out.URL = c.t.at(path)
	out.URL.RawQuery = query
}

// pathTo is the path of the same method of another model.
func (t *Transport) pathTo(r route, model string) string {
	if t.cfg.Vertex != nil {
		r.model = model
		return t.cfg.Vertex.path(r)
	}
	return "/" + r.version + "/models/" + model + ":" + r.method
}

// at is a path under the base URL.
func (t *Transport) at(path string) *url.URL {
	u := *t.base
	if u.Path += path; u.RawPath != "" {
		u.RawPath += path
	}
	return &u
}

// recordRoute says in a record how the call came to its model.
func (c *call) recordRoute(r *Record) {
	if c.routing.asked != c.route.model {
		r.Asked, r.Called = c.routing.asked, c.route.model
	}
	if x := c.routing.ramp; x != nil {
		r.Ramp, r.RampSide, r.rampSeed = x.Scope.String(), c.routing.side, x.Seed
	}
}
