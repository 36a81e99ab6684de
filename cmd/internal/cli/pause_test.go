package cli

import (
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// TestResumedSentence: where a breaker is open it says what the resume does to it.
func TestResumedSentence(t *testing.T) {
	t.Parallel()
	looks := []limiter.BreakerState{
		{Detail: "the cap is reached (project_cap)"},
		{Lane: "gemini/p/global/m", Reason: limiter.ReasonCredentials},
	}
	for want, e := range map[string]scheduler.Effect{
		"class bulk was not paused.":              {},
		"class bulk is resumed, 0 queues opened.": {Lifted: 1},
		"class bulk is held back by no pause.\nThe next call looks now whether this still holds: the cap is reached (project_cap).\n" +
			"The next call of m looks now whether this still holds: credentials.": {Looks: looks},
	} {
		if got := resumedSentence("class bulk", e, time.Now()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
