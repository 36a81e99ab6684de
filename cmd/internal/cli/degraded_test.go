package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// meteredDegraded counts what a night without money looks like.
func meteredDegraded() []gemini.UsageSample {
	at := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	chat := gemini.UsageSample{At: at, Model: "flash", Class: "interactive", Feature: "chat", Calls: 417, Refused: 417}
	chat.Degraded[indexOf(gemini.CauseSpend)], chat.Degraded[indexOf(gemini.CauseQuota)] = 412, 3
	chat.DegradedBy[3], chat.DegradedBy[0] = 400, 15
	search := gemini.UsageSample{At: at, Model: "flash", Class: "interactive", Feature: "search", Calls: 2, Sent: 2, Good: 2, Requests: 2}
	return []gemini.UsageSample{chat, search}
}

func indexOf(c gemini.DegradeCause) int {
	for i, x := range gemini.DegradeCauses {
		if x == c {
			return i
		}
	}
	return -1
}

// TestStatusSaysWhatWasDegraded: how many, by reason and by what, in a line; none
// is no line.
func TestStatusSaysWhatWasDegraded(t *testing.T) {
	var b strings.Builder
	(&overview{Degraded: degradedOf(meteredDegraded())}).printDegraded(&b)
	const want = "degraded: 415 calls of the last hour got another answer than their model's: 412 for spend, 3 for quota; 400 canned, 15 cached\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", b.String(), want)
	}
	b.Reset()
	(&overview{Degraded: degradedOf(nil)}).printDegraded(&b)
	if b.String() != "" {
		t.Errorf("%q", b.String())
	}
}

// TestWhoCountsDegradedAsRefused: answers of our own take no quota and are no
// success of the provider.
func TestWhoCountsDegradedAsRefused(t *testing.T) {
	at := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	users := whoTable(meteredDegraded(), at, at.Add(time.Minute))
	if users[0].Feature != "search" || users[0].RequestsShare != 1 || users[1].Requests != 0 || users[1].Refused != 417 || users[1].sum.Good != 0 {
		t.Errorf("%+v", users[1])
	}
	var b strings.Builder
	printDegradedUsers(&b, users)
	if got := b.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "chat (interactive): 415 calls got another answer than their model's (412 for spend, 3 for quota).") {
		t.Errorf("%q", got)
	}
	if s := culprit(meteredDegraded(), []limiter.Class{{Name: "interactive"}}, at); !strings.HasPrefix(s, "417 refusals") {
		t.Error(s)
	}
}
