package gemini

import (
	"io"
	"net/http"
	"testing"

	"nightshift/limiter"
)

// TestFlexIsShed: that flex has no capacity says nothing of the lane, whose other calls
// are served: nothing of it is lowered, and it does not rest.
func TestFlexIsShed(t *testing.T) {
	const overloaded = `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`
	const capacity = `{"error":{"code":429,"message":"Resource exhausted. Please try again later."}}`
	for name, c := range map[string]struct {
		tier   string
		status int
		body   string
		reason string
		waits  JobAction
		told   bool
	}{
		"503 of flex":            {"flex", 503, overloaded, ReasonFlex, JobWaits, false},
		"429 of flex":            {"flex", 429, capacity, ReasonFlex, JobWaits, false},
		"504 of flex":            {"flex", 504, `{}`, ReasonFlex, JobWaits, false},
		"503 of flex in a 200":   {"flex", 200, overloaded, ReasonFlex, JobWaits, false},
		"503 of standard":        {"standard", 503, overloaded, "overloaded", JobRetries, true},
		"503 of no tier":         {"", 503, overloaded, "overloaded", JobRetries, true},
		"the minute's of flex":   {"flex", 429, quotaBody("GenerateRequestsPerMinutePerProjectPerModel", "10", "26s"), "rpm", JobWaits, true},
		"a server error of flex": {"flex", 500, `{}`, "server_error", JobRetries, false},
	} {
		gate := &fakeGate{}
		ctx, seen := callCtx(t.Context())
		req := post(ctx, generate, `{"service_tier":"`+c.tier+`",`+question[1:])
		if _, err := newTestTransport(t, replies(c.status, "application/json", c.body), gate).RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if seen.Verdict == nil || seen.Verdict.Reason != c.reason || seen.Consequence.Job.Action != c.waits || seen.Tier != c.tier {
			t.Errorf("%s: %+v, %+v, asked for %q", name, seen.Verdict, seen.Consequence, seen.Tier)
		}
		if told := len(gate.reported)+len(gate.cooled) > 0; told != c.told {
			t.Errorf("%s: told the limiter: %v, want %v: %+v %+v", name, told, c.told, gate.reported, gate.cooled)
		}
	}
}

// TestTierIsHeldAndAssumed: money is held at the price of what is asked for, and what
// broke off is charged by it.
func TestTierIsHeldAndAssumed(t *testing.T) {
	held := map[string]int64{}
	for _, tier := range []string{"standard", "flex", "priority"} {
		gate := &fakeGate{}
		ctx, seen := callCtx(t.Context())
		req := post(ctx, generate, `{"serviceTier":"`+tier+`",`+question[1:])
		broken := sender(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
		if _, err := newTestTransport(t, broken, gate).RoundTrip(req); err == nil {
			t.Fatal("the connection broke")
		}
		held[tier] = seen.Estimate[limiter.MicroUSD]
		if got := gate.once(t).Used[limiter.MicroUSD]; !seen.Assumed || got <= 0 || got > held[tier] {
			t.Errorf("%s: %d charged of %d held", tier, got, held[tier])
		}
		if tier == "priority" && seen.MicroUSD <= held["standard"]/8 {
			t.Errorf("priority is assumed at %d", seen.MicroUSD)
		}
	}
	if held["flex"] >= held["standard"] || held["priority"] <= held["standard"] {
		t.Errorf("held: %v", held)
	}
}

// TestServedTier: the header counts before usage, and that before what was asked.
func TestServedTier(t *testing.T) {
	for _, c := range []struct{ header, reported, asked, want string }{
		{"", "", "", ""}, {"", "", "flex", "flex"}, {"", "standard", "flex", "standard"},
		{"STANDARD", "priority", "priority", "standard"}, {"SERVICE_TIER_FLEX", "", "", "flex"},
	} {
		h := http.Header{}
		if c.header != "" {
			h.Set("X-Gemini-Service-Tier", c.header)
		}
		if got := servedTier(h, c.reported, c.asked); got != c.want {
			t.Errorf("header %q, usage %q, asked %q: %q, want %q", c.header, c.reported, c.asked, got, c.want)
		}
	}
}
