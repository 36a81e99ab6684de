package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// TestRefusedOtherwise: neither the state of health nor the finding beside the ranking
// denies refusals in which no other class has a part.
func TestRefusedOtherwise(t *testing.T) {
	t.Parallel()
	v := scheduler.View{Over: scheduler.Millis(time.Minute), Rows: []scheduler.FeatureHealth{
		{Class: "interactive", Calls: 240, Otherwise: 198, OtherwiseBy: []gemini.Count{{Name: "team concurrency", N: 119}, {Name: "credentials", N: 79}}},
		{Class: "interactive", Feature: "chat", Calls: 240, Otherwise: 198},
	}}
	const causes = "198 more for limits of their own or other reasons (team concurrency 119, credentials 79)"
	if got := healthRefusals(v); got != "0 of 240 calls refused in the last minute for quota that all share, "+causes {
		t.Errorf("health: %s", got)
	}
	v.Rows = []scheduler.FeatureHealth{{Class: "interactive", Calls: 240, Refused: 1, Provider429: 1}}
	if got := healthRefusals(v); got != "2 of 240 calls refused in the last minute" {
		t.Errorf("nothing else was refused: %s", got)
	}
}

// TestNobodySuffered: refusals by callers' own limits stand in the sentence above a table
// that shows them.
func TestNobodySuffered(t *testing.T) {
	t.Parallel()
	chat := gemini.UsageSample{At: at(7, 0), Class: "interactive", Feature: "chat", Calls: 500, Refused: 486, Uncontested: 486}
	bulk := gemini.UsageSample{At: at(7, 0), Class: "bulk", Feature: "tags", Calls: 9, Refused: 9, Uncontested: 9}
	q := gemini.WhoQuery{From: at(7, 0), To: at(8, 0), Waiting: []string{"interactive"}}
	who := q.Rank([]gemini.UsageSample{chat, bulk}, []gemini.UsageSample{chat, bulk}, time.Minute, nil)
	b := &backend{conf: &loaded{}}
	got := b.whoFindings(who, at(8, 0))
	if len(got) != 1 || !strings.Contains(got[0], "slow in this time, or refused for quota that others had taken; 486 more for limits of their own") {
		t.Errorf("%q", got)
	}
	who.Waiting = gemini.UsageSample{Calls: 500}
	if got := nobodySuffered(who); got != "Nobody who waits for an answer was refused or slow in this time." || b.whoFindings(who, at(8, 0)) != nil {
		t.Errorf("nobody was: %s", got)
	}
}
