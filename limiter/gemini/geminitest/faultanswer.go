package geminitest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// refusals make the answers of the faults that come before the quotas.
var refusals = map[FaultKind]func(*Server, Model, *Fault, int64) *reply{
	Fault429RPM:       quotaFault(ReasonRPM),
	Fault429TPM:       quotaFault(ReasonInputTPM),
	Fault429RPD:       quotaFault(ReasonRPD),
	Fault429Mixed:     quotaFault(ReasonRPD, ReasonRPM),
	Fault429LimitZero: limitZeroFault,
	Fault429Spend:     plainFault(spendRateRefusal),
	Fault429Month:     plainFault(monthlyCapRefusal),
	Fault429Account:   plainFault(accountCapRefusal),
	Fault429Capacity:  plainFault(func() *reply { return capacityRefusal(ReasonCapacity) }),
	Fault429Unknown:   plainFault(unknownRefusal),
	Fault402:          plainFault(prepayRefusal),
	Fault403Disabled:  plainFault(serviceDisabled),
	Fault403Suspended: plainFault(consumerSuspended),
	Fault403Leaked:    plainFault(func() *reply { return denied("Your API key was reported as leaked. Please use another API key.") }),
	Fault403Denied:    plainFault(func() *reply { return denied("Your project has been denied access. Please contact support.") }),
	Fault400Location:  plainFault(locationNotSupported),
}

func plainFault(answer func() *reply) func(*Server, Model, *Fault, int64) *reply {
	return func(*Server, Model, *Fault, int64) *reply { return answer() }
}

// quotaFault refuses as if quotas were used up, with the model's own limits or
// likely ones.
func quotaFault(reasons ...string) func(*Server, Model, *Fault, int64) *reply {
	return func(s *Server, m Model, f *Fault, seq int64) *reply {
		limits := map[string]int64{ReasonRPM: m.Limits.RPM, ReasonInputTPM: m.Limits.InputTPM, ReasonRPD: m.Limits.RPD}
		likely := map[string]int64{ReasonRPM: 1000, ReasonInputTPM: 1_000_000, ReasonRPD: 10_000}
		var vs []violation
		for _, reason := range reasons {
			limit := limits[reason]
			if limit <= 0 {
				limit = likely[reason]
			}
			vs = append(vs, violation{reason, limit, s.faultWait(reason, f, seq)})
		}
		return s.quotaRefusal(m, vs, seq)
	}
}

func (s *Server) faultWait(reason string, f *Fault, seq int64) time.Duration {
	if f.Retry > 0 {
		return f.Retry
	}
	if now := s.now(); reason == ReasonRPD {
		return nextDay(now).Sub(now)
	}
	return time.Second + time.Duration(s.random(seq, saltHint).Int64N(int64(59*time.Second)))
}

func limitZeroFault(s *Server, m Model, _ *Fault, seq int64) *reply {
	return s.quotaRefusal(m, []violation{{reason: ReasonInputTPM}, {reason: ReasonRPM}, {reason: ReasonRPD}}, seq)
}

func denied(message string, details ...any) *reply {
	return apiError{http.StatusForbidden, message, "PERMISSION_DENIED", details}.reply("permission_denied")
}

func consumerSuspended() *reply {
	const message = "Permission denied: Consumer 'api_key:API_KEY' has been suspended."
	return denied(message,
		errorInfo{rpc + "ErrorInfo", "CONSUMER_SUSPENDED", "googleapis.com", map[string]string{
			"consumer": "projects/PROJECT_NUMBER", "service": service, "containerInfo": "api_key:API_KEY"}},
		localizedMessage{rpc + "LocalizedMessage", "en-US", message})
}

func serviceDisabled() *reply {
	const activation = "https://console.developers.google.com/apis/api/generativelanguage.googleapis.com/overview?project=PROJECT_NUMBER"
	return denied("Generative Language API has not been used in project PROJECT_NUMBER before or it is disabled. Enable it by visiting "+
		activation+" then retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry.",
		help{rpc + "Help", []helpLink{{"Google developers console API activation", activation}}},
		errorInfo{rpc + "ErrorInfo", "SERVICE_DISABLED", "googleapis.com", map[string]string{
			"consumer": "projects/PROJECT_NUMBER", "service": service}})
}

func locationNotSupported() *reply {
	return apiError{http.StatusBadRequest, "User location is not supported for the API use.", "FAILED_PRECONDITION", nil}.reply("location")
}

const (
	htmlType = "text/html; charset=UTF-8"
	page502  = "<!DOCTYPE html>\n<html lang=en>\n  <meta charset=utf-8>\n  <title>Error 502 (Server Error)!!1</title>\n" +
		"  <p><b>502.</b> <ins>That’s an error.</ins>\n  <p>The server encountered a temporary error and could not complete your request." +
		"<p>Please try again in 30 seconds.  <ins>That’s all we know.</ins>\n"
	page200 = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Please sign in to the network to go on.</p></body></html>\n"
)

// spoil turns the answer of a call into what the fault makes of it.
func (f *Fault) spoil(r *reply) *reply {
	switch f.Kind {
	case Fault500:
		return internalError()
	case Fault502:
		return &reply{status: http.StatusBadGateway, contentType: htmlType, body: []byte(page502)}
	case Fault503:
		return unavailable()
	case Fault504:
		return deadlineExpired()
	case FaultHang:
		return &reply{end: endHang}
	case FaultReset:
		return &reply{end: endReset}
	case FaultHTML:
		return &reply{status: http.StatusOK, contentType: htmlType, body: []byte(page200)}
	case FaultEmpty:
		return &reply{status: http.StatusOK, contentType: typeJSON}
	case FaultStreamError:
		if r.chunks != nil {
			return r // it is in there
		}
		fallthrough
	case FaultError200:
		return &reply{status: http.StatusOK, contentType: typeJSON, body: unavailable().body}
	case FaultAnswer:
		return &reply{status: f.Answer.Status, header: f.Answer.Header, contentType: typeJSON, body: []byte(f.Answer.Body)}
	case FaultCut, FaultCutJSON:
		return r.halved(f.Kind == FaultCut)
	}
	return r
}

// halved keeps the first half of an answer; the connection may end with it.
func (r *reply) halved(cut bool) *reply {
	whole := *r
	if r.chunks != nil {
		whole.chunks = r.chunks[:(len(r.chunks)+1)/2]
		if len(whole.chunks) == len(r.chunks) || !cut {
			last := whole.chunks[len(whole.chunks)-1]
			whole.chunks = append(append([][]byte{}, whole.chunks[:len(whole.chunks)-1]...), last[:len(last)/2])
		}
	} else {
		whole.body = r.body[:len(r.body)/2]
	}
	if cut {
		whole.end = endCut
	}
	return &whole
}

// errorEvent is an error inside a stream that began well, on one line.
func errorEvent() []byte {
	var line bytes.Buffer
	if err := json.Compact(&line, unavailable().body); err != nil {
		panic(err) // made above
	}
	return line.Bytes()
}
