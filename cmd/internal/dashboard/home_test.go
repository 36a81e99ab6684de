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
func busyMorning(context.Context) (Overview, error) { return busy(testNow), nil }

func busy(now time.Time) Overview {
	since := now.Add(-3 * time.Minute)
	return Overview{
		Health: HealthView{Phase: "paused", Level: Warn, Since: since, Text: "p95 4.1 s over the last minute (412 calls), 3 of them refused"},
		Pauses: []PauseView{
			{Target: "bulk", Reason: "health", Owner: "scheduler night-2", Detail: "p95 4.1 s, above 3.5 s", Since: since},
			{Target: "evaluation", Reason: "window", Owner: "scheduler night-2", Since: since.Add(-time.Hour), Until: now.Add(14 * time.Hour)},
		},
		Advice: []AdviceView{
			{Level: Warn, Text: "Bulk is paused until interactive traffic has been healthy for 30 s; to let it go on for half an hour:", Command: "nightshift resume bulk --override 30m"},
			{Level: Note, Text: "The run embeddings-v3 has 12 failed rows:", Command: "nightshift errors embeddings-v3"},
		},
		Runs: []RunView{
			{ID: "0mb3k9x1ab12", Name: "nightly-summaries", Class: "bulk", Level: Warn, Total: 50_000, Good: 31_240, Bad: 12, Running: 14, Waiting: 18_734, ETA: now.Add(2 * time.Hour), Note: "paused by health"},
			{ID: "0mb3k9x1cd34", Name: "embeddings-v3", Class: "bulk", Total: 1_200_000, Good: 1_199_988, Bad: 12, Note: "ended 05:12"},
		},
		Lanes: []LaneView{{
			Name: "gemini/shop/global/gemini-2.5-flash", Level: Warn, Note: "in use: 71 %",
			Limits: []LimitView{
				{Name: "rpm", Limit: 950, Used: 412, Protected: 188, Room: 350},
				{Name: "input_tpm", Limit: 950_000, Used: 961_200, Protected: 0, Room: 0},
				{Name: "usd_per_day", Limit: 200_000_000, Used: 48_210_000, Room: 151_790_000, Micro: true},
			},
		}},
		Classes: []ClassView{
			{Name: "interactive", Level: Bad, Calls: 412, Share: 0.94, Refused: 3, P95: 4100 * time.Millisecond, InFlight: 22},
			{Name: "bulk", Calls: 26, Share: 0.06, P95: 1900 * time.Millisecond, InFlight: 14, Waiting: 18_734, Note: "paused"},
			{Name: "background", Share: 0.002},
		},
		Events: []EventView{
			{At: since, Level: Warn, Kind: "pause", Text: "bulk paused: p95 4.1 s (412 calls), the limit is 3.5 s", By: "scheduler night-2"},
			{At: since.Add(-time.Minute), Kind: "throttle", Text: "bulk at 10 % of each minute", By: "scheduler night-2"},
			{At: since.Add(-9 * time.Hour), Level: Note, Kind: "limits", Text: "gemini-2.5-flash rpm 500 → 1,000", By: "ana"},
		},
	}
}

func home(t *testing.T, cfg Config) (*Dashboard, string) {
	t.Helper()
	cfg.Redis, cfg.Now = noRedis(t), func() time.Time { return testNow }
	d := newDashboard(t, cfg)
	w := ask(t, d, "GET", "/")
	want(t, w, http.StatusOK)
	return d, w.Body.String()
}

var tag = regexp.MustCompile(`<[^>]*>`)

// words is a page as it is read.
func words(page string) string { return oneLine(tag.ReplaceAllString(page, " ")) }

func TestHomeTellsTheState(t *testing.T) {
	t.Parallel()
	_, page := home(t, Config{Overview: busyMorning})
	text := words(page)
	for _, part := range []string{
		"Interactive traffic unhealthy: bulk is paused p95 4.1 s over the last minute (412 calls), 3 of them refused since 07:42:00",
		"bulk health by scheduler night-2: p95 4.1 s, above 3.5 s since 07:42:00 until resumed",
		"evaluation window by scheduler night-2 since 06:42 until 21:45",
		"nightshift resume bulk --override 30m",
		"nightly-summaries paused by health 31,240 12 14 18,734 09:45",
		"embeddings-v3 ended 05:12 1,199,988 12 0 0",
		"rpm 412 188 350 950",
		"input_tpm 961,200 over 0 0 950,000",
		"usd_per_day $48.21 $0.00 $151.79 $200.00",
		"interactive 412 94 % 3 4.1 s 22 0",
		"background 0 <1 % 0 – 0 0",
		"07:42:00 pause bulk paused",
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
	_, page = home(t, Config{Overview: func(context.Context) (Overview, error) { return Overview{}, nil }})
	if got := words(page); !strings.Contains(got, "not watched") || !strings.Contains(got, "Nothing is paused.") {
		t.Errorf("an idle fleet: %s", got)
	}
	_, page = home(t, Config{Overview: func(context.Context) (Overview, error) { return Overview{}, errors.New("Redis is away") }})
	if got := words(page); !strings.Contains(got, "cannot be read now: Redis is away") || strings.Contains(got, "Nothing is paused") {
		t.Errorf("an overview that fails: %s", got)
	}
	_, page = home(t, Config{Pauses: func(context.Context) ([]PauseView, error) {
		return []PauseView{{Target: "bulk", Reason: "operator"}}, nil
	}})
	if got := words(page); !strings.Contains(got, "bulk operator until resumed") {
		t.Errorf("pauses alone: %s", got)
	}
}

// TestOtherHome: another page can take the place of ours.
func TestOtherHome(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{Redis: noRedis(t), Home: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("mine " + r.URL.Path)) })})
	want(t, ask(t, d, "GET", "/"), http.StatusOK, "mine /")
	want(t, ask(t, d, "GET", "/quota/now"), http.StatusOK, "mine /quota/now")
	want(t, ask(t, d, "GET", "/queues/"), http.StatusOK, `id="nightshift"`)
}

// TestNamesCannotBecomeMarkup: runs, features and errors are named by others.
func TestNamesCannotBecomeMarkup(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	_, page := home(t, Config{Overview: func(context.Context) (Overview, error) {
		return Overview{
			Health: HealthView{Phase: evil, Text: evil, Level: Level(evil)}, Pauses: []PauseView{{Target: evil, Reason: evil, Owner: evil, Detail: evil}},
			Lanes: []LaneView{{Name: evil, Note: evil, Limits: []LimitView{{Name: evil, Limit: 1}}}}, Classes: []ClassView{{Name: evil, Note: evil}},
			Runs: []RunView{{Name: evil, Note: evil}}, Events: []EventView{{Kind: evil, Text: evil, By: evil}}, Advice: []AdviceView{{Text: evil, Command: evil}},
		}, nil
	}})
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") || !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("a name became markup")
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
		percent(0): "0 %", percent(0.004): "<1 %", percent(0.826): "83 %",
		shortDuration(90 * time.Millisecond): "90 ms", shortDuration(1500 * time.Millisecond): "1.5 s", shortDuration(42 * time.Second): "42 s",
		shortDuration(125 * time.Second): "2 min", shortDuration(150 * time.Minute): "2 h 30 min", shortDuration(100 * time.Hour): "4 days", shortDuration(-1): "0 ms",
	} {
		if got != wanted {
			t.Errorf("%q, want %q", got, wanted)
		}
	}
	b := newBar(LimitView{Limit: 100, Used: 80, Protected: 50})
	if len(b.Parts) != 2 || b.Parts[1].X != 80 || b.Parts[1].W != 20 || b.Over {
		t.Errorf("a bar runs over its end: %+v", b)
	}
	if b := newBar(LimitView{Limit: 100, Used: 130, Protected: 5}); len(b.Parts) != 1 || b.Parts[0].W != 100 || !b.Over {
		t.Errorf("a debt is shown as %+v", b)
	}
	if b := newBar(LimitView{}); len(b.Parts) != 0 {
		t.Errorf("no limit is shown as %+v", b)
	}
}
