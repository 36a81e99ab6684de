package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter/gemini"
)

// TestLentCallInWords: what is told of a call that its maker made directly.
func TestLentCallInWords(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]gemini.Record{
		"under a permit of the gateway; its maker says: HTTP 200.": {Lent: true, Sent: true, Status: 200},
		"its maker says: HTTP 200 after 0.84s.":                    {Lent: true, Sent: true, Status: 200, TookMS: 840},
		"says: no answer came, it is charged":                      {Lent: true, Sent: true, Verdict: gemini.Backoff, Reason: "connection"},
		"says: HTTP 429: rpm (wait).":                              {Lent: true, Sent: true, Status: 429, Verdict: gemini.Wait, Reason: "rpm"},
		"no call was made":                                         {Lent: true, Refusal: "quota", Limit: "rpm"},
	} {
		if got := traceSentence(r, time.Now()); !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}
