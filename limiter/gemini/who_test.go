package gemini

import (
	"testing"
	"time"
)

// TestWhoFindsTheMinutesInWhichPeopleSuffered: by refusals and by being slow; a limit of
// the caller's own is nobody's fault.
func TestWhoFindsTheMinutesInWhichPeopleSuffered(t *testing.T) {
	t.Parallel()
	var samples []UsageSample
	for m := range 10 {
		at := meterNoon.Add(time.Duration(m) * time.Minute)
		chat := UsageSample{At: at, Class: "interactive", Feature: "chat", Requests: 20, InputTokens: 100, Calls: 20}
		bulk := UsageSample{At: at, Class: "bulk", Feature: "tags", Requests: 80, InputTokens: 300, Calls: 80}
		switch m {
		case 2:
			chat.Provider429, bulk.Requests = 3, 180
		case 3:
			for range 6 {
				chat.Latency.Add(9 * time.Second)
			}
		case 5:
			chat.Refused, chat.OwnLimit = 4, 4
		case 6:
			chat.Refused, chat.Uncontested, chat.Provider429, chat.ProviderMoney = 4, 4, 2, 2
		}
		samples = append(samples, chat, bulk)
	}
	q := WhoQuery{From: meterNoon, To: meterNoon.Add(10 * time.Minute), Waiting: []string{"interactive"}}
	w := q.Rank(samples, samples, time.Minute, map[string]int64{"rpm": 200})
	if len(w.Rows) != 2 || w.Rows[0].Name != "tags" {
		t.Fatalf("%+v", w.Rows)
	}
	rpm := w.Rows[0].Use[0]
	if rpm.Sum != 900 || rpm.Share != 818_181 || rpm.Avg != 90_000 || rpm.Peak != 180 || rpm.OfAvg != 450_000 || rpm.OfMax != 900_000 {
		t.Errorf("%+v", rpm)
	}
	o := w.Overlap
	if o == nil || o.Minutes != 2 || o.Slow != 1 || o.Refused != 3 || o.ByProvider != 3 || !o.First.Equal(meterNoon.Add(2*time.Minute)) || !o.Last.Equal(meterNoon.Add(4*time.Minute)) {
		t.Fatalf("%+v", o)
	}
	if o.Others[0].Sum != 260 || o.Others[0].Share != 866_666 {
		t.Errorf("%+v", o.Others[0])
	}
}

// TestWhoByTenant reads what is packed and what is not, in minutes and in steps of five.
func TestWhoByTenant(t *testing.T) {
	r := newHistoryRig(t, dialEmbedded(t), nil)
	for range 30 {
		r.call("gemini-x", "bulk", "tags", "acme", 10)
		r.call("gemini-x", "bulk", "tags", "acme", 10)
		r.call("gemini-y", "bulk", "tags", "", 10)
		r.pass(time.Minute)
	}
	w, err := r.read.Who(t.Context(), WhoQuery{From: meterNoon, To: r.clock.now(), By: GroupTenant})
	if err != nil || len(w.Rows) != 2 || w.Rows[0].Name != "acme" || w.Rows[0].Use[0].Sum != 60 || w.Rows[0].Use[0].Peak != 2 || w.Rows[1].Name != "" {
		t.Fatalf("%+v, %v", w, err)
	}
	if w, err = r.read.Who(t.Context(), WhoQuery{From: meterNoon, To: r.clock.now(), By: GroupTenant, Model: "gemini-y"}); err != nil || len(w.Rows) != 1 || w.Rows[0].Use[0].Sum != 30 {
		t.Errorf("%+v, %v", w, err)
	}
	for range 20 { // until the hour is packed
		r.pass(3 * time.Minute)
	}
	r.clock.turn(72 * time.Hour)
	if w, err = r.read.Who(t.Context(), WhoQuery{From: meterNoon, To: meterNoon.Add(time.Hour)}); err != nil || w.Step != 5*time.Minute || len(w.Rows) != 1 || w.Rows[0].Use[0].Sum != 90 {
		t.Errorf("three days later: %+v, %v", w, err)
	}
}
