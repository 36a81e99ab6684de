package limiter_test

import (
	"testing"

	"nightshift/limiter"
)

// TestContested: only quota that other classes may have taken is contested.
func TestContested(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason      limiter.Reason
		limit, node string
		want        bool
	}{
		{limiter.ReasonQuota, "rpm", "lane", true},
		{limiter.ReasonQuota, "input_tpm", "", true},
		{limiter.ReasonQuota, "concurrency", "organization/acme", true},
		{limiter.ReasonShare, "rpm", "lane", true},
		{limiter.ReasonSmoothing, "", "lane", true},
		{limiter.ReasonCooldown, "", "lane", true},
		{limiter.ReasonQuota, "rpm", "tenant/acme", false},
		{limiter.ReasonQuota, "rpm", "key/k", false},
		{limiter.ReasonShare, "usd_per_10m", "lane", false},
		{limiter.ReasonSpend, "usd_per_day", "lane", false},
		{limiter.ReasonSpend, "", "", false},
		{limiter.ReasonNoPrice, "", "", false},
		{limiter.ReasonCredentials, "", "", false},
		{limiter.ReasonBreaker, "", "", false},
		{limiter.ReasonPaused, "", "", false},
		{limiter.ReasonTooLarge, "input_tpm", "lane", false},
		{limiter.ReasonUnknownLane, "", "", false},
		{limiter.ReasonUnavailable, "", "", false},
	} {
		if got := limiter.Contested(c.reason, c.limit, c.node); got != c.want {
			t.Errorf("%s of %q of %q: contested %v, want %v", c.reason, c.limit, c.node, got, c.want)
		}
	}
}
