package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// TestAdviceOfBreakers: what holds several lanes back is said once, and the command that
// stands beside it is not in the sentence too.
func TestAdviceOfBreakers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	o, conf := &overview{At: now}, &loaded{}
	for _, model := range []string{"a", "b", "c", "d", "e"} {
		o.Lanes = append(o.Lanes, limiter.LaneState{Lane: limiter.Lane{Model: model}, Breakers: []limiter.BreakerState{{
			Phase: limiter.BreakerOpen, Reason: limiter.ReasonSpend, Since: now, Detail: "the month's money is spent",
			Lift: "it goes on by itself; `nightshift resume bulk` looks at once"}}})
	}
	o.Events = []limiter.Event{{Kind: limiter.EventAlert, At: now, Text: "all calls are held back: the month's money is spent; `nightshift resume bulk` looks at once"}}
	o.adviseLanes(conf)
	o.adviseAlerts()
	if len(o.Advice) != 1 || o.Advice[0].Command != "nightshift resume bulk" {
		t.Fatalf("%+v", o.Advice)
	}
	if text := o.Advice[0].Text; !strings.HasPrefix(text, "a, b, c and 2 more: the month's money is spent") || !strings.HasSuffix(text, "it goes on by itself") {
		t.Errorf("%q", text)
	}
}
