package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
)

// laneChoice is which lanes a page shows.
type laneChoice struct {
	page                 []limiter.Lane
	ofRuns               []limiter.Lane // beside them: those of the runs that are shown
	all, found, troubled int
}

// laneRank is what a lane is sorted by.
type laneRank struct {
	lane       limiter.Lane
	held       bool
	bad, calls int64
	words      string // to be looked for, in small letters
}

// chooseLanes finds what is looked for, and of that the page: what is held first,
// then where calls were refused, then the most used.
func (b *backend) chooseLanes(ctx context.Context, o *overview, q dashboard.NowQuery) (c laneChoice, err error) {
	ranks, err := b.rankLanes(ctx, o)
	if err != nil {
		return c, err
	}
	c.all = len(ranks)
	var found []laneRank
	for _, r := range ranks {
		if r.held {
			c.troubled++
		}
		if (q.Lane == "" || equalModel(q.Lane, r.lane) || q.Lane == r.lane.String()) && strings.Contains(r.words, strings.ToLower(q.Text)) {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b laneRank) int {
		return cmp.Or(-compareBool(a.held, b.held), -cmp.Compare(a.bad, b.bad), -cmp.Compare(a.calls, b.calls))
	})
	c.found = len(found)
	for _, r := range onPage(found, q.Page, dashboard.LanesOnPage) {
		c.page = append(c.page, r.lane)
	}
	for _, r := range o.Runs[:min(len(o.Runs), dashboard.RunsOnPage)] {
		l, err := limiter.ParseLane(r.lane)
		known := slices.ContainsFunc(ranks, func(x laneRank) bool { return x.lane == l })
		if err == nil && known && r.counts.Open() > 0 && !slices.Contains(c.page, l) && !slices.Contains(c.ofRuns, l) {
			c.ofRuns = append(c.ofRuns, l)
		}
	}
	return c, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// onPage is a page of a list, from 1 on.
func onPage[T any](list []T, page, size int) []T {
	from := min(len(list), (max(page, 1)-1)*size)
	return list[from:min(len(list), from+size)]
}

// rankLanes reads what is known of all lanes at once: their breakers, and the calls
// of the last minute.
func (b *backend) rankLanes(ctx context.Context, o *overview) ([]laneRank, error) {
	lanes, err := b.lim.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	breakers, err := b.lim.Breakers(ctx)
	if err != nil {
		return nil, err
	}
	ranks := make([]laneRank, len(lanes))
	for i, l := range lanes {
		ranks[i] = laneRank{lane: l.Lane, words: strings.ToLower(l.Lane.String())}
		ranks[i].held = slices.ContainsFunc(breakers, func(x limiter.BreakerState) bool {
			return x.Scope == limiter.BreakProject || x.Lane == l.Lane.String()
		})
		if use := o.minute.lanes[[2]string{l.Lane.Region, l.Lane.Model}]; use != nil {
			ranks[i].calls, ranks[i].bad = use.calls, use.bad
			ranks[i].words += use.words
		}
	}
	return ranks, nil
}

// laneView is a lane with all of its limits.
func laneView(s limiter.LaneState, conf *loaded, now time.Time) dashboard.LaneView {
	v := dashboard.LaneView{Name: s.Lane.Model, Whole: s.Lane.String(), InFlight: s.InFlight, Waiting: waiting(s)}
	if c := s.Cooldown; c != nil {
		v.Level, v.Notes = dashboard.Warn, append(v.Notes, conf.restSentence(c, now))
	}
	for _, b := range s.Breakers {
		v.Level, v.Notes = dashboard.Bad, append(v.Notes, conf.breakerSentence(&b, now))
	}
	for _, l := range s.Limits {
		v.Limits = append(v.Limits, limitView(l, s.At, now))
	}
	return v
}

// limitView is one limit, whole and by class.
func limitView(l limiter.LimitState, at, now time.Time) dashboard.LimitView {
	v := dashboard.LimitView{
		Name: l.Name, Set: l.Amount, Effective: l.Effective, Used: l.Used, Booked: l.Booked, Micro: l.Unit == limiter.MicroUSD,
		NextFree: nextFree(l, at, now), Source: l.Source, Unset: l.Unbound(), Shadow: l.Shadow, Notes: limitNotes(l, now),
	}
	loans := borrowed(l)
	for i, c := range l.Classes {
		p := dashboard.PartView{Class: c.Class, Used: c.Used, Reserved: max(0, c.Protected-c.Used), Lent: c.Lent, Borrowed: loans[i], Room: c.Room, Why: told(c.Why, now)}
		v.Reserved, v.Lent, v.Borrowed = v.Reserved+p.Reserved, v.Lent+p.Lent, v.Borrowed+p.Borrowed
		if c.Class == "bulk" {
			v.Room = c.Room
		}
		v.Parts = append(v.Parts, p)
	}
	return v
}

// limitNotes says what else there is to know of a limit.
func limitNotes(l limiter.LimitState, now time.Time) (notes []string) {
	if w := l.Lowered; w != nil {
		why := "the provider refused what was admitted"
		if l.Window == limiter.Held {
			why = "the provider was short of capacity"
		}
		notes = append(notes, fmt.Sprintf("%s is lowered %s: %s; all of it is back at %s if it refuses no more",
			l.Name, loweredWords(l), why, clock(w.Until, now)))
	}
	if l.Shadow {
		notes = append(notes, fmt.Sprintf("%s is in shadow and refuses nothing; it would have refused %s", l.Name, plural(int(l.Shadowed), "call")))
	}
	return notes
}
