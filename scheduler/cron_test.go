package scheduler

import (
	"testing"
	"time"
)

func TestCron(t *testing.T) {
	for name, c := range map[string]struct{ cron, zone, after, want, period string }{
		"a night":                 {"30 1 * * *", "Asia/Tokyo", "2026-11-30T17:00:00Z", "2026-12-01T16:30:00Z", "2026-12-02"},
		"not the same again":      {"30 1 * * *", "Asia/Tokyo", "2026-11-30T16:30:00Z", "2026-12-01T16:30:00Z", "2026-12-02"},
		"the month's end":         {"0 0 31 * *", "UTC", "2026-10-31T00:00:00Z", "2026-12-31T00:00:00Z", "2026-12-31"},
		"a time that is left out": {"30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", "2026-03-08T07:00:00Z", "2026-03-08"},
		"a time that comes twice": {"30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01"},
		"comes once of twice":     {"30 1 * * *", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z", "2026-11-02"},
		"several a day":           {"0 */6 * * *", "UTC", "2026-11-30T07:00:00Z", "2026-11-30T12:00:00Z", "2026-11-30T12:00"},
		"daily":                   {"@daily", "Europe/Berlin", "2026-11-30T07:00:00Z", "2026-11-30T23:00:00Z", "2026-12-01"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseCron(c.cron, zone)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := time.Parse(time.RFC3339, c.after)
		got := s.Next(after)
		if got.UTC().Format(time.RFC3339) != c.want || s.Period(got) != c.period {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got.UTC(), s.Period(got), c.want, c.period)
		}
	}
	for _, bad := range []string{"", "30 25 * * *", "@every 1h", "0 0 30 2 *", "CRON_TZ=UTC 0 1 * * *"} {
		if _, err := ParseCron(bad, nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
