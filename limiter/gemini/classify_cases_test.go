package gemini

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDayOrMinute has one message for all: only the structure tells them apart.
func TestDayOrMinute(t *testing.T) {
	body := func(violations string) string {
		return `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[` +
			`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` + violations + `]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}`
	}
	minute := `{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"10","quotaDimensions":{"model":"gemini-3.6-flash","location":"global"}}`
	daily := `{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"20"}`
	midnight := 12 * time.Hour
	for name, c := range map[string]struct {
		body   string
		kind   Kind
		after  time.Duration
		reason string
	}{
		"minute":               {body(minute), Wait, 36 * time.Second, "rpm"},
		"day":                  {body(daily), DailyReset, midnight, "rpd"},
		"minute, then day":     {body(minute + "," + daily), DailyReset, midnight, "rpd"},
		"day, then minute":     {body(daily + "," + minute), DailyReset, midnight, "rpd"},
		"dimensions as text":   {body(strings.Replace(daily, "}", `,"quotaDimensions":"[MaxDepth]"}`, 1)), DailyReset, midnight, "rpd"},
		"dimensions a number":  {body(strings.Replace(minute, `{"model":"gemini-3.6-flash","location":"global"}`, "7", 1)), Wait, 36 * time.Second, "rpm"},
		"value a number":       {body(strings.Replace(minute, `"10"`, "10", 1)), Wait, 36 * time.Second, "rpm"},
		"value zero":           {body(strings.Replace(minute, `"10"`, `"0"`, 1)), Permanent, 0, "limit_zero"},
		"value absent":         {body(strings.Replace(minute, `"quotaValue":"10",`, "", 1)), Permanent, 0, "limit_zero"},
		"zero beside a minute": {body(minute + "," + strings.Replace(daily, `"20"`, `"0"`, 1)), Permanent, 0, "limit_zero"},
		"cut in the violation": {body(minute)[:strings.Index(body(minute), `"quotaValue"`)], Wait, time.Minute, "rpm"},
		"tokens a day":         {body(`{"quotaId":"GenerateContentInputTokensPerModelPerDay-FreeTier","quotaValue":"9"}`), DailyReset, midnight, "tpd"},
		"snake case":           {body(strings.NewReplacer("quotaId", "quota_id", "quotaValue", "quota_value").Replace(minute)), Wait, 36 * time.Second, "rpm"},
		"day with hours":       {strings.Replace(body(daily), `"36s"`, `"77511s"`, 1), DailyReset, 77511 * time.Second, "rpd"},
	} {
		v := Classify(Answer{Status: 429, Body: []byte(c.body)}, noon)
		if v.Kind != c.kind || v.RetryAfter != c.after || v.Reason != c.reason || v.Scope != ScopeModel {
			t.Errorf("%s: %+v, want %s after %s", name, v, c.kind, c.after)
		}
		if c.after > 0 && !v.RetryAt.Equal(noon.Add(c.after)) {
			t.Errorf("%s: at %s", name, v.RetryAt)
		}
	}
	v := Classify(Answer{Status: 429, Body: []byte(body(minute))}, noon)
	if v.Bucket != "gemini-3.6-flash" || v.Limit != 10 {
		t.Errorf("bucket %q, limit %d", v.Bucket, v.Limit)
	}
}

func TestHints(t *testing.T) {
	const minute = 60
	for delay, want := range map[string]float64{
		`"45.837906927s"`: 46, `"0.3s"`: 1, `"0s"`: 1, `"3600s"`: 3600, `"-1s"`: minute, `""`: minute, `"45"`: 45, `45`: 45,
		`"soon"`: minute, `null`: minute, `{"seconds":12,"nanos":5}`: 12, `"1e9s"`: minute, `"99999999s"`: minute, `"NaN"`: minute, `"+Inf"`: minute, `"1m30s"`: 90,
	} {
		body := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"5"}]},{"retryDelay":` + delay + `}]}}`
		if v := Classify(Answer{Status: 429, Body: []byte(body)}, noon); v.Kind != Wait || v.RetryAfter.Seconds() != want {
			t.Errorf("%s: %s %s, want %g s", delay, v.Kind, v.RetryAfter, want)
		}
	}
}

func TestRetryAfterHeader(t *testing.T) {
	bare := `{"error":{"message":"slow down"}}`
	for value, want := range map[string]time.Duration{
		"17": 17 * time.Second, "Sun, 29 Nov 2026 20:01:30 GMT": 90 * time.Second, "Sun, 29 Nov 2026 19:00:00 GMT": 0, "soon": 0, "-4": 0, "0": time.Second,
	} {
		v := Classify(Answer{Status: 429, Header: http.Header{"Retry-After": {value}}, Body: []byte(bare)}, noon)
		if v.RetryAfter != want {
			t.Errorf("%s: %s %s, want %s", value, v.Kind, v.RetryAfter, want)
		}
		if wantKind := map[bool]Kind{true: Wait, false: Unknown}[want > 0]; v.Kind != wantKind {
			t.Errorf("%s: %s, want %s", value, v.Kind, wantKind)
		}
	}
	v := Classify(Answer{Status: 503, Header: http.Header{"Retry-After": {"17"}}, Body: []byte("<html>")}, noon)
	if v.Kind != Backoff || v.RetryAfter != 17*time.Second {
		t.Errorf("503: %+v", v)
	}
}

// TestStatusDecidesWithoutAnswer has bodies of which the SDK makes code 0.
func TestStatusDecidesWithoutAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kind   Kind
		scope  Scope
		reason string
	}{
		"no body 429":           {429, "", Unknown, ScopeModel, "unexplained"},
		"no body 500":           {500, "", Backoff, ScopeModel, "server_error"},
		"no body 400":           {400, "", Permanent, ScopeJob, "invalid_argument"},
		"HTML 502":              {502, "<!DOCTYPE html><title>limit: 0 per day</title>", Backoff, ScopeModel, "server_error"},
		"HTML 404":              {404, "<html>", Unknown, ScopeModel, "not_the_api"},
		"array 503":             {503, `[{"error":{"code":503}}]`, Backoff, ScopeModel, "overloaded"},
		"401":                   {401, `{"error":{"status":"UNAUTHENTICATED"}}`, Permanent, ScopeProject, "unauthenticated"},
		"403 of a file":         {403, `{"error":{"code":403,"message":"You do not have permission to access the File abc or it may not exist."}}`, Permanent, ScopeJob, "not_accessible"},
		"403 key blocked":       {403, `{"error":{"code":403,"details":[{"reason":"API_KEY_IP_ADDRESS_BLOCKED"}]}}`, Permanent, ScopeProject, "api_key_ip_address_blocked"},
		"404 of a file":         {404, `{"error":{"code":404,"message":"Requested entity was not found."}}`, Permanent, ScopeJob, "not_found"},
		"400 deadline":          {400, `{"error":{"code":400,"message":"Manually set deadline 3s is too short. Minimum allowed deadline is 10s.","status":"INVALID_ARGUMENT"}}`, Backoff, ScopeJob, "deadline"},
		"400 precondition":      {400, `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"Billing is not enabled."}}`, Permanent, ScopeProject, "failed_precondition"},
		"413":                   {413, "", Permanent, ScopeJob, "refused"},
		"499":                   {499, `{"error":{"code":499,"status":"CANCELLED"}}`, Backoff, ScopeJob, "cancelled"},
		"504":                   {504, `{"error":{"code":504}}`, Backoff, ScopeModel, "timeout"},
		"rate_limit_exceeded":   {429, `{"error":{"code":"rate_limit_exceeded","message":"x"}}`, Backoff, ScopeModel, "capacity"},
		"payment_required":      {402, `{"error":{"code":"payment_required","message":"x"}}`, BudgetStop, ScopeBilling, "prepay_empty"},
		"authentication":        {401, `{"error":{"code":"authentication","message":"x"}}`, Permanent, ScopeProject, "unauthenticated"},
		"per day in words":      {429, `{"error":{"code":429,"message":"Quota: 200 requests per day per user per tier reached"}}`, DailyReset, ScopeModel, "rpd"},
		"per minute in words":   {429, `{"error":{"code":429,"message":"Quota exceeded for aiplatform.googleapis.com/generate_content_requests_per_minute_per_project_per_base_model with base model: gemini-pro"}}`, Wait, ScopeModel, "rpm"},
		"quota words in a 400":  {400, `{"error":{"code":400,"message":"the text 'limit: 0, GenerateRequestsPerDayPerProject' is not valid"}}`, Permanent, ScopeJob, "invalid_argument"},
		"a user's words in 403": {403, `{"error":{"code":403,"message":"forbidden"}}`, Permanent, ScopeProject, "permission_denied"},
		"redirect":              {302, "", Unknown, ScopeModel, "unexplained"},
	} {
		v := Classify(Answer{Status: c.status, Body: []byte(c.body)}, noon)
		if v.Kind != c.kind || v.Scope != c.scope || v.Reason != c.reason {
			t.Errorf("%s: %+v, want %s/%s %s", name, v, c.kind, c.scope, c.reason)
		}
	}
}

// TestWrapped: what an error is wrapped in changes nothing.
func TestWrapped(t *testing.T) {
	plain := `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel","quotaValue":"100"}]}]}}`
	python := strings.ReplaceAll(plain, `"`, `'`)
	for name, body := range map[string]string{
		"array":           "[" + plain + "]",
		"string":          fmt.Sprintf(`{"error":{"message":%q,"code":429,"status":"Too Many Requests"}}`, plain),
		"string twice":    fmt.Sprintf(`{"error":{"message":%q}}`, fmt.Sprintf(`{"error":{"message":%q}}`, plain)),
		"nested":          `{"response":{"upstreamResponse":` + plain + `}}`,
		"prose before":    "ClientError: 429 RESOURCE_EXHAUSTED. It's over. " + plain,
		"python":          "429 RESOURCE_EXHAUSTED. " + python,
		"python in JSON":  fmt.Sprintf(`{"detail":%q}`, python),
		"cut at the end":  plain[:len(plain)-4],
		"cut at the head": plain[30:],
		"pretty":          strings.NewReplacer(":", " : ", ",", ",\n  ").Replace(plain),
		"BOM":             "\ufeff" + plain,
		"SSE":             "data: " + plain + "\n\n",
	} {
		if v := Classify(Answer{Status: 429, Body: []byte(body)}, noon); v.Kind != DailyReset || v.Limit != 100 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestErrorsOfTheWay(t *testing.T) {
	for _, c := range []struct {
		err    error
		scope  Scope
		reason string
	}{
		{context.Canceled, ScopeJob, "cancelled"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), ScopeModel, "timeout"},
		{&net.DNSError{Err: "no such host"}, ScopeWorker, "network"},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, ScopeWorker, "network"},
		{&net.OpError{Op: "proxyconnect", Err: errors.New("refused")}, ScopeWorker, "network"},
		{fmt.Errorf("x: %w", &tls.CertificateVerificationError{Err: errors.New("unknown authority")}), ScopeWorker, "network"},
		{http.ErrSchemeMismatch, ScopeWorker, "network"},
		{errors.New(`net/http: invalid header field value for "X-Goog-Api-Key"`), ScopeWorker, "network"},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, ScopeModel, "connection"},
		{io.ErrUnexpectedEOF, ScopeModel, "connection"},
	} {
		if v := Classify(Answer{Err: c.err}, noon); v.Kind != Backoff || v.Scope != c.scope || v.Reason != c.reason {
			t.Errorf("%v: %+v", c.err, v)
		}
	}
}

func TestPacificMidnight(t *testing.T) {
	for now, want := range map[string]time.Duration{
		"2026-11-01 00:30": 24*time.Hour + 30*time.Minute, // the day has 25 hours
		"2026-11-01 23:59": time.Minute,
		"2027-03-14 00:30": 22*time.Hour + 30*time.Minute, // 23 hours
		"2027-03-14 03:30": 20*time.Hour + 30*time.Minute,
		"2026-12-31 22:00": 2 * time.Hour,
	} {
		at := day(now)
		if got := NextPacificMidnight(at.UTC()).Sub(at); got != want {
			t.Errorf("%s: %s, want %s", now, got, want)
		}
	}
	if got := NextPacificMonth(day("2026-12-05 12:00")); !got.Equal(day("2027-01-01 00:00")) {
		t.Errorf("%s", got)
	}
}

// FuzzClassify: no body may panic or take long, and a verdict is always whole.
func FuzzClassify(f *testing.F) {
	for _, s := range samples(f) {
		a := s.answer()
		f.Add(a.Status, a.Body)
	}
	f.Add(429, []byte(strings.Repeat(`{"a":"`, 300)))
	f.Add(200, []byte("data: {\ndata: }\n\n"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		v := Classify(Answer{Status: status, Header: http.Header{}, Body: body}, noon)
		if status/100 != 2 && (v.Kind == "" || v.Scope == "" || v.Reason == "" || len(v.Evidence) == 0) {
			t.Errorf("%+v", v)
		}
		if v.RetryAfter < 0 || v.RetryAfter > 0 && v.RetryAt.IsZero() {
			t.Errorf("%+v", v)
		}
	})
}
