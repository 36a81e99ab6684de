package limiter

import "testing"

func TestDollars(t *testing.T) {
	for micro, want := range map[int64]string{0: "$0.00", 50_000_000: "$50.00", 37: "$0.000037", 590_000: "$0.59", 1_234_500: "$1.2345", -20_000: "-$0.02"} {
		if got := dollars(micro); got != want {
			t.Errorf("%d is %s, want %s", micro, got, want)
		}
	}
}
