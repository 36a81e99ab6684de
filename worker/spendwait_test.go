package worker

import (
	"testing"

	"nightshift/limiter"
)

// TestBudgetText: a row that waits for money says whose, and which limit.
func TestBudgetText(t *testing.T) {
	for node, want := range map[string]string{
		"lane":         "waiting for budget (usd_per_month of flash)",
		"project/main": "waiting for budget (usd_per_month of project/main)",
	} {
		d := &limiter.Denied{Reason: limiter.ReasonSpend, Limiter: "usd_per_month", Node: node, Model: "flash"}
		if got := deniedText(d); got != want {
			t.Errorf("%s: %q, want %q", node, got, want)
		}
	}
}
