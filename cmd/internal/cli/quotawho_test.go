package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// morning is two hours in which bulk grew into the chat's minutes.
func morning() []gemini.UsageSample {
	var out []gemini.UsageSample
	for m := range 120 {
		chat := gemini.UsageSample{At: at(7, m), Class: "interactive", Feature: "chat", Requests: 20, InputTokens: 4000, Sent: 20, Calls: 20, Good: 20}
		bulk := gemini.UsageSample{At: at(7, m), Class: "bulk", Feature: "tags", Requests: 60, InputTokens: 3000, Sent: 60, Calls: 60, Good: 60}
		if m >= 60 && m < 70 {
			bulk.Requests, chat.Provider429, chat.Good = 180, 3, 17
		}
		out = append(out, chat, bulk)
	}
	return out
}

// TestWhoTable: shares are of all, averages of the interval, peaks of a minute.
func TestWhoTable(t *testing.T) {
	t.Parallel()
	users := whoTable(morning(), at(7, 0), at(9, 0))
	if len(users) != 2 || users[0].Feature != "tags" || users[1].Feature != "chat" {
		t.Fatalf("ranking %+v", users)
	}
	tags, chat := users[0], users[1]
	if tags.Requests != 110*60+10*180 || tags.PeakRPM != 180 || tags.AvgRPM != 70 {
		t.Errorf("tags: %d requests, peak %d, average %v", tags.Requests, tags.PeakRPM, tags.AvgRPM)
	}
	if share := float64(120*20) / float64(120*20+8400); chat.RequestsShare != share || chat.Provider429 != 30 {
		t.Errorf("chat: share %v, %d refused", chat.RequestsShare, chat.Provider429)
	}
	if chat.TokensShare <= tags.TokensShare || chat.PeakTPM != 4000 {
		t.Errorf("tokens: chat %v, tags %v, peak %d", chat.TokensShare, tags.TokensShare, chat.PeakTPM)
	}
}

// TestCulprit: the sentence is about the minutes in which people were refused.
func TestCulprit(t *testing.T) {
	t.Parallel()
	classes := []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true}}
	got := culprit(morning(), classes, at(9, 30))
	for _, want := range []string{"30 refusals", "10 minutes", "08:00:00", "tags (bulk) had 90.0 % of the requests"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	bulkOnly := []gemini.UsageSample{{At: at(7, 0), Class: "bulk", Feature: "tags", Refused: 50, Requests: 10}}
	if got := culprit(bulkOnly, classes, at(9, 30)); got != "" {
		t.Errorf("nobody waited: %q", got)
	}
}

// TestEstimate: a lane's pace is shared by its open runs' weights, and less than a
// minute says nothing.
func TestEstimate(t *testing.T) {
	t.Parallel()
	o := &overview{At: at(8, 0), samples: []gemini.UsageSample{}}
	for m := range 3 {
		o.samples = append(o.samples, gemini.UsageSample{At: at(7, 57+m), Model: "m", Class: "bulk", Feature: "tags", Good: 60})
	}
	high := runStatus{Model: "m", lane: "l", Class: "bulk", Feature: "tags", Priority: "high"}
	low := high
	low.Priority = "low"
	high.counts[2], low.counts[2] = 480, 120 // waiting
	o.Runs = []runStatus{high, low}
	o.estimate()
	for i, want := range []time.Duration{10 * time.Minute, 10 * time.Minute} {
		if eta := o.Runs[i].ETA; eta == nil || eta.Sub(o.At).Round(time.Second) != want {
			t.Errorf("%s: %v, want in %v", o.Runs[i].Priority, eta, want)
		}
	}
	o.samples = o.samples[:0]
	o.samples = append(o.samples, gemini.UsageSample{At: at(8, 0), Model: "m", Class: "bulk", Feature: "tags", Good: 60})
	o.At = at(8, 0).Add(20 * time.Second)
	o.Runs[0].ETA = nil
	o.estimate()
	if o.Runs[0].ETA != nil {
		t.Errorf("twenty seconds give an end at %v", o.Runs[0].ETA)
	}
}
