package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// permitsPath lends permits for calls that cannot come through here: see openapi.yaml.
const permitsPath = "/v1/permits"

// ownPath holds for what the gateway itself answers beside Gemini's paths, to those
// who have a key.
func ownPath(path string) bool {
	return path == observePath || path == permitsPath || strings.HasPrefix(path, permitsPath+"/")
}

// serveOwn answers an own path.
func (v *visit) serveOwn(path string) *apiError {
	if path == observePath {
		return v.observe()
	}
	if v.g.cfg.Permits == nil {
		return fail(http.StatusNotFound, notFound, "this gateway lends no permits")
	}
	if path == permitsPath {
		return v.takePermit()
	}
	id, verb, _ := strings.Cut(strings.TrimPrefix(path, permitsPath+"/"), "/")
	serve, ok := map[string]func(string) *apiError{
		"": v.lookPermit, "settle": v.settlePermit, "release": v.releasePermit, "extend": v.extendPermit,
	}[verb]
	switch {
	case !permitPattern.MatchString(id):
		return badRequest("%.80q is no permit's id: want p_ and 32 of 0-9 and a-f, as the answer to POST %s gives it", clean(id), permitsPath)
	case !ok:
		return fail(http.StatusNotFound, notFound, "%.80q is nothing that can be done with a permit: want settle, release or extend", clean(verb))
	}
	return serve(id)
}

var finishPattern = regexp.MustCompile(`^[A-Z_]{0,64}$`)

var permitPattern = regexp.MustCompile(`^p_[0-9a-f]{32}$`)

func (v *visit) lookPermit(id string) *apiError {
	if err := v.wants(http.MethodGet); err != nil {
		return err
	}
	got, err := v.g.cfg.Permits.Look(v.watched(), v.who.ID, id)
	return v.answerPermit(got, err)
}

func (v *visit) releasePermit(id string) *apiError {
	if err := v.read(http.MethodPost, permitBody, &struct{}{}); err != nil {
		return err
	}
	got, err := v.g.cfg.Permits.Release(v.watched(), v.who.ID, id)
	return v.answerPermit(got, err)
}

func (v *visit) extendPermit(id string) *apiError {
	var ask struct {
		LeaseMS *int64 `json:"lease_ms"`
	}
	if err := v.read(http.MethodPost, permitBody, &ask); err != nil {
		return err
	}
	lease, bad := span("lease_ms", ask.LeaseMS, leastLease, gemini.MostLoanLease, limiter.DefaultLease)
	if bad != nil {
		return bad
	}
	got, err := v.g.cfg.Permits.Extend(v.watched(), v.who.ID, id, lease)
	return v.answerPermit(got, err)
}

func (v *visit) settlePermit(id string) *apiError {
	var told permitEnd
	if err := v.read(http.MethodPost, permitBody, &told); err != nil {
		return err
	}
	end, bad := told.end()
	if bad != nil {
		return bad
	}
	got, err := v.g.cfg.Permits.Settle(v.watched(), v.who.ID, id, end)
	return v.answerPermit(got, err)
}

// watched is the request's context with the caller in it, and is observed from here on.
func (v *visit) watched() context.Context {
	ctx, obs := gemini.Observe(gemini.WithCaller(v.r.Context(), v.caller))
	v.obs = obs
	return ctx
}

// answerPermit answers with a permit, or says why there is none.
func (v *visit) answerPermit(got gemini.Loan, err error) *apiError {
	if err != nil {
		return v.noPermit(err)
	}
	v.status, v.trace = http.StatusOK, got.TraceID // that of the call, which its record has
	v.obs.Waited = got.Waited
	v.describe(v.w.Header())
	v.describeUsage(v.w.Header())
	writeJSON(v.w, http.StatusOK, v.permitAnswer(got))
	return nil
}

func (v *visit) noPermit(err error) *apiError {
	var denied *limiter.Denied
	var refused *gemini.RefusedError
	var unfit *gemini.LoanError
	switch {
	case errors.As(err, &unfit):
		return v.loanRefusal(unfit)
	case errors.As(err, &refused):
		return badRequest("%s", refused.Why)
	case errors.As(err, &denied) && denied.Reason == limiter.ReasonUnavailable:
		v.g.say("permits", "permits cannot be lent or ended: Redis does not answer", err)
		e := busy(time.Second, "the gateway cannot reach its Redis: nothing is known of the permit; ask again")
		e.info("nightshift", "UNAVAILABLE", metadataOf(denied))
		return e
	case errors.As(err, &denied):
		v.sayDenied(denied)
	case errors.Is(err, context.Canceled):
	default:
		v.g.say("permits", "a permit could not be lent or ended", err)
		if e := refusalOf(err); e.Code != http.StatusBadGateway {
			return e
		}
		return busy(time.Second, "the gateway could not lend or end the permit; ask again")
	}
	return refusalOf(err)
}

// loanRefusal says what is wrong with a permit: 404 for one that this caller does
// not have, 409 for one that is over, under the trace of its own call.
func (v *visit) loanRefusal(l *gemini.LoanError) *apiError {
	status := notFound
	if l.Status == http.StatusConflict {
		status = aborted
	}
	e := fail(l.Status, status, "%s", l.Why)
	v.refused, v.trace = true, cmp.Or(l.Loan.TraceID, v.trace)
	about := v.metadata()
	about["permit"] = l.Loan.ID
	about["class"], about["feature"] = cmp.Or(l.Loan.Class, v.caller.Class), cmp.Or(l.Loan.Feature, v.caller.Feature)
	e.info("nightshift", "PERMIT_"+l.Reason, about)
	return e
}
