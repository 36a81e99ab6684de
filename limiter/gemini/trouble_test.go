package gemini

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// TestTroubleInMidCall: Redis stops to take commands while calls are under way. Bulk
// fails closed, people pass by their allowance, and when it is over what all of them
// used is charged, to the micro-dollar, and nothing is held any more.
func TestTroubleInMidCall(t *testing.T) {
	admin := dialReal(t)
	name, lane := strings.ReplaceAll(t.Name(), "/", "-"), limiter.Lane{Provider: "gemini", Project: "proj", Region: "global", Model: "gemini-2.5-flash"}
	rights := func(r ...any) {
		t.Helper()
		if err := admin.Do(t.Context(), append([]any{"ACL", "SETUSER", name}, r...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	rights("on", ">pw", "~*", "&*", "+@all")
	user := redis.NewClient(&redis.Options{Network: "unix", Addr: admin.Options().Addr, Username: name, Password: "pw"})
	t.Cleanup(func() { _ = user.Close() })
	gate := limiter.NewRedis(user, lane.Scope(), limiter.RedisOptions{Timeout: time.Minute})
	if err := gate.Configure(t.Context(), limiter.Config{Scope: lane.Scope(), Classes: []limiter.Class{{Name: "interactive"}, {Name: "bulk"}},
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{InputTPM: 100_000, Concurrency: 10, USDPerMonth: 1_000_000}}}}); err != nil {
		t.Fatal(err)
	}
	base := func(trouble func()) sender {
		return func(*http.Request) (*http.Response, error) {
			trouble()
			return reply(200, "application/json", good), nil
		}
	}
	tr := newTestTransport(t, base(func() { rights("-@scripting") }), nil, func(c *TransportConfig) {
		c.Gate, c.Soft = gate, map[string]SoftAllowance{"interactive": {PerMinute: 5}}
		c.Bounds.Away = time.Minute
	})
	obs, err := askAs(t, tr, "bulk")
	if err != nil || obs.Permit == nil {
		t.Fatal(err)
	}
	if _, err := askAs(t, tr, "bulk"); err == nil || !strings.Contains(err.Error(), "evalsha") {
		t.Fatalf("bulk without a permit: %v", err)
	}
	soft, err := askAs(t, tr, "interactive")
	if err != nil || !soft.Soft {
		t.Fatalf("people do not pass: %v", err)
	}
	rights("+@all")
	cost := obs.MicroUSD + soft.MicroUSD
	var used map[string]int64
	for end := time.Now().Add(time.Minute); time.Now().Before(end); { // the settlement is offered again within a second or so
		s, err := gate.State(t.Context(), lane)
		if err != nil {
			t.Fatal(err)
		}
		used = map[string]int64{}
		for _, l := range s.Limits {
			used[l.Name] = l.Used
		}
		if used["concurrency"] == 0 && used["usd_per_month"] == cost {
			break
		}
	}
	if used["concurrency"] != 0 || used["input_tpm"] != 16 || used["usd_per_month"] != cost {
		t.Errorf("in use %v; want 16 tokens and %d µ$", used, cost)
	}
}
