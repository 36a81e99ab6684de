package cli

import (
	"testing"

	"nightshift/cmd/internal/dashboard"
)

// TestDashboardContents: nobody sees rows in full unless that is said.
func TestDashboardContents(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		mask *bool
		want dashboard.Contents
	}{{nil, dashboard.Redacted}, {&yes, dashboard.Masked}, {&no, dashboard.Plain}} {
		if got := (DashboardConfig{Mask: c.mask}).contents(); got != c.want {
			t.Errorf("contents %d, want %d", got, c.want)
		}
	}
}
