package dashboard

import (
	"context"
	"net/http"
	"time"
)

// RunsQuery is what of the runs is asked for; the zero value is the latest of all.
type RunsQuery struct {
	Text  string // that a run's name, id, model, class or feature must contain
	State string // of RunStates; "" is any
	Page  int    // from 1 on
}

// RunStates are what runs may be filtered by.
var RunStates = []ChoiceView{{"open", "open"}, {"held", "open and held"}, {"failed", "with failed rows"}, {"ended", "ended"}}

// RunsView is a page of the runs, the latest first.
type RunsView struct {
	Runs       []RunView
	Found, All int
	Open       int // of All
}

// RunsOnList is how many runs a page of the list has.
const RunsOnList = 30

// RunQuery asks for one run.
type RunQuery struct {
	Ref   string // its id or name
	Cause string // of the failed rows that are shown; "" is all
	Page  int    // of them, from 1 on
}

// RunPageView is one run.
type RunPageView struct {
	At       time.Time
	Run      RunView
	Facts    [][2]string // what it is: input, model, workers
	States   []CountView // of its rows, in the order of their way
	Why      string      // what holds it; "" is nothing
	ETA      string      // when it will be done, and why that is so or not known
	Do       []AdviceView
	Waits    []CountView // what the rows that have ended waited for, in all
	Over     *ChartView  // rows that ended, over time; nil before the first
	Causes   []CauseView // of rows without a good answer, the most first
	Apart    string      // how Causes differ from States, which were read at another moment; "" is not at all
	Paused   bool        // by itself, so that resuming it does something
	Failed   []FailedRow // one page of them
	Found    int         // rows that Failed is a page of
	Settings []SettingView
	Events   []EventView // the latest first
	Notes    []string    // what is not known
}

// FailedOnPage is how many failed rows a page has.
const FailedOnPage = 20

// CauseView is what rows failed of.
type CauseView struct {
	State, Cause string // Only is what `retry` takes: the cause, or the state where there is none
	Only         string
	Rows         int64
	Example      string
	Message      string
}

// FailedRow is a row without a good answer. Message and bodies hold no credentials.
type FailedRow struct {
	Row, State, Cause string
	Status            int
	Attempts          int
	Message           string
	Fields            string // as JSON
	Output            string // what came, if anything did
	At                time.Time
}

// SettingView is something of a run that can be changed while it goes on.
type SettingView struct{ Name, Value, From, Help string }

// States are the filters of the list of runs.
func (s *shown) States() []ChoiceView { return RunStates }

// Has says whether there is a page at a path.
func (s *shown) Has(path string) bool {
	for _, n := range s.Nav {
		if n.Path == path {
			return true
		}
	}
	return false
}

func (d *Dashboard) runsPage() page {
	p := page{path: "/runs", nav: "Runs", title: "runs", template: "runs", live: true}
	if d.cfg.Runs == nil {
		return p
	}
	p.load = func(ctx context.Context, r *http.Request) (any, error) {
		q := r.URL.Query()
		ask := RunsQuery{Text: cut(oneLine(q.Get("q")), longestQuery), State: q.Get("state")}
		var err error
		if ask.Page, err = pageNumber(q, "page"); err != nil {
			return nil, err
		}
		if ask.State != "" && !isChoice(RunStates, ask.State) {
			return nil, badQuery("state is %.40q: want open, held, failed or ended", ask.State)
		}
		return d.cfg.Runs(ctx, ask)
	}
	return p
}

func isChoice(list []ChoiceView, value string) bool {
	for _, c := range list {
		if c.Value == value {
			return true
		}
	}
	return false
}

func (d *Dashboard) runPage() page {
	p := page{path: "/runs/{run}", title: "run", template: "run", under: "Runs", live: true, charts: true}
	if d.cfg.Run == nil {
		return p
	}
	p.load = func(ctx context.Context, r *http.Request) (any, error) {
		q := r.URL.Query()
		ask := RunQuery{Ref: cut(r.PathValue("run"), longestQuery), Cause: cut(q.Get("cause"), longestQuery)}
		var err error
		if ask.Page, err = pageNumber(q, "page"); err != nil {
			return nil, err
		}
		return d.cfg.Run(ctx, ask)
	}
	return p
}
