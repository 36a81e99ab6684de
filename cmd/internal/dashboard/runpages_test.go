package dashboard

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func runPagesDashboard(t *testing.T, change func(*Config)) *Dashboard {
	t.Helper()
	cfg := Config{Redis: noRedis(t), Write: true, Token: testToken, ViewToken: testViewToken, Actions: []Action{pauseNothing()}, Now: func() time.Time { return testNow }}
	addRunSources(&cfg.Sources, func() time.Time { return testNow })
	if change != nil {
		change(&cfg)
	}
	return newDashboard(t, cfg)
}

func as(token string) func(*http.Request) {
	return func(r *http.Request) {
		r.SetBasicAuth("ana", token)
		r.Header.Set("Accept", "text/html")
	}
}

// TestChart: the figures that scripts draw and the tables below are the same, and what
// is not known is no zero.
func TestChart(t *testing.T) {
	t.Parallel()
	c := ChartView{ID: "x", Measure: Count, From: testNow, Step: time.Minute, Lines: []LineView{{Name: "a\x00b", Values: []float64{1, math.NaN(), 2.5}}}}
	text, err := c.JSON()
	if err != nil || !strings.Contains(text, `"name":"ab"`) || !strings.Contains(text, `"values":[1,null,2.5]`) {
		t.Error(text, err)
	}
	if got := c.Peak(c.Lines[0]); got != "2.5, Mon 07:47" {
		t.Error(got)
	}
	for range 45 {
		c.Lines[0].Values = append(c.Lines[0].Values, 4)
	}
	rows := c.Rows()
	if len(rows) != tableRows || rows[0].Cells[0] != "1" || rows[1].Cells[0] != "3.2" || rows[1].At != "Mon 07:47" {
		t.Errorf("%d rows, %v", len(rows), rows[:2])
	}
	if c.Sum = true; c.Rows()[1].Cells[0] != "6.5" {
		t.Errorf("amounts are not added up: %v", c.Rows()[1])
	}
	for m, want := range map[Measure]string{Count: "1,234", Dollars: "$1,234.00", Percent: "13 times", Seconds: "20 min"} {
		if got := m.write(1234); got != want {
			t.Errorf("%s: %s, want %s", m, got, want)
		}
	}
	if (ChartView{}).Empty() != true || c.Empty() {
		t.Error("an empty chart is drawn, or a full one is not")
	}
}

// TestRunPages: each page says what it is for, runs nothing that stands in a name, a
// row or an answer, and keeps its state in its address.
func TestRunPages(t *testing.T) {
	t.Parallel()
	d := runPagesDashboard(t, nil)
	for path, words := range map[string][]string{
		"/history?by=tenant": {"61.0 %", "On loan", "Nothing of it in this time.", "/history.csv?by=tenant", "data-chart=", "$340.00", "no process of the fleet"},
		"/who":               {"38 refusals", "Pause bulk for 30 min", "peak 88.0 %", "While people waited"},
		"/runs?state=open":   {`href="/runs/0mb3k9x1ab12"`, "nightly-summaries", `value="open" selected`},
		"/runs/nightly":      {"18,734", "Done about 09:45", "Retry 2", "max-cost", "&lt;script&gt;window.ran"},
		"/steer":             {"usd_per_month", `data-l="spent">$700.00`, `data-l="held">$12.00`, "feature/chat", "Unset", "Roll back", "Look at the change"},
	} {
		w := ask(t, d, http.MethodGet, path, as(testToken))
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d", path, w.Code)
		}
		for _, word := range words {
			if !strings.Contains(w.Body.String(), word) {
				t.Errorf("%s has no %q", path, word)
			}
		}
		if strings.Contains(w.Body.String(), "<script>window") || strings.Contains(w.Body.String(), "<img src=x") {
			t.Errorf("%s: a script of others is on it", path)
		}
	}
	for path, want := range map[string]int{"/runs/none": 404, "/runs?state=x": 400, "/runs?page=0": 400, "/who?page=x": 400, "/history?unit=colour": 400} {
		if w := ask(t, d, http.MethodGet, path, as(testToken)); w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
	if w := ask(t, d, http.MethodGet, "/history.csv?from=1h", as(testViewToken)); w.Code != 200 || !strings.HasPrefix(w.Body.String(), "time,") || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/csv") {
		t.Errorf("CSV: %d %s", w.Code, w.Body.String())
	}
}

// TestBodiesByRole: who only looks sees no row's content, nor does anybody where it is
// masked; and nobody who may not act is shown a form.
func TestBodiesByRole(t *testing.T) {
	t.Parallel()
	masked := runPagesDashboard(t, func(c *Config) { c.Contents = Masked })
	for _, x := range []struct {
		name  string
		d     *Dashboard
		token string
		shown bool
	}{
		{"operator", runPagesDashboard(t, nil), testToken, true}, {"viewer", runPagesDashboard(t, nil), testViewToken, false}, {"operator of a masked one", masked, testToken, false},
	} {
		text := ask(t, x.d, http.MethodGet, "/runs/nightly", as(x.token)).Body.String()
		if got := strings.Contains(text, "long long"); got != x.shown {
			t.Errorf("%s: shown is %v", x.name, got)
		}
		if strings.Contains(text, `action="/do/set"`) != (x.token == testToken) {
			t.Errorf("%s: wrong forms", x.name)
		}
	}
	if text := ask(t, masked, http.MethodGet, "/steer", as(testViewToken)).Body.String(); strings.Contains(text, "/do/") {
		t.Error("who may only look has a form")
	}
}

// TestNothingAndMuch: no line of anything, and 10,000 features and failed rows.
func TestNothingAndMuch(t *testing.T) {
	t.Parallel()
	none := runPagesDashboard(t, func(c *Config) {
		c.History = func(context.Context, HistoryQuery) (HistoryView, error) { return HistoryView{Empty: true}, nil }
		c.Who = func(context.Context, WhoQuery) (WhoView, error) { return WhoView{}, nil }
		c.Runs = func(context.Context, RunsQuery) (RunsView, error) { return RunsView{}, nil }
		c.Run = func(context.Context, RunQuery) (RunPageView, error) { return RunPageView{}, nil }
		c.Steer = func(context.Context) (SteerView, error) { return SteerView{}, nil }
	})
	for path, word := range map[string]string{"/history": "No call was made", "/who": "No call was made", "/runs": "No runs yet", "/runs/x": "No row that has ended had to wait", "/steer": "Nothing is set over"} {
		if w := ask(t, none, http.MethodGet, path, as(testToken)); w.Code != 200 || !strings.Contains(w.Body.String(), word) {
			t.Errorf("%s: %d, no %q", path, w.Code, word)
		}
	}
	much := runPagesDashboard(t, func(c *Config) {
		c.Who = func(_ context.Context, q WhoQuery) (WhoView, error) { return busyWho(testNow, q, 10_000), nil }
		c.Run = func(_ context.Context, q RunQuery) (RunPageView, error) { return busyRun(testNow, q, 10_000) }
	})
	for path, word := range map[string]string{"/who": "Lines 1–20 of 10001", "/runs/x": "Rows 1–20 of 10000"} {
		if w := ask(t, much, http.MethodGet, path, as(testToken)); w.Body.Len() > 300_000 || !strings.Contains(w.Body.String(), word) {
			t.Errorf("%s: %d bytes, no %q", path, w.Body.Len(), word)
		}
	}
}

// TestPreview: a form is looked at before it is asked about, and what is wrong with it
// is said without doing anything.
func TestPreview(t *testing.T) {
	t.Parallel()
	done := 0
	d := runPagesDashboard(t, func(c *Config) {
		c.Actions = []Action{{Name: "set", Title: "Change", Preview: func(_ context.Context, _ Viewer, form url.Values) (string, error) {
			if form.Get("value") == "-1" {
				return "", hinted{http.ErrNotSupported}
			}
			return "max-cost: $40.00 → $60.00?", nil
		}, Do: func(context.Context, Viewer, url.Values) (Outcome, error) { done++; return Outcome{Said: "done"}, nil }}}
	})
	post := func(form string) *httptest.ResponseRecorder {
		return ask(t, d, http.MethodPost, "/do/set", func(r *http.Request) {
			r.SetBasicAuth("ana", testToken)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Accept", "text/html")
			r.URL.RawQuery = ""
			r.Body = http.NoBody
			r.PostForm, _ = url.ParseQuery(form)
			r.Form = r.PostForm
		})
	}
	if w := post("value=60"); w.Code != 200 || !strings.Contains(w.Body.String(), "$40.00 → $60.00?") || done != 0 {
		t.Errorf("%d, done %d times", w.Code, done)
	}
	if w := post("value=-1"); w.Code != http.StatusSeeOther || done != 0 {
		t.Errorf("a wrong value: %d, done %d times", w.Code, done)
	}
	if w := post("value=60&confirmed=yes"); w.Code != http.StatusSeeOther || done != 1 {
		t.Errorf("confirmed: %d, done %d times", w.Code, done)
	}
}
