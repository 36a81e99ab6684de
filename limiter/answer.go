package limiter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// answer is what the rules say about one request, the same from the script and
// from the Model.
type answer struct {
	now      int64 // ms, the clock that decided
	permit   *Permit
	reason   Reason // "" with a permit
	unit     int64  // of the limit that binds; -1 where none does
	window   int64
	limit    int64
	used     int64
	short    int64
	retryAt  int64 // ms; 0 for good
	position int64
	detail   string
	node     string // "": the lane
	uses     string // of the limit that binds, by class: "[1,2]"
}

const reasonUnknownClass Reason = "unknown_class"

// result turns an answer into what Acquire returns.
func (a answer) result(q Request) (*Permit, error) {
	switch {
	case a.permit != nil:
		return a.permit, nil
	case a.reason == reasonUnknownClass:
		return nil, fmt.Errorf("limiter: class %q is not configured", q.Class)
	}
	d := denied(q, a.reason)
	if a.unit >= 0 {
		d.Limiter = Limit{Unit: Unit(a.unit), Window: Window(a.window)}.Name()
		if x := (Limit{Unit: Unit(a.unit), Window: Window(a.window)}); a.reason == ReasonQuota && x.Unit == MicroUSD || a.reason == ReasonShare && x.isCap() {
			d.Reason = ReasonSpend
		}
	}
	d.Limit, d.Used, d.Shortage, d.Detail = a.limit, a.used, a.short, a.detail
	d.Node = cmp.Or(a.node, "lane")
	d.uses, d.unit, d.window = a.uses, Unit(max(0, a.unit)), Window(max(0, a.window))
	if a.reason == ReasonTooLarge {
		d.Permanent = true
		return nil, d
	}
	d.RetryAfterMS = max(1, a.retryAt-a.now)
	d.RetryAt = time.UnixMilli(a.now + d.RetryAfterMS)
	if a.position > 0 {
		d.Ticket, d.Position, d.Decision = q.Ticket, a.position, Queued
	}
	return nil, d
}

// complete adds to a refusal what only the configuration knows: whether the class
// has another way, who holds the limit, and what is on loan of it.
func (c *Config) complete(q Request, err error) error {
	var d *Denied
	if !errors.As(err, &d) {
		return err
	}
	for _, x := range c.Classes {
		if x.Name != q.Class {
			continue
		}
		d.FallbackAllowed = x.Fallback != ""
		if !x.Tickets {
			d.Ticket = "" // it waits in place, and in no line
		}
	}
	if d.Reason == ReasonSpend && d.Detail == "" {
		d.Detail = c.stops(q, d)
	}
	var uses []int64
	if d.uses == "" || json.Unmarshal([]byte(d.uses), &uses) != nil || len(uses) != len(c.Classes) {
		return err
	}
	for i, x := range c.Classes {
		if uses[i] > 0 {
			d.Holders = append(d.Holders, Holder{Class: x.Name, Used: uses[i]})
		}
	}
	slices.SortStableFunc(d.Holders, func(a, b Holder) int { return cmp.Compare(b.Used, a.Used) })
	d.Lent = c.lent(q, d, uses)
	return err
}

// lent is what the classes below a request's use of a limit beyond what is left when
// it and those above it have their guarantees.
func (c *Config) lent(q Request, d *Denied, uses []int64) int64 {
	p := c.planOf(q.Lane, d.Node)
	at := slices.IndexFunc(p.dims, func(x dim) bool { return x.unit == d.unit && x.window == d.window })
	own := slices.IndexFunc(c.Classes, func(x Class) bool { return x.Name == q.Class })
	if at < 0 || own < 0 {
		return 0
	}
	rest, below := p.dims[at].inside, int64(0)
	for i, s := range p.dims[at].shares {
		if i <= own {
			rest -= s.guarantee
		} else {
			below += uses[i]
		}
	}
	return max(0, below-max(0, rest))
}

// overBy names the rule that was against a forced request: the limit, where one
// lacked room.
func overBy(reason Reason, node string, unit, window int64) string {
	if unit >= 0 && (reason == ReasonQuota || reason == ReasonShare) {
		name := Limit{Unit: Unit(unit), Window: Window(window)}.Name()
		if node != "" {
			name += " of " + node
		}
		return name
	}
	return string(reason)
}

func denied(q Request, reason Reason) *Denied {
	return &Denied{
		Type: "quota_denied", Node: "lane", Reason: reason, Decision: RejectedLocally,
		Provider: q.Lane.Provider, Project: q.Lane.Project, Model: q.Lane.Model,
		Class: q.Class, Feature: q.Feature, Path: q.Path, Estimates: q.Amounts,
	}
}

func unavailable(q Request, now time.Time, cause error) *Denied {
	d := denied(q, ReasonUnavailable)
	d.cause, d.RetryAfterMS = cause, 1000
	d.RetryAt = now.Add(time.Second)
	return d
}

func unknownLane(q Request, now int64) *Denied {
	d := denied(q, ReasonUnknownLane)
	d.RetryAfterMS = 10_000 // a configuration may be on its way
	d.RetryAt = time.UnixMilli(now + d.RetryAfterMS)
	return d
}

// stored reads a permit as the permits hash keeps it: "class|[granted, expires,
// epoch, lapsed, 8 x amount]|nodes".
func stored(q Request, text string) (*Permit, error) {
	class, rest, _ := strings.Cut(text, "|")
	rest, _, _ = strings.Cut(rest, "|")
	var n []int64
	if err := json.Unmarshal([]byte(rest), &n); err != nil || len(n) != 4+NumUnits {
		return nil, fmt.Errorf("limiter: permit %s is stored as %q", q.ID, text)
	}
	p := newPermit(q, n[0], n[1])
	p.Class, p.Amounts = class, Amounts(n[4:])
	return p, nil
}

// readHeld reads of a permit as it is stored what it holds, and of which nodes; it
// is not open when its lease has ended.
func readHeld(text string) (a Amounts, nodes []string, open bool) {
	_, rest, _ := strings.Cut(text, "|")
	numbers, names, _ := strings.Cut(rest, "|")
	var n []int64
	if json.Unmarshal([]byte(numbers), &n) != nil || len(n) != 4+NumUnits || n[3] != 0 {
		return a, nil, false
	}
	for line := range strings.Lines(names) {
		_, node, _ := strings.Cut(strings.TrimSpace(line), " ")
		nodes = append(nodes, node)
	}
	return Amounts(n[4:]), nodes, true
}

func newPermit(q Request, granted, expires int64) *Permit {
	return &Permit{
		ID: q.ID, Lane: q.Lane, Class: q.Class, Amounts: q.charged(),
		Granted: time.UnixMilli(granted), Expires: time.UnixMilli(expires),
	}
}
