package gemini

import (
	"testing"
	"time"

	"nightshift/limiter"
)

func TestWhatRests(t *testing.T) {
	quota := func(id, value, delay string) string {
		return `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[` +
			`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + id + `","quotaValue":"` + value + `"}]},` +
			`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}]}}`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		lanes  int
		d      time.Duration
		reason limiter.Reason
	}{
		"minute":        {429, quota("GenerateRequestsPerMinutePerProjectPerModel", "10", "26s"), 1, 27 * time.Second, limiter.ReasonCooldown},
		"day":           {429, quota("GenerateRequestsPerDayPerProjectPerModel", "100", "26s"), 1, 12*time.Hour + time.Second, limiter.ReasonCooldown},
		"no quota":      {429, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "0", "26s"), 1, restHopeless, limiter.ReasonBreaker},
		"unexplained":   {429, `{"error":{"code":429,"message":"You exceeded your current quota"}}`, 1, time.Minute, limiter.ReasonCooldown},
		"capacity":      {429, `{"error":{"code":429,"message":"Resource exhausted. Please try again later."}}`, 1, time.Second, limiter.ReasonCooldown},
		"overloaded":    {503, `{"error":{"code":503,"message":"The model is overloaded."}}`, 0, 0, ""},
		"bad request":   {400, `{"error":{"code":400,"message":"Request contains an invalid argument."}}`, 0, 0, ""},
		"bad key":       {400, `{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}}`, 2, restCredential, limiter.ReasonCredentials},
		"no money":      {402, `{"error":{"code":402,"message":"Your prepayment credits are depleted."}}`, 2, restHopeless, limiter.ReasonSpend},
		"spend rate":    {429, `{"error":{"code":429,"message":"You exceeded your spend-based rate limit."}}`, 2, restProject, limiter.ReasonSpend},
		"tool":          {429, quota("SearchGroundingRequestsPerDay-FreeTier", "0", "26s"), 0, 0, ""},
		"wrong place":   {400, `{"error":{"code":400,"message":"User location is not supported for the API use."}}`, 0, 0, ""},
		"model is gone": {404, `{"error":{"code":404,"message":"models/x is not found for API version v1beta"}}`, 1, restHopeless, limiter.ReasonBreaker},
	} {
		gate := &fakeGate{}
		tr := newTestTransport(t, replies(c.status, "application/json", c.body), gate, func(cfg *TransportConfig) {
			cfg.Now = func() time.Time { return noon }
		})
		ctx, _ := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
			t.Fatal(err)
		}
		if len(gate.cooled) != c.lanes {
			t.Errorf("%s: %d lanes rest, want %d", name, len(gate.cooled), c.lanes)
			continue
		}
		for _, got := range gate.cooled {
			if got.d != c.d || got.reason != c.reason {
				t.Errorf("%s: %+v, want %s %s", name, got, c.d, c.reason)
			}
		}
	}
}
