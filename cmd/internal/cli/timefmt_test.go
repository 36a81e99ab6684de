package cli

import (
	"testing"
	"time"

	"nightshift/limiter/gemini"
)

// TestLastWords: what follows "the last" is how people say it.
func TestLastWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Minute: "minute", 5 * time.Minute: "5 minutes", 90 * time.Second: "1m30s", 30 * time.Second: "30s"} {
		if got := lastWords(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

func TestPacificReset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ now, want string }{
		{"2026-11-29T21:00:00Z", "2026-11-30T08:00:00Z"}, // winter: UTC-8
		{"2026-07-01T06:59:59Z", "2026-07-01T07:00:00Z"}, // summer: UTC-7
		{"2026-11-01T08:30:00Z", "2026-11-02T08:00:00Z"}, // the day of 25 hours
		{"2027-03-14T09:00:00Z", "2027-03-15T07:00:00Z"}, // the day of 23 hours
		{"2026-12-31T22:00:00Z", "2027-01-01T08:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := gemini.NextPacificMidnight(now).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("after %s: %s, want %s", c.now, got, c.want)
		}
	}
}

func TestUSD(t *testing.T) {
	t.Parallel()
	for micro, want := range map[int64]string{
		0: "$0", 37: "$0.000037", 9_999: "$0.009999", 10_000: "$0.01", 1_234_567: "$1.23", 1_995_000: "$2.00", 805_800_000: "$805.80",
	} {
		if got := usd(micro); got != want {
			t.Errorf("usd(%d) = %s, want %s", micro, got, want)
		}
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "now", 5 * time.Second: "5s", 90 * time.Second: "1m30s", 26*time.Hour + 5*time.Minute: "26h05m", 50 * time.Hour: "2d02h",
	} {
		if got := ago(d); got != want {
			t.Errorf("ago(%s) = %s, want %s", d, got, want)
		}
	}
}
