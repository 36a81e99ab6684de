package limiter

import "testing"

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
}
