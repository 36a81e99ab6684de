package worker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"google.golang.org/genai"
)

// call asks Gemini once through the transport, which takes the permit, and
// reads what came. Full asks for a place in the line only.
func (l *lane) call(ctx context.Context, j *job, full bool) outcome {
	l.takeTier(ctx, j)
	ctx, cancel := context.WithTimeout(ctx, l.callTime(j))
	defer cancel()
	ctx, seen := gemini.Observe(gemini.WithCaller(ctx, l.caller(j, full)))
	out, err := l.ask(ctx, j)
	j.called = seen.Permit != nil && seen.Degraded == nil // another model's permit ends no place in this line
	j.sent = seen.Sent > 0
	if j.instead = ""; seen.Degraded != nil {
		j.instead = j.run.Spec.Model
	}
	if l.flexMet(context.WithoutCancel(ctx), j, seen) {
		l.meter(j, &out, seen)
		return l.shedByFlex(context.WithoutCancel(ctx), j)
	}
	if err != nil || seen.Denied != nil || seen.Verdict != nil {
		return l.failed(ctx, j, out, seen, err)
	}
	l.meter(j, &out, seen)
	if seen.Degraded == nil { // that another model answers says nothing of this lane
		l.health.good()
		l.recent.met(FailCause{}, l.w.cfg.Now())
		l.way.open()
		l.holds.forget(j.held())
	}
	return j.shape.readJSON(out)
}

// caller says on whose behalf the call is made. The ticket is the task's id: a
// row keeps its place in the line over all of its looks.
func (l *lane) caller(j *job, full bool) gemini.Caller {
	s := j.run.Spec
	return gemini.Caller{
		Class: s.Class, Feature: s.Feature, Run: j.task.Run, Row: j.row, Attempt: j.attempt,
		Path: pathOf(j.run.Run),
		Lane: l.lane, Ticket: j.task.ID(), TraceID: l.traceID(j), Full: full, Other: s.OtherModel,
	}
}

// pathOf is whose calls a run's are.
func pathOf(r jobs.Run) limiter.Path {
	return limiter.Path{Organization: r.Spec.Organization, Tenant: r.Spec.Tenant, Team: r.Spec.Team,
		Run: r.ID, Priority: limiter.Priority(r.Spec.Priority)}
}

// failed finds the reason of a call that brought no answer, from the nearest:
// an abort, our own gate, the provider's answer as the transport read it, and
// last the SDK, which refuses what it cannot send.
func (l *lane) failed(ctx context.Context, j *job, got outcome, seen *gemini.Observation, err error) outcome {
	now := l.w.cfg.Now()
	var denied *limiter.Denied
	switch {
	case errors.Is(context.Cause(ctx), errAborted):
		return outcome{dropped: true}
	case errors.As(err, &denied), seen.Denied != nil:
		if denied == nil {
			denied = seen.Denied
		}
		if denied.Reason != limiter.ReasonSlots { // that says nothing of the lane
			l.slots.deny(deniedWaits(denied), now)
		}
		return l.heldBack(j, denied, now)
	case seen.Verdict == nil:
		return outcome{end: jobs.Failed, fail: &jobs.RowError{Cause: "invalid_request", Message: short(gemini.Redact(err.Error()))}}
	case seen.Sent == 0, seen.Verdict.Scope == gemini.ScopeWorker, l.cutOff(j, seen, now):
		return l.noWay(*seen.Verdict, now)
	case seen.Status > 0:
		l.way.open()
	}
	l.meter(j, &got, seen)
	if seen.Status == 200 && err == nil && seen.Verdict.Scope == gemini.ScopeJob && got.end != jobs.Done {
		return got // the answer itself: we know more of it than the verdict says
	}
	next := consequence(seen, now)
	out := judge(next, *seen.Verdict, seen.Status, message(got, err))
	out.standInLine(next, now)
	out.answer = got.answer
	if out.lane {
		l.health.fail(now)
	}
	if v := seen.Verdict; out.lane || v.Kind == gemini.Backoff && v.Scope == gemini.ScopeModel {
		l.recent.met(FailCause{Status: seen.Status, Reason: cmp.Or(v.Reason, "provider_error")}, now)
	}
	return out
}

// consequence is what the transport found that follows.
func consequence(seen *gemini.Observation, now time.Time) gemini.Consequence {
	if seen.Consequence != nil {
		return *seen.Consequence
	}
	return gemini.ConsequenceOf(*seen.Verdict, gemini.Ledger{Now: now})
}

// message is what the error of a row says: the provider's words where it has
// any, without the SDK's wrapping.
func message(got outcome, err error) string {
	var api genai.APIError
	switch {
	case errors.As(err, &api):
		return gemini.Redact(api.Message)
	case err != nil:
		return gemini.Redact(err.Error())
	case got.fail != nil:
		return got.fail.Message
	}
	return "the provider's answer cannot be used"
}

// meter notes what the call took.
func (l *lane) meter(j *job, out *outcome, seen *gemini.Observation) {
	j.took = seen.Took
	j.servedBy(seen)
	j.waited = max(l.waitedBy(j)-seen.Took, 0)
	if seen.HasUsage {
		u := seen.Usage
		out.usage = &jobs.Usage{Prompt: u.Prompt, Cached: u.Cached, Output: u.Candidates, Thoughts: u.Thoughts, ToolUse: u.ToolUse, Total: u.Total}
	}
	if seen.Priced {
		j.microUS = &seen.MicroUSD
	}
}
