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
	midnight, month := 12*time.Hour, 36*time.Hour // to the Pacific ones, from noon there
	trip := func(scope limiter.BreakerScope, why limiter.Reason, certain bool, d, longest time.Duration) limiter.Trip {
		x := limiter.Trip{Scope: scope, Reason: why, Certain: certain, Longest: longest}
		if d > 0 {
			x.Until = noon.Add(d)
		}
		return x
	}
	lane, project := limiter.BreakLane, limiter.BreakProject
	for name, c := range map[string]struct {
		status int
		body   string
		rest   time.Duration
		trip   limiter.Trip // the zero one: none
	}{
		"minute":        {429, quota("GenerateRequestsPerMinutePerProjectPerModel", "10", "26s"), 27 * time.Second, limiter.Trip{}},
		"day":           {429, quota("GenerateRequestsPerDayPerProjectPerModel", "100", "26s"), 0, trip(lane, limiter.ReasonBreaker, true, midnight, 0)},
		"no quota":      {429, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "0", "26s"), 0, trip(lane, limiter.ReasonBreaker, true, 0, keyLooks)},
		"unexplained":   {429, `{"error":{"code":429,"message":"You exceeded your current quota"}}`, 0, trip(lane, limiter.ReasonBreaker, false, midnight, 0)},
		"capacity":      {429, `{"error":{"code":429,"message":"Resource exhausted. Please try again later."}}`, time.Second, limiter.Trip{}},
		"overloaded":    {503, `{"error":{"code":503,"message":"The model is overloaded."}}`, 0, limiter.Trip{}},
		"bad request":   {400, `{"error":{"code":400,"message":"Request contains an invalid argument."}}`, 0, limiter.Trip{}},
		"bad key":       {400, `{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}}`, 0, trip(project, limiter.ReasonCredentials, true, 0, keyLooks)},
		"no money":      {402, `{"error":{"code":402,"message":"Your prepayment credits are depleted."}}`, 0, trip(project, limiter.ReasonSpend, true, 0, 0)},
		"month's cap":   {429, `{"error":{"code":429,"message":"Your project has exceeded its monthly spending cap."}}`, 0, trip(project, limiter.ReasonSpend, true, month, 0)},
		"spend rate":    {429, `{"error":{"code":429,"message":"You exceeded your spend-based rate limit."}}`, 0, trip(project, limiter.ReasonSpend, true, 10*time.Minute, 0)},
		"tool":          {429, quota("SearchGroundingRequestsPerDay-FreeTier", "0", "26s"), 0, limiter.Trip{}},
		"wrong place":   {400, `{"error":{"code":400,"message":"User location is not supported for the API use."}}`, 0, limiter.Trip{}},
		"model is gone": {404, `{"error":{"code":404,"message":"models/x is not found for API version v1beta"}}`, 0, trip(lane, limiter.ReasonBreaker, true, 0, keyLooks)},
	} {
		gate := &fakeGate{}
		tr := newTestTransport(t, replies(c.status, "application/json", c.body), gate, func(cfg *TransportConfig) {
			cfg.Now = func() time.Time { return noon }
		})
		ctx, _ := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
			t.Fatal(err)
		}
		var rest time.Duration
		var got limiter.Trip
		if len(gate.cooled) == 1 {
			rest = gate.cooled[0].d
		}
		if len(gate.trips) == 1 {
			x := gate.trips[0]
			got = limiter.Trip{Scope: x.Scope, Reason: x.Reason, Certain: x.Certain, Longest: x.Longest}
			if !x.Until.IsZero() {
				got.Until = noon.Add(x.Until.Sub(noon))
			}
			if x.Permit != gate.acquired[0].ID || x.Lift == "" || x.Detail == "" || (x.Key != "") != (x.Reason == limiter.ReasonCredentials) {
				t.Errorf("%s: %+v", name, x)
			}
		}
		if rest != c.rest || got != c.trip || len(gate.cooled)+len(gate.trips) > 1 {
			t.Errorf("%s: rests %s, trips %+v; want %s, %+v", name, rest, got, c.rest, c.trip)
		}
	}
}
