package dashboard

import (
	"context"
	"net/http"
	"time"
)

// WhoQuery asks who used the quota, as `nightshift quota who` takes it.
type WhoQuery struct {
	From, To, By, Model string
	Text                string // that names must contain
	Page                int    // of the ranking, from 1 on
}

// WhoView is the table that finds the culprit. With a Problem there is nothing else.
type WhoView struct {
	Problem  string
	From, To time.Time
	Asked    WhoQuery
	Bys      []ChoiceView
	Models   []string
	Findings []AdviceView // in words, the most urgent first
	Culprit  string       // a class that may be paused and had the quota while people suffered; "" is none
	Units    []WhoUnit
	Rows     []WhoRow // one page
	Found    int
	Overlap  *OverlapView // nil: nobody who waits was refused or slow
	Command  string
}

func (v WhoView) wrong() string { return v.Problem }

// WhoOnPage is how many lines a page of the ranking has.
const WhoOnPage = 20

// WhoUnit is a dimension of the quota.
type WhoUnit struct {
	Name  string // "rpm"
	Limit string // a minute; "" where it is not known or there is none
}

// WhoRow is who used what.
type WhoRow struct {
	Name, Class string
	Use         []WhoUse // by Units
	Requests    int64
	Tokens      int64 // input
	Cost        string
	Refused     int64 // by us, for want of room or time, or a pause
	OwnLimit    int64 // by us: by a limit of its own
	Rejected    int64 // by the provider
	P95         time.Duration
}

// WhoUse is what somebody had of a dimension.
type WhoUse struct {
	Unit  string
	Share float64 // of what all used, 0 to 1
	Avg   string  // of the limit, "12 %"; of no limit, a minute
	Peak  string
}

// OverlapView is the time in which people who wait were refused or slow.
type OverlapView struct {
	Text  string
	Rows  []WhoRow
	Found int
}

// Bar draws a part of a whole.
func (u WhoUse) Bar() bar {
	var b bar
	b.add(1_000_000, "used", int64(u.Share*1e6))
	return b
}

func (d *Dashboard) whoPage() page {
	p := page{path: "/who", nav: "Who", title: "who ate the quota?", template: "who"}
	if d.cfg.Who == nil {
		return p
	}
	p.load = func(ctx context.Context, r *http.Request) (any, error) {
		q := r.URL.Query()
		h := historyQuery(q)
		ask := WhoQuery{From: h.From, To: h.To, By: h.By, Model: h.Model, Text: cut(oneLine(q.Get("q")), longestQuery)}
		var err error
		if ask.Page, err = pageNumber(q, "page"); err != nil {
			return nil, err
		}
		return d.cfg.Who(ctx, ask)
	}
	return p
}
