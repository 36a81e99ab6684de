package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// said is what a look tells: "+" begins, "-" is over.
func (n alertNews) said() string {
	var out []string
	for _, r := range n.Begun {
		out = append(out, "+"+r.ID())
	}
	for _, r := range n.Over {
		out = append(out, "-"+r.ID())
	}
	return strings.Join(out, ", ")
}

// TestAlertBook: each once, what begins together in one message, what held too briefly
// never, a level that grows anew, and an end once it has been quiet for long enough.
func TestAlertBook(t *testing.T) {
	rules := AlertRules{}.orDefault()
	at := func(subject string, level int64, hold time.Duration) finding {
		return finding{Alert: Alert{Kind: "k", Subject: subject, Level: level}, hold: hold}
	}
	a, slow, half, most := at("a", 0, 0), at("slow", 0, time.Minute), at("cap", 50, 0), at("cap", 80, 0)
	var book alertBook
	now := alertNow
	for i, step := range []struct {
		after time.Duration
		found []finding
		want  string
	}{
		{0, []finding{a}, ""}, // it waits for what begins with it
		{10 * time.Second, []finding{a, half}, ""},
		{20 * time.Second, []finding{a, half}, "+k a, +k cap"},
		{time.Hour, []finding{a, half}, ""},
		{10 * time.Second, []finding{a, half, slow}, ""},
		{50 * time.Second, []finding{a, half}, ""}, // slow was not there for its minute
		{10 * time.Second, []finding{a, half, slow}, ""},
		{time.Minute, []finding{a, half, slow}, ""},
		{30 * time.Second, []finding{a, most, slow}, "+k cap, +k slow"},
		{time.Minute, []finding{a, half, slow}, ""}, // the cap was raised
		{time.Minute, []finding{a, most, slow}, ""},
		{30 * time.Second, []finding{a, most, slow}, "+k cap"},
		{time.Minute, []finding{slow}, ""},
		{time.Minute, []finding{a, slow}, ""}, // a was not over yet; the cap waits for what ends with it
		{30 * time.Second, []finding{a, slow}, "-k cap"},
		{time.Minute, nil, ""},
		{time.Minute, nil, ""},
		{30 * time.Second, nil, "-k a, -k slow"},
		{time.Hour, nil, ""},
		{10 * time.Second, []finding{a}, ""},
		{30 * time.Second, []finding{a}, "+k a"}, // it comes again
	} {
		now = now.Add(step.after)
		text, err := json.Marshal(book) // as the next leader reads it
		if err != nil {
			t.Fatal(err)
		}
		book = alertBook{}
		if err := json.Unmarshal(text, &book); err != nil {
			t.Fatal(err)
		}
		var news alertNews
		if book, news = book.step(step.found, rules, now); news.said() != step.want {
			t.Errorf("step %d: %q, want %q", i, news.said(), step.want)
		}
	}
	if got := book.firing(); len(got) != 1 || !got[0].Since.Equal(now.Add(-30*time.Second)) {
		t.Errorf("firing %+v", got)
	}
}

// factsFunc is a source that a test turns on and off.
type factsFunc func() AlertFacts

func (f factsFunc) Facts(context.Context, time.Time) (AlertFacts, error) { return f(), nil }

// TestAlertsOverALeaderChange: what one leader began to tell the next neither repeats nor
// loses; the former cannot write any more; Slack is told once of both and once of the end.
func TestAlertsOverALeaderChange(t *testing.T) {
	to := newReceiver(t, 500)
	h := newHooked(t, Hook{Name: "team", On: []string{HookAlert, HookRecovered}, URL: to.URL, Format: HookSlack}, Hook{Name: "runs", URL: to.URL})
	bad := true
	source := factsFunc(func() AlertFacts {
		if !bad {
			return AlertFacts{}
		}
		return AlertFacts{Caps: capAt(5_000_000, "tenant/<acme>"), Idle: []IdleLane{{"gemini/p/global/flash", 3, []string{"night"}}}}
	})
	first := &AlertWatch{Control: h.c, Source: source, Owner: "first", Rules: AlertRules{Workers: time.Second}}
	second := &AlertWatch{Control: h.c, Source: source, Owner: "second", Rules: first.Rules}
	look := func(w *AlertWatch, fence int64, after time.Duration) {
		t.Helper()
		h.at = h.at.Add(after)
		h.must(w.Look(t.Context(), fence))
		h.look()
	}
	look(first, 1, 0)
	look(first, 1, 10*time.Second)
	look(second, 2, 10*time.Second)
	if to.calls() != 0 {
		t.Fatalf("told before the others could join: %q", to.bodies)
	}
	look(second, 2, 10*time.Second) // the receiver fails
	if err := first.Look(t.Context(), 1); !errors.Is(err, errFenced) {
		t.Errorf("the former leader writes: %v", err)
	}
	look(second, 2, 10*time.Minute)
	if list, seen, err := h.c.Firing(t.Context()); err != nil || len(list) != 2 || list[0].Kind != AlertCap || seen.IsZero() {
		t.Errorf("firing %+v, seen %s, %v", list, seen, err)
	}
	bad = false
	for range 30 {
		look(second, 2, 10*time.Second)
	}
	want := []string{"2 things need a look\\n• usd_per_day of tenant/&lt;acme&gt;: 50 %", "2 things need a look", "2 things are over"}
	if len(to.bodies) != len(want) {
		t.Fatalf("told %q", to.bodies)
	}
	for i, w := range want {
		if !strings.HasPrefix(to.bodies[i], `{"text":"nightshift test: `) || !strings.Contains(to.bodies[i], w) {
			t.Errorf("told %s, want %s", to.bodies[i], w)
		}
	}
	if got := h.events("alert"); len(got) != 1 || !strings.HasSuffix(got[0], "no worker serves it: nightshift worker") {
		t.Errorf("events %q: the cap's is the spend watch's own", got)
	}
	if got := h.events(EventRecovered); len(got) != 2 || !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, "(for 11m)") }) {
		t.Errorf("events %q", got)
	}
}
