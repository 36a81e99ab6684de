package cli

import (
	"testing"
	"time"

	"nightshift/limiter"
)

func TestForecast(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC) // noon in California: 12 h to the reset
	q := func(l limiter.Limits) laneQuota { return laneQuota{limits: l, share: 0.5} }
	for name, c := range map[string]struct {
		quota        laneQuota
		rows, tokens int64
		took         time.Duration
		limit        string
		days         int
	}{
		"requests bind":            {q(limiter.Limits{RPM: 100, InputTPM: 1_000_000}), 500, 1000, 10 * time.Minute, "rpm", 0},
		"tokens bind":              {q(limiter.Limits{RPM: 100, InputTPM: 1000}), 50, 5000, 10 * time.Minute, "input_tpm", 0},
		"the day has room":         {q(limiter.Limits{RPM: 100, RPD: 1000}), 500, 0, 10 * time.Minute, "rpm", 0},
		"over the Pacific reset":   {q(limiter.Limits{RPM: 100, RPD: 1000}), 750, 0, 12*time.Hour + 5*time.Minute, "rpd", 1},
		"exactly the day's amount": {q(limiter.Limits{RPD: 1000}), 500, 0, 0, "", 0},
		"two resets":               {q(limiter.Limits{RPD: 1000}), 1001, 0, 36 * time.Hour, "rpd", 2},
		"some of today is gone":    {laneQuota{limits: limiter.Limits{RPM: 100, RPD: 1000}, share: 0.5, today: 400}, 300, 0, 12*time.Hour + 4*time.Minute, "rpd", 1},
		"all of today is gone":     {laneQuota{limits: limiter.Limits{RPM: 100, RPD: 1000}, share: 0.5, today: 900}, 100, 0, 12*time.Hour + 2*time.Minute, "rpd", 1},
		"no limit":                 {q(limiter.Limits{Concurrency: 5}), 1_000_000, 1, 0, "", 0},
	} {
		got := c.quota.forecast(c.rows, c.tokens, now)
		if got.took != c.took || got.limit != c.limit || got.days != c.days {
			t.Errorf("%s: %+v, want %s by %q over %d days", name, got, c.took, c.limit, c.days)
		}
	}
}
