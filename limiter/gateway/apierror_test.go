package gateway

import (
	"testing"
	"time"
)

// TestProtoSeconds: a duration as strict clients read it, with nine decimals at most.
func TestProtoSeconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		6_940 * time.Millisecond: "6.94s", 6_939_999_999: "6.939999999s", time.Minute: "60s", 0: "0s", 1500 * time.Millisecond: "1.5s", time.Nanosecond: "0.000000001s",
		(6_940 * time.Millisecond).Round(time.Millisecond) + 1: "6.940000001s",
	} {
		if got := protoSeconds(d); got != want {
			t.Errorf("%d ns: %s, want %s", d, got, want)
		}
	}
}
