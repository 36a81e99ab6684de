package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"nightshift/limiter/gemini"
)

// observePath takes reports of calls that were made directly.
const observePath = "/v1/observe"

// observe keeps reported calls: all of them, or none when one cannot be.
func (v *visit) observe() *apiError {
	switch {
	case v.g.cfg.Direct == nil:
		return fail(http.StatusNotFound, notFound, "this gateway takes no reports")
	case v.r.Method != http.MethodPost:
		return fail(http.StatusMethodNotAllowed, unimplemented, "%s wants POST, not %s", observePath, v.r.Method)
	}
	reports, err := v.reports()
	if err != nil {
		return err
	}
	calls := make([]gemini.DirectCall, len(reports))
	for i, r := range reports {
		if calls[i], err = v.direct(r); err != nil {
			return at(i, err)
		}
	}
	for i, c := range calls {
		if err := v.g.cfg.Direct(v.r.Context(), c); err != nil {
			return v.notRecorded(i, err)
		}
	}
	v.status = http.StatusOK
	v.w.Header().Set(headerTraceID, v.trace)
	v.w.Header().Set(headerDecision, string(gemini.ReportedDirect))
	writeJSON(v.w, http.StatusOK, map[string]any{"recorded": len(calls)})
	return nil
}

// at says which report is meant.
func at(i int, e *apiError) *apiError {
	e.Message = fmt.Sprintf("call %d: %s", i, e.Message)
	return e
}

func (v *visit) notRecorded(i int, err error) *apiError {
	var e *apiError
	var refused *gemini.RefusedError
	if errors.As(err, &refused) {
		e = badRequest("%s", refused.Why)
	} else {
		v.g.say("observe", "a reported call could not be counted", err)
		e = refusalOf(err)
		if e.Code == http.StatusBadGateway {
			e = busy(time.Second, "the call could not be counted")
		}
	}
	e.Message += fmt.Sprintf("; the %d before it are recorded", i)
	return at(i, e)
}
