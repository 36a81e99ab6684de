package cli

import (
	"strings"
	"testing"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// TestOwnWait: a tenant is told what its line waits for; of what others use, and who
// they are, nothing.
func TestOwnWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    limiter.Denied
		want string
	}{
		{limiter.Denied{Reason: limiter.ReasonQuota, Limiter: "rpm", Node: "lane", Limit: 987, Used: 654}, "rpm of the model, which it shares with others"},
		{limiter.Denied{Reason: limiter.ReasonQuota, Limiter: "rpm", Node: "tenant/globex", Limit: 987, Used: 654}, "rpm of the model, which it shares with others"},
		{limiter.Denied{Reason: limiter.ReasonShare, Limiter: "rpm", Node: "lane", Limit: 987, Detail: "globex"}, "rpm of the model, which it shares with others"},
		{limiter.Denied{Reason: limiter.ReasonSpend, Limiter: "usd_per_day", Node: "project/p", Estimates: limiter.Amounts{limiter.MicroUSD: 1}}, "a limit"},
		{limiter.Denied{Reason: limiter.ReasonBreaker, Detail: "globex"}, "the provider: calls of the model would fail now"},
		{limiter.Denied{Reason: limiter.ReasonTurn, Detail: "globex"}, "its turn"},
		{limiter.Denied{Reason: limiter.ReasonUnavailable, Detail: "globex"}, "room for its next call"},
	} {
		e := &explained{Class: "bulk", Path: limiter.Path{Tenant: "acme"}, Explanation: limiter.Explanation{Denied: &c.d}}
		if got := ownWait(e); !strings.HasPrefix(got, c.want) || strings.Contains(got, "globex") || strings.Contains(got, "987") {
			t.Errorf("%s at %s: %q, want %q", c.d.Reason, c.d.Node, got, c.want)
		}
	}
	own := &explained{Path: limiter.Path{Tenant: "acme"}, Explanation: limiter.Explanation{Denied: &limiter.Denied{Reason: limiter.ReasonQuota, Limiter: "rpm", Node: "tenant/acme", Limit: 987, Used: 987}}}
	if got := ownWait(own); !strings.Contains(got, "987") || !strings.Contains(got, "tenant/acme") {
		t.Errorf("of its own limit: %q", got)
	}
	for reason, want := range map[string]string{scheduler.ReasonOperator: "the run is paused by the operators", scheduler.ReasonWindow: "outside its work window", scheduler.ReasonStop: "an emergency stop"} {
		if got := ownPause(&limiter.Pause{Run: "r", Reason: reason, Owner: "ana", Detail: "globex"}); !strings.Contains(got, want) || strings.Contains(got, "ana") || strings.Contains(got, "globex") {
			t.Errorf("%s: %q", reason, got)
		}
	}
}
