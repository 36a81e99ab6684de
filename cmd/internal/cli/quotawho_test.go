package cli

import (
	"math"
	"strings"
	"testing"

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
	if share := float64(120*20) / float64(120*20+8400); math.Abs(chat.RequestsShare-share) > 1e-6 || chat.Provider429 != 30 {
		t.Errorf("chat: share %v, %d refused", chat.RequestsShare, chat.Provider429)
	}
	if chat.TokensShare <= tags.TokensShare || chat.PeakTPM != 4000 {
		t.Errorf("tokens: chat %v, tags %v, peak %d", chat.TokensShare, tags.TokensShare, chat.PeakTPM)
	}
}

// TestWhoTellsOwnLimits: a refusal by the caller's own limit is none for want of the room
// that all share.
func TestWhoTellsOwnLimits(t *testing.T) {
	t.Parallel()
	s := gemini.UsageSample{At: at(7, 0), Class: "interactive", Feature: "chat", Calls: 12, Refused: 9, OwnLimit: 7}
	u := whoTable([]gemini.UsageSample{s}, at(7, 0), at(8, 0))[0]
	v := overview{Users: []*userOfQuota{u}, minute: newMinuteUse([]gemini.UsageSample{s}, at(7, 1))}
	shown, _ := userViews(v.minute.users, "")
	o, b := showing("plain")
	if err := (&whoOptions{factory: o.factory, By: "feature"}).printUsers([]*userOfQuota{u}); err != nil {
		t.Fatal(err)
	}
	if u.Refused != 2 || u.OwnLimit != 7 || shown[0].Refused != 2 || shown[0].OwnLimit != 7 || v.classView(limiter.Class{Name: "interactive"}).Refused != 2 || v.totals(&backend{}).OwnLimit != 7 {
		t.Errorf("%+v, on the page %+v", u, shown)
	}
	if cells := v.userTable().rows[0]; cells[7] != "2" || cells[8] != "7" || !strings.Contains(b.String(), "2\t7\t") {
		t.Errorf("status has %q, who %q", cells, b)
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
