package limiter

import (
	"encoding/json"
	"errors"
	"fmt"
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
		if Unit(a.unit) == MicroUSD && a.reason == ReasonQuota {
			d.Reason = ReasonSpend
		}
	}
	d.Limit, d.Used, d.Shortage, d.Detail = a.limit, a.used, a.short, a.detail
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

// allowFallback marks a refusal of a class that the configuration gives another way.
func allowFallback(c *Config, class string, err error) error {
	var d *Denied
	if c == nil || !errors.As(err, &d) {
		return err
	}
	for _, x := range c.Classes {
		d.FallbackAllowed = d.FallbackAllowed || x.Name == class && x.Fallback != ""
	}
	return err
}

// overBy names the rule that was against a forced request: the limit, where one
// lacked room.
func overBy(reason Reason, unit, window int64) string {
	if unit >= 0 && (reason == ReasonQuota || reason == ReasonShare) {
		return Limit{Unit: Unit(unit), Window: Window(window)}.Name()
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
// epoch, lapsed, 8 x amount]".
func stored(q Request, text string) (*Permit, error) {
	class, rest, _ := strings.Cut(text, "|")
	var n []int64
	if err := json.Unmarshal([]byte(rest), &n); err != nil || len(n) != 4+NumUnits {
		return nil, fmt.Errorf("limiter: permit %s is stored as %q", q.ID, text)
	}
	p := newPermit(q, n[0], n[1])
	p.Class, p.Amounts = class, Amounts(n[4:])
	return p, nil
}

func newPermit(q Request, granted, expires int64) *Permit {
	return &Permit{
		ID: q.ID, Lane: q.Lane, Class: q.Class, Amounts: q.charged(),
		Granted: time.UnixMilli(granted), Expires: time.UnixMilli(expires),
	}
}
