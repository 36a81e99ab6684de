package dashboard

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"time"

	"nightshift/limiter"
)

// HistoryQuery is what of the history is asked for, as `nightshift quota history` takes
// it; empty is its default.
type HistoryQuery struct {
	From, To string
	By, Unit string
	Model    string
	Class    string
	Feature  string
	Tenant   string
}

// HistoryView is the answer. With a Problem there is nothing else.
type HistoryView struct {
	Problem  string // what is wrong with the query
	From, To time.Time
	Step     time.Duration
	Asked    HistoryQuery // with defaults
	Bys      []string     // to choose from
	Units    []ChoiceView
	Models   []string
	Classes  []string
	Empty    bool // no call in all the time
	Charts   []ChartView
	Met      []CountsView // what calls met, by cause
	Forecast *ForecastView
	Notes    []string // what is not known
	Command  string   // the same in a terminal
}

// ChoiceView is something to choose.
type ChoiceView struct{ Value, Text string }

// CountsView is how often something happened, by cause, the most first.
type CountsView struct {
	Title string
	Of    []CountView
}

// CountView is one cause.
type CountView struct{ Name, N string }

// ForecastView is what a month is likely to cost.
type ForecastView struct {
	Month, Spent, Today, Expected, Low, High string
	Words                                    string // how it was worked out
	Zone                                     string // in which days and months begin
}

// Presets are intervals to choose, up to now.
func (s *shown) Presets() []ChoiceView {
	return []ChoiceView{{"15m", "15 min"}, {"1h", "1 h"}, {"6h", "6 h"}, {"24h", "24 h"}, {"48h", "48 h"}, {"168h", "7 days"}}
}

func historyQuery(q url.Values) HistoryQuery {
	get := func(name string) string { return cut(oneLine(q.Get(name)), longestQuery) }
	return HistoryQuery{From: get("from"), To: get("to"), By: get("by"), Unit: get("unit"), Model: get("model"), Class: get("class"), Feature: get("feature"), Tenant: get("tenant")}
}

func (d *Dashboard) historyPage() page {
	p := page{path: "/history", nav: "History", title: "history", template: "history", charts: true}
	if d.cfg.History != nil {
		p.load = func(ctx context.Context, r *http.Request) (any, error) {
			return d.cfg.History(ctx, historyQuery(r.URL.Query()))
		}
	}
	return p
}

func (v HistoryView) wrong() string { return v.Problem }

// StepWords is how long a step is.
func (v HistoryView) StepWords() string { return limiter.Length(v.Step) }

// CSV is where the page's figures are, every step of them.
func (s *shown) CSV() string { return "/history.csv?" + s.Query.Encode() }

// serveHistoryCSV writes nothing until all is known: half a file would look whole.
func (d *Dashboard) serveHistoryCSV(w http.ResponseWriter, r *http.Request) {
	if d.cfg.HistoryCSV == nil {
		d.serveMissing(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.cfg.Patience)
	defer cancel()
	var b bytes.Buffer
	if err := d.cfg.HistoryCSV(ctx, historyQuery(r.URL.Query()), &b); err != nil {
		s := d.shownTo(r)
		s.Title = "history as CSV"
		d.showPage(w, r, d.explainLoad(r, s, err), "failed", s)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="nightshift-history.csv"`)
	_, _ = w.Write(b.Bytes())
}
