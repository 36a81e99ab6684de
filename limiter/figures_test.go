package limiter

import (
	"testing"
	"time"
)

// TestFigures: money and parts have the digits that they need, everywhere the same.
func TestFigures(t *testing.T) {
	t.Parallel()
	for micro, want := range map[int64]string{
		0: "$0", 1: "$0.000001", 9_999: "$0.009999", 10_000: "$0.01", 60_000: "$0.06", 64_160: "$0.0642", 65_000: "$0.0650", 999_960: "$1.0000", 1_000_000: "$1.00",
		1_234_567_890: "$1,234.57", -64_160: "-$0.0642", -2_500_000: "-$2.50",
	} {
		if got := Dollars(micro); got != want {
			t.Errorf("%d micro-dollars are %s, want %s", micro, got, want)
		}
	}
	for part, want := range map[float64]string{0: "0.0 %", 0.0001: "<0.1 %", 0.0005: "0.1 %", 0.320101: "32.0 %", 0.9999: "99.9 %", 1: "100.0 %", 1.25: "125.0 %"} {
		if got := Percent(part); got != want {
			t.Errorf("%v is %s, want %s", part, got, want)
		}
	}
	for ppm, want := range map[int64]string{0: "0 %", 1: "<0.1 %", 25_000: "2.5 %", 125_000: "12.5 %", 333_333: "33.3 %", 500_000: "50 %", 1_000_000: "100 %"} {
		if got := Share(ppm); got != want {
			t.Errorf("%d ppm are %s, want %s", ppm, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-1: "0 ms", 90 * time.Millisecond: "90 ms", 1500 * time.Millisecond: "1.5 s", 5 * time.Second: "5 s", 42 * time.Second: "42 s", 80 * time.Second: "1 min 20 s",
		9_990 * time.Millisecond: "10.0 s", 59_900 * time.Millisecond: "1 min", 90 * time.Minute: "1 h 30 min", 24 * time.Hour: "24 h", 76 * time.Hour: "3 days 4 h",
		time.Hour - time.Millisecond: "60 min", 3*time.Hour + 20*time.Second: "3 h",
	} {
		if got := Length(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
