package dashboard

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

var testNow = time.Date(2026, 11, 30, 7, 45, 0, 0, time.Local)

// busyMorning is a fleet at the worst moment of its day.
func busyMorning(context.Context, NowQuery) (Overview, error) { return busy(testNow), nil }

func busy(now time.Time) Overview {
	since := now.Add(-3 * time.Minute)
	return Overview{
		Health: HealthView{Phase: "paused", Level: Warn, Since: since, Text: "p95 4.1 s over the last minute (412 calls), 3 of them refused"},
		Pauses: []PauseView{
			{Target: "bulk", Reason: "health", Owner: "scheduler night-2", Detail: "p95 4.1 s, above 3.5 s", Since: since, Ends: "until callers are well"},
			{Target: "evaluation", Reason: "window", Owner: "scheduler night-2", Since: since.Add(-time.Hour), Until: now.Add(14 * time.Hour)},
		},
		Advice: []AdviceView{
			{Level: Warn, Text: "Bulk is paused until interactive traffic has been healthy for 30 s; to let it go on for half an hour:", Command: "nightshift resume bulk --override 30m"},
			{Level: Note, Text: "The run embeddings-v3 has 12 failed rows:", Command: "nightshift errors embeddings-v3"},
		},
		Runs: []RunView{
			{ID: "0mb3k9x1ab12", Name: "nightly-summaries", Class: "bulk", Level: Warn, Total: 50_000, Good: 31_240, Bad: 12, Running: 14, Waiting: 18_734, ETA: now.Add(2 * time.Hour), Note: "paused by health", Open: true},
			{ID: "0mb3k9x1cd34", Name: "embeddings-v3", Class: "bulk", Total: 1_200_000, Good: 1_199_988, Bad: 12, Note: "ended 05:12"},
		},
		Project: "shop",
		Totals:  TotalsView{Lanes: 3, Troubled: 1, Paths: 2, Calls: 438, Requests: 438, Input: 961_200, Output: 120_000, Refused: 3, Waiting: 18_734, Workers: 2, OpenRuns: 1},
		Lanes: []LaneView{{
			Name: "gemini-2.5-flash", Whole: "gemini/shop/global/gemini-2.5-flash", Level: Warn, Notes: []string{"the provider refused (rpm); rests until 07:46"}, InFlight: 36, Waiting: 18_734,
			Limits: []LimitView{
				{Name: "rpm", Set: 1000, Effective: 950, Used: 412, Borrowed: 26, Reserved: 188, Lent: 40, Booked: 18_734, Room: 350, Parts: []PartView{
					{Class: "interactive", Used: 386, Reserved: 188, Room: 564, Why: "short forecast of its largest use of late: 1.5 x 376"}, {Class: "bulk", Used: 26, Borrowed: 26, Room: 350},
				}},
				{Name: "input_tpm", Set: 1_000_000, Effective: 950_000, Used: 961_200, Notes: []string{"input_tpm is lowered by 5 %: the provider refused what was admitted"}},
				{Name: "usd_per_day", Set: 200_000_000, Effective: 200_000_000, Used: 48_210_000, Room: 151_790_000, Micro: true},
			},
		}},
		LanesFound: 1,
		Paths: []PathView{
			{Name: "tenant/acme", From: "tenant/*", Limits: []LimitView{{Name: "rpm", Set: 100, Effective: 100, Used: 91, Parts: []PartView{{Class: "bulk", Used: 91}}}}},
			{Name: "project", Limits: []LimitView{{Name: "usd_per_month", Set: 900_000_000, Effective: 900_000_000, Used: 312_400_000, Micro: true}}},
		},
		PathsFound: 2,
		Users: []UserView{
			{Feature: "chat", Class: "interactive", Requests: 412, Tokens: 930_000, RequestsShare: 0.94, TokensShare: 0.97, Refused: 3, OwnLimit: 2, P95: 4100 * time.Millisecond},
			{Feature: "summaries", Class: "bulk", Requests: 26, Tokens: 31_200, RequestsShare: 0.06, TokensShare: 0.03},
		},
		UsersFound: 4,
		Tenants: []UserView{
			{Feature: "acme", Class: "interactive", Requests: 380, Tokens: 900_000, RequestsShare: 0.9, TokensShare: 0.95, OwnLimit: 2},
			{Feature: "globex", Class: "bulk", Requests: 20, Tokens: 31_000, RequestsShare: 0.05, TokensShare: 0.03},
		},
		TenantsFound: 3,
		Waits: []WaitView{
			{Lane: "gemini-2.5-flash", Class: "bulk", Line: "tenant acme, run nightly-summaries", Waiting: 18_700, Share: 0.75, For: "bulk is paused by the health monitor", UntilNote: "callers are well"},
			{Lane: "gemini-2.5-flash", Class: "interactive", Line: "everybody", Waiting: 4, InPlace: true, For: "rpm lacks 4 requests", Until: now.Add(8 * time.Second), UntilNote: "at the latest"},
		},
		WaitsFound: 2,
		Classes: []ClassView{
			{Name: "interactive", Level: Bad, Calls: 412, Share: 0.94, Refused: 3, P95: 4100 * time.Millisecond, InFlight: 22},
			{Name: "bulk", Calls: 26, Share: 0.06, P95: 1900 * time.Millisecond, InFlight: 14, Waiting: 18_734, Note: "paused", Pausable: true},
			{Name: "background", Share: 0.002},
		},
		Events: []EventView{
			{At: since, Level: Warn, Kind: "pause", Text: "bulk paused: p95 4.1 s (412 calls), the limit is 3.5 s", By: "scheduler night-2", Why: "Nothing of it starts."},
			{At: since.Add(-time.Minute), Kind: "throttle", Text: "bulk at 10 % of each minute", By: "scheduler night-2"},
			{At: since.Add(-9 * time.Hour), Level: Note, Kind: "limits", Text: "gemini-2.5-flash rpm 500 → 1,000", By: "ana"},
		},
	}
}

func home(t *testing.T, cfg Config) (*Dashboard, string) {
	t.Helper()
	d := testDashboard(t, cfg)
	w := ask(t, d, "GET", "/")
	want(t, w, http.StatusOK)
	return d, w.Body.String()
}

func testDashboard(t *testing.T, cfg Config) *Dashboard {
	t.Helper()
	cfg.Redis, cfg.Now = noRedis(t), func() time.Time { return testNow }
	return newDashboard(t, cfg)
}

// showing is a dashboard whose first page has this on it.
func showing(f func(NowQuery) (Overview, error)) Config {
	return Config{Sources: Sources{Overview: func(_ context.Context, q NowQuery) (Overview, error) { return f(q) }}}
}

var tag = regexp.MustCompile(`<[^>]*>`)

// words is a page as it is read.
func words(page string) string { return oneLine(tag.ReplaceAllString(page, " ")) }

func TestHomeTellsTheState(t *testing.T) {
	t.Parallel()
	_, page := home(t, Config{Sources: Sources{Overview: busyMorning}})
	text := words(page)
	for _, part := range []string{
		"Interactive traffic unhealthy: bulk is paused p95 4.1 s over the last minute (412 calls), 3 of them refused since 07:42:00",
		"bulk health by scheduler night-2: p95 4.1 s, above 3.5 s since 07:42:00 until callers are well",
		"evaluation window by scheduler night-2 since 06:42 until 21:45",
		"nightshift resume bulk --override 30m",
		"calls, last minute 438 input tokens 961,200 output tokens 120,000 refused by us 3 429s 0 waiting 18,734 open runs 1 workers 2 lanes 3 1 held",
		"nightly-summaries paused by health 31,240 12 14 18,734 09:45",
		"embeddings-v3 ended 05:12 1,199,988 12 0 0",
		"gemini-2.5-flash gemini/shop/global/gemini-2.5-flash · 36 in flight, 18,734 waiting the provider refused (rpm); rests until 07:46",
		"rpm 412 26 188 40 18,734 350 950 1,000",
		"input_tpm 961,200 over 0 0 0 0 0 950,000 1,000,000 input_tpm is lowered by 5 %",
		"usd_per_day $48.21 $0 $0 $0 $0 $151.79 $200.00 $200.00",
		"tenant/acme as tenant/* rpm 91 0 100 bulk 91",
		"chat interactive 412 94.0 % 930,000 97.0 % 3 2 0 4.1 s",
		"and 2 with less",
		"tenant acme, run nightly-summaries gemini-2.5-flash bulk 18,700 75.0 % bulk is paused by the health monitor callers are well",
		"everybody gemini-2.5-flash interactive 4 in place rpm lacks 4 requests 07:45:08 at the latest",
		"interactive 412 94.0 % 3 4.1 s 22 0",
		"background 0 0.2 % 0 – 0 0",
		"07:42:00 pause bulk paused: p95 4.1 s (412 calls), the limit is 3.5 s by scheduler night-2 Nothing of it starts.",
		"2026-11-29 22:42", // more than 20 hours are dated; these nine are not
	} {
		found := strings.Contains(strings.ReplaceAll(text, "&lt;", "<"), part)
		if part == "2026-11-29 22:42" {
			found = !found
		}
		if !found {
			t.Errorf("%q: not as expected in %s", part, text)
		}
	}
	if strings.Contains(page, " style=") || strings.Contains(page, "<style") || strings.Contains(page, " onclick") {
		t.Error("the page breaks its own content security policy")
	}
}

func TestHomeInOtherStates(t *testing.T) {
	t.Parallel()
	_, page := home(t, Config{})
	if !strings.Contains(page, "Queues and tasks") || strings.Contains(page, "Nothing is paused") || strings.Contains(page, "not watched") {
		t.Errorf("without an overview it claims something: %s", words(page))
	}
	_, page = home(t, showing(func(NowQuery) (Overview, error) { return Overview{}, nil }))
	if got := words(page); !strings.Contains(got, "not watched") || !strings.Contains(got, "Nothing is paused.") {
		t.Errorf("an idle fleet: %s", got)
	}
	w := ask(t, testDashboard(t, showing(func(NowQuery) (Overview, error) { return Overview{}, errors.New("Redis is away") })), "GET", "/")
	if got := words(w.Body.String()); w.Code != http.StatusServiceUnavailable || !strings.Contains(got, "cannot be read now: Redis is away") || strings.Contains(got, "Nothing is paused") {
		t.Errorf("an overview that fails: %d %s", w.Code, got)
	}
	_, page = home(t, Config{Sources: Sources{Pauses: func(context.Context) ([]PauseView, error) {
		return []PauseView{{Target: "bulk", Reason: "operator", Ends: "until somebody resumes it"}}, nil
	}}})
	if got := words(page); !strings.Contains(got, "bulk operator until somebody resumes it") {
		t.Errorf("pauses alone: %s", got)
	}
}

// TestNamesCannotBecomeMarkup: runs, features and errors are named by others.
func TestNamesCannotBecomeMarkup(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	_, page := home(t, showing(func(NowQuery) (Overview, error) { return named(evil), nil }))
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") || !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("a name became markup")
	}
}

// named is an overview in which everything has one name.
func named(name string) Overview {
	limits := []LimitView{{Name: name, Set: 1, Effective: 1, NextFree: name, Source: name, Notes: []string{name}, Parts: []PartView{{Class: name, Used: 1, Why: name}}}}
	return Overview{
		Project: name, Health: HealthView{Phase: name, Text: name, Level: Level(name)}, Pauses: []PauseView{{Target: name, Reason: name, Owner: name, Detail: name, Resume: name}},
		Lanes: []LaneView{{Name: name, Whole: name, Level: Level(name), Notes: []string{name}, Limits: limits}}, Classes: []ClassView{{Name: name, Note: name, Pausable: true}},
		Paths: []PathView{{Name: name, From: name, Limits: limits}}, Users: []UserView{{Feature: name, Class: name}}, Tenants: []UserView{{Feature: name, Class: name}},
		Waits: []WaitView{{Lane: name, Class: name, Line: name, For: name, UntilNote: name, Waiting: 1}}, Answers: []AnswerView{{Class: name, Text: name, Call: name}},
		Runs: []RunView{{ID: name, Name: name, Note: name, Open: true}}, Events: []EventView{{Kind: name, Text: name, By: name, Why: name}}, Advice: []AdviceView{{Text: name, Command: name}},
		LanesFound: 1, PathsFound: 1, UsersFound: 1, WaitsFound: 1,
	}
}

func TestMissingPage(t *testing.T) {
	t.Parallel()
	d, _ := home(t, Config{})
	want(t, ask(t, d, "GET", "/nothing"), http.StatusNotFound, "no such page", `href="/queues/"`)
	want(t, ask(t, d, "POST", "/"), http.StatusMethodNotAllowed)
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for got, wanted := range map[string]string{
		amount(0, false): "0", amount(99_999, false): "99,999", amount(1_250_000, false): "1,250,000",
		amount(12_340_000, false): "12.3 M", amount(4_000_000_000, false): "4.0 G", amount(-5, false): "-5", amount(1_234_567, true): "$1.23",
		shortDuration(90 * time.Millisecond): "90 ms", shortDuration(1500 * time.Millisecond): "1.5 s", shortDuration(42 * time.Second): "42 s",
		shortDuration(125 * time.Second): "2 min", shortDuration(150 * time.Minute): "2 h 30 min", shortDuration(100 * time.Hour): "4 days", shortDuration(-1): "0 ms",
	} {
		if got != wanted {
			t.Errorf("%q, want %q", got, wanted)
		}
	}
	b := newBar(LimitView{Set: 100, Effective: 90, Used: 80, Borrowed: 5, Reserved: 50, Booked: 700})
	if len(b.Parts) != 3 || b.Parts[1] != (barPart{"lent", 75, 5}) || b.Parts[2] != (barPart{"kept", 80, 20}) || b.Over || b.Off != (barPart{"off", 90, 10}) || b.Booked[0].W != 100 {
		t.Errorf("a bar runs over its end: %+v", b)
	}
	if b := newBar(LimitView{Set: 100, Effective: 100, Used: 130, Reserved: 5}); len(b.Parts) != 1 || b.Parts[0].W != 100 || !b.Over {
		t.Errorf("a debt is shown as %+v", b)
	}
	if b := newBar(LimitView{}); len(b.Parts) != 0 || b.Off.W != 0 {
		t.Errorf("no limit is shown as %+v", b)
	}
}
