package gemini

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestShapes has what the four interfaces send beside the samples: Gemini API,
// Vertex AI, the OpenAI-compatible endpoint, Interactions, and the Live API's
// close frames. after is 0 for no time, -1 for the Pacific midnight.
func TestShapes(t *testing.T) {
	const midnight = -1
	for name, c := range map[string]struct {
		status int
		body   string
		kind   Kind
		scope  Scope
		reason string
		after  time.Duration
	}{
		"both hints, the message's larger": {429, `{"error":{"code":429,"message":"Please retry in 51.4s.","details":[{"violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"250000"}]},{"retryDelay":"14s"}]}}`, Wait, ScopeModel, "input_tpm", 52 * time.Second},
		"both hints, the detail's larger":  {429, `{"error":{"code":429,"message":"Please retry in 14.1s.","details":[{"violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"250000"}]},{"retryDelay":"51s"}]}}`, Wait, ScopeModel, "input_tpm", 51 * time.Second},
		"upstreamResponse, day":            {429, `{"response":{"upstreamResponse":{"error":{"code":429,"details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"20"}]},{"retryDelay":"22s"}]}}}}`, DailyReset, ScopeModel, "rpd", midnight},
		"limit 0, string and cut":          {429, `{"error":{"message":"{\n \"error\": {\"code\": 429, \"message\": \"* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, model: gemini-3.1-pro\\nPlease retry in 25.1s.\", \"details\": [{\"violations\": [{\"quotaMetric\": \"generativelangu`, Permanent, ScopeModel, "limit_zero", 0},
		"cut behind the quota's id":        {429, `{"error":{"code":429,"message":"* Quota exceeded for metric: g.com/generate_content_free_tier_requests, limit: 0, model: gemini-2.5-flash-preview-image","details":[{"violations":[{"quotaMetric":"g.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaDim`, Permanent, ScopeModel, "limit_zero", 0},
		"cut, the text tells the day":      {429, `{"error":{"code":429,"message":"* Quota exceeded for metric: g.com/generate_requests_per_model_per_day, limit: 100\nPlease retry in 21s.","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"10"},{"quotaMet`, DailyReset, ScopeModel, "rpd", midnight},
		"paid day by its hours":            {429, `{"error":{"code":429,"message":"* Quota exceeded for metric: generativelanguage.googleapis.com/generate_requests_per_model, limit: 50, model: gemini-3.1-pro\nPlease retry in 4h59m27s."}}`, DailyReset, ScopeModel, "rpd", 4*time.Hour + 59*time.Minute + 27*time.Second},
		"paid day 77511s":                  {429, `429 RESOURCE_EXHAUSTED GenerateRequestsPerDayPerProjectPerModel, limit: 250 {'@type': 'RetryInfo', 'retryDelay': '77511s'}`, DailyReset, ScopeModel, "rpd", 77511 * time.Second},
		"a day in prose":                   {429, `{"error":{"code":429,"message":"Quota exceeded: 1500 requests per day per user per tier. Your quota will reset after 7h.","sta`, DailyReset, ScopeModel, "rpd", 7 * time.Hour},
		"tokens of a day":                  {429, `{"error":{"details":[{"violations":[{"quotaId":"GenerateContentInputTokensPerModelPerDay-FreeTier","quotaValue":"1000000"}]},{"retryDelay":"5s"}]}}`, DailyReset, ScopeModel, "tpd", midnight},
		"prepaid credits by the old 429":   {429, `{"error":{"code":429,"message":"Your prepayment credits are depleted. Please go to AI Studio","status":"RESOURCE_EXHAUSTED"}}`, BudgetStop, ScopeBilling, "prepay_empty", 0},
		"spend rate, string":               {429, `{"error":{"message":"{\"error\":{\"message\":\"You exceeded your spend-based rate limit.\"}}","code":429}}`, Wait, ScopeProject, "spend_rate", 10 * time.Minute},
		"capacity in a string":             {429, `{"error":{"message":"{\"error\":{\"code\":429,\"message\":\"Resource has been exhausted (e.g. check quota).\",\"status\":\"RESOURCE_EXHAUSTED\"}}","code":429,"status":"Too Many Requests"}}`, Backoff, ScopeModel, "capacity", 0},
		"Vertex, fixed quota":              {429, `[{"error":{"code":429,"message":"Quota exceeded for aiplatform.googleapis.com/generate_content_requests_per_minute_per_project_per_base_model with base model: gemini-3.5-flash. Please submit a quota increase request.","status":"RESOURCE_EXHAUSTED"}}]`, Wait, ScopeModel, "rpm", time.Minute},
		"Vertex, no access":                {403, `{"error":{"code":403,"message":"Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p/locations/global' (or it may not exist).","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"IAM_PERMISSION_DENIED"}]}}`, Permanent, ScopeProject, "permission_denied", 0},
		"Vertex, no token":                 {401, `{"error":{"code":401,"status":"UNAUTHENTICATED","details":[{"reason":"ACCESS_TOKEN_TYPE_UNSUPPORTED"}]}}`, Permanent, ScopeProject, "access_token_type_unsupported", 0},
		"Vertex, too long":                 {400, `{"error":{"code":400,"message":"Unable to submit request because the input token count is 1200000 but model only supports up to 1048576. Reduce the input token count and try again.","status":"INVALID_ARGUMENT"}}`, Permanent, ScopeJob, "too_long", 0},
		"Vertex, no such model":            {404, `[{"error":{"code":404,"message":"Publisher Model projects/p/locations/l/publishers/google/models/gemini-9 was not found or your project does not have access to it.","status":"NOT_FOUND"}}]`, Permanent, ScopeModel, "model_not_found", 0},
		"OpenAI endpoint, minute":          {429, `[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"10"}]},{"retryDelay":"7s"}]}}]`, Wait, ScopeModel, "rpm", 7 * time.Second},
		"OpenAI endpoint, bad key":         {400, `[{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`, Permanent, ScopeProject, "api_key_invalid", 0},
		"no key at all":                    {403, `{"error":{"code":403,"message":"Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.","status":"PERMISSION_DENIED"}}`, Permanent, ScopeProject, "unauthenticated", 0},
		"referrer":                         {403, `{"error":{"code":403,"message":"Requests from referer <empty> are blocked.","status":"PERMISSION_DENIED","details":[{"reason":"API_KEY_HTTP_REFERRER_BLOCKED"}]}}`, Permanent, ScopeProject, "api_key_http_referrer_blocked", 0},
		"Interactions, out of range":       {416, `{"error":{"code":"out_of_range","message":"x"}}`, Permanent, ScopeJob, "refused", 0},
		"Interactions, blocked":            {400, `{"error":{"code":"prohibited_content","message":"x"}}`, Permanent, ScopeJob, ReasonBlocked, 0},
		"Interactions, safety event":       {200, "event: error\ndata: {\"event_type\":\"error\",\"error\":{\"code\":\"safety\",\"message\":\"x\"}}\n\n", Permanent, ScopeJob, ReasonBlocked, 0},
		"Interactions, failed generation":  {200, "data: {\"event_type\":\"error\",\"error\":{\"code\":\"malformed_tool_call\",\"message\":\"x\"}}\n\n", Backoff, ScopeJob, ReasonFinishRetry, 0},
		"Interactions, burst event":        {200, "data: {\"event_type\":\"interaction.start\"}\n\ndata: {\"event_type\":\"error\",\"error\":{\"code\":\"too_many_requests\",\"message\":\"x\"}}\n\n", Backoff, ScopeModel, "capacity", 0},
		"Interactions, day event":          {200, "data: {\"event_type\":\"error\",\"error\":{\"code\":\"quota_exceeded\",\"message\":\"x\"}}\n\n", DailyReset, ScopeModel, "rpd", midnight},
		"Interactions, money event":        {200, "data: {\"event_type\":\"error\",\"error\":{\"code\":\"payment_required\",\"message\":\"x\"}}\n\n", BudgetStop, ScopeBilling, "prepay_empty", 0},
		"Interactions, key event":          {200, "data: {\"event_type\":\"error\",\"error\":{\"code\":\"authentication\",\"message\":\"x\"}}\n\n", Permanent, ScopeProject, "unauthenticated", 0},
		"Interactions, unavailable event":  {200, "data: {\"event_type\":\"error\",\"error\":{\"code\":\"service_unavailable\",\"message\":\"x\"}}\n\n", Backoff, ScopeModel, "overloaded", 0},
		"Interactions, slow event":         {200, "data: {\"event_type\":\"error\",\"error\":{\"code\":\"deadline_exceeded\",\"message\":\"x\"}}\n\n", Backoff, ScopeModel, "timeout", 0},
		"Interactions, api_error event":    {200, "data: {\"event_type\":\"error\",\"error\":{\"code\":\"api_error\",\"message\":\"x\"}}\n\n", Backoff, ScopeModel, "server_error", 0},
		"Interactions, tool's own words":   {501, `{"error":{"code":"unimplemented","message":"x"}}`, Permanent, ScopeJob, "unimplemented", 0},
		"1011, quota":                      {1011, "You exceeded your current quota, please check your plan and billing details.", Unknown, ScopeModel, "unexplained", 0},
		"1011, internal":                   {1011, "Internal error encountered.", Backoff, ScopeModel, "server_error", 0},
		"1011, in the text":                {0, "received 1011 (internal error) Thread was cancelled when writing StartStep status to channel.", Backoff, ScopeModel, "server_error", 0},
		"1011, sessions":                   {1011, "RESOURCE_EXHAUSTED: Maximum concurrent sessions exceeded.", Backoff, ScopeModel, "capacity", 0},
		"1008, no such model":              {1008, "models/gemini-9-live is not found for API version v1beta, or is not supported for bidiGenerateContent.", Permanent, ScopeModel, "model_not_found", 0},
		"1008, leaked key":                 {1008, "Your API key was reported as leaked. Please use another API key.", Permanent, ScopeProject, "api_key_leaked", 0},
		"1007, bad key":                    {1007, "API key not valid. Please pass a valid API key.", Permanent, ScopeProject, "api_key_invalid", 0},
		"1007, bad message":                {1007, "Request contains an invalid argument.", Permanent, ScopeJob, "invalid_argument", 0},
		"1006":                             {1006, "", Backoff, ScopeModel, "server_error", 0},
		"1012":                             {1012, "service restart", Backoff, ScopeModel, "overloaded", 0},
		"minutes in words":                 {429, `{"error":{"message":"Too fast. Try again in 2 minutes."}}`, Wait, ScopeModel, "quota", 2 * time.Minute},
		"a status in words":                {0, "[GoogleGenerativeAI Error]: Error fetching from https://x/models/gemini-404: [503 Service Unavailable] The model is overloaded.", Backoff, ScopeModel, "overloaded", 0},
		"a page alone":                     {0, "<html><head><title>504 Gateway Time-out</title></head>", Backoff, ScopeModel, "timeout", 0},
	} {
		v := Classify(Answer{Status: c.status, Header: http.Header{}, Body: []byte(c.body)}, noon)
		if v.Kind != c.kind || v.Scope != c.scope || v.Reason != c.reason {
			t.Errorf("%s: %+v, want %s/%s %s", name, v, c.kind, c.scope, c.reason)
		}
		want := c.after
		if want == midnight {
			want = NextPacificMidnight(noon).Sub(noon)
		}
		if got := v.RetryAfter; got != want {
			t.Errorf("%s: after %s, want %s", name, got, want)
		}
	}
}

// TestBudgetEnds: caps end with the Pacific month, prepaid credits when somebody pays.
func TestBudgetEnds(t *testing.T) {
	for text, want := range map[string]time.Time{
		"Your project has exceeded its monthly spending cap.":         day("2026-12-01 00:00"),
		"Your billing account has exceeded its monthly spending cap.": day("2026-12-01 00:00"),
		"Your prepayment credits are depleted.":                       {},
	} {
		v := Classify(Answer{Status: 429, Body: []byte(`{"error":{"message":"` + text + `"}}`)}, noon)
		if v.Kind != BudgetStop || !v.RetryAt.Equal(want) {
			t.Errorf("%s: %+v, want until %s", text, v, want)
		}
	}
}

// TestWords: what a person wrote into a request, and what pages and messages say
// beside the point, decides nothing.
func TestWords(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kind   Kind
		reason string
	}{
		"retry in a 403":        {403, `{"error":{"code":403,"message":"It is disabled. Enable it, then retry. Retry in 60s.","details":[{"reason":"SERVICE_DISABLED"}]}}`, Permanent, "service_disabled"},
		"quota words in a 503":  {503, `{"error":{"code":503,"message":"overloaded; your quota per day is fine"}}`, Backoff, "overloaded"},
		"billing in a minute":   {429, `{"error":{"code":429,"message":"check your plan and billing details, per day","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"10"}]},{"retryDelay":"3s"}]}}`, Wait, "rpm"},
		"a project in a minute": {429, `{"error":{"details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"500"}]}]}}`, Wait, "rpm"},
		"spending cap in a 400": {400, `{"error":{"code":400,"message":"Invalid value: 'write about api keys per minute'"}}`, Permanent, "invalid_argument"},
	} {
		if v := Classify(Answer{Status: c.status, Body: []byte(c.body)}, noon); v.Kind != c.kind || v.Reason != c.reason {
			t.Errorf("%s: %+v, want %s %s", name, v, c.kind, c.reason)
		}
	}
	long := Classify(Answer{Status: 429, Body: []byte(`{"error":{"code":429,"message":"` + strings.Repeat("x", 200) + `"}}`)}, noon)
	if long.Kind != Unknown {
		t.Errorf("%+v", long)
	}
}
