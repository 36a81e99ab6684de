package gemini

import (
	"context"
	"testing"

	"nightshift/limiter"
)

func quotaBody(id, value, delay string) string {
	return `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + id + `","quotaValue":"` + value + `"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}]}}`
}

// TestWhatIsReported is what answers to admitted calls say about our limits.
func TestWhatIsReported(t *testing.T) {
	rejected := func(limit string, value int64) limiter.Feedback {
		return limiter.Feedback{Kind: limiter.RejectedAfterAdmit, Limit: limit, QuotaValue: value}
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   limiter.Feedback // the zero one: none
	}{
		"requests of a minute": {429, quotaBody("GenerateRequestsPerMinutePerProjectPerModel", "10", "26s"), rejected("rpm", 10)},
		"tokens of a minute":   {429, quotaBody("GenerateContentPaidTierInputTokensPerModelPerMinute", "1000000", "26s"), rejected("input_tpm", 1_000_000)},
		"requests of a day":    {429, quotaBody("GenerateRequestsPerDayPerProjectPerModel", "100", "26s"), rejected("rpd", 100)},
		"larger than a minute": {429, quotaBody("GenerateContentPaidTierInputTokensPerModelPerMinute", "1", "26s"), rejected("input_tpm", 1)},
		"only a hint":          {429, `{"error":{"code":429,"details":[{"retryDelay":"5s"}]}}`, rejected("", 0)},
		"capacity":             {429, `{"error":{"code":429,"message":"Resource exhausted. Please try again later."}}`, limiter.Feedback{Kind: limiter.Capacity}},
		"overloaded":           {503, `{"error":{"code":503,"message":"The model is overloaded."}}`, limiter.Feedback{Kind: limiter.Capacity}},
		"overloaded in a 200":  {200, `{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}`, limiter.Feedback{Kind: limiter.Capacity}},
		"no quota":             {429, quotaBody("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "0", "26s"), limiter.Feedback{}},
		"unexplained":          {429, `{"error":{"code":429,"message":"You exceeded your current quota"}}`, limiter.Feedback{}},
		"spend rate":           {429, `{"error":{"code":429,"message":"You exceeded your spend-based rate limit."}}`, limiter.Feedback{}},
		"tool":                 {429, quotaBody("SearchGroundingRequestsPerMinute", "5", "26s"), limiter.Feedback{}},
		"server error":         {500, `{"error":{"code":500,"message":"An internal error has occurred."}}`, limiter.Feedback{}},
		"bad request":          {400, `{"error":{"code":400,"message":"Request contains an invalid argument."}}`, limiter.Feedback{}},
		"good":                 {200, good, limiter.Feedback{}},
	} {
		gate := &fakeGate{}
		if _, err := roundTrip(t, replies(c.status, "application/json", c.body), gate); err != nil {
			t.Fatal(err)
		}
		var got limiter.Feedback
		if len(gate.reported) > 0 {
			got = gate.reported[0]
			if got.Lane.Model != "gemini-2.5-flash" || len(gate.reported) > 1 {
				t.Errorf("%s: reported %+v", name, gate.reported)
			}
			got.Lane = limiter.Lane{}
		}
		if got != c.want {
			t.Errorf("%s: reported %+v, want %+v", name, got, c.want)
		}
	}
}

// overGate lets all through, over a limit.
type overGate struct{ *fakeGate }

func (g overGate) Acquire(ctx context.Context, r limiter.Request) (*limiter.Permit, error) {
	p, err := g.fakeGate.Acquire(ctx, r)
	p.Over = "rpm"
	return p, err
}

// TestOverIsNotReported: a refusal of what went over our own limit says nothing
// about that limit.
func TestOverIsNotReported(t *testing.T) {
	gate := overGate{&fakeGate{}}
	body := quotaBody("GenerateRequestsPerMinutePerProjectPerModel", "10", "26s")
	tr := newTestTransport(t, replies(429, "application/json", body), nil, func(c *TransportConfig) { c.Gate, c.Observe = gate, true })
	ctx, _ := callCtx(t.Context())
	if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
		t.Fatal(err)
	}
	if len(gate.reported) > 0 || len(gate.cooled) != 1 {
		t.Errorf("reported %+v, cooled %+v", gate.reported, gate.cooled)
	}
}

// TestSharedBucketIsReported: the 429 names another model that we have limits for.
// It is told once by each process.
func TestSharedBucketIsReported(t *testing.T) {
	lanes, err := NewLaneMap("proj", "", Model{Name: "gemini-2.5-flash"}, Model{Name: "gemini-2.5-pro"})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` +
		`{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"10","quotaDimensions":{"model":"gemini-2.5-pro"}}]}]}}`
	gate := &fakeGate{}
	tr := newTestTransport(t, replies(429, "application/json", body), gate, func(c *TransportConfig) { c.Lanes = lanes })
	for range 2 {
		ctx, _ := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(gate.reported); n != 2 || gate.reported[0].Shared != "gemini-2.5-pro" || gate.reported[1].Shared != "" {
		t.Errorf("reported %+v", gate.reported)
	}
}
