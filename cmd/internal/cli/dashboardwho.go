package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// userViews are those who had the quota of the last minute.
func userViews(users []*userOfQuota, text string) (out []dashboard.UserView, found int) {
	text = strings.ToLower(text)
	for _, u := range users {
		if !strings.Contains(strings.ToLower(u.Feature+" "+u.Class), text) {
			continue
		}
		if found++; len(out) < dashboard.UsersOnPage {
			out = append(out, dashboard.UserView{
				Feature: u.Feature, Class: u.Class, Requests: u.Requests, Tokens: u.Tokens, RequestsShare: u.RequestsShare, TokensShare: u.TokensShare,
				Refused: u.Refused, OwnLimit: u.OwnLimit, Rejected: u.Provider429, P95: time.Duration(u.P95MS) * time.Millisecond,
			})
		}
	}
	return out, found
}

// waiters says who waits for what.
type waiters struct {
	*overview
	be  *backend
	own bool // a tenant looks, to whom others' names and figures are not told
}

// waiter is a line of a lane.
type waiter struct {
	limiter.LeafState
	lane *limiter.LaneState
	run  *runStatus // whose line it is; nil for others
}

// views are the longest lines of the lanes that were read.
func (w waiters) views(ctx context.Context, text string) (out []dashboard.WaitView, found int, err error) {
	lines := w.lines(strings.ToLower(text))
	for _, l := range lines[:min(len(lines), dashboard.WaitsOnPage)] {
		v, err := w.view(ctx, l)
		if err != nil {
			return out, len(lines), err
		}
		out = append(out, v)
	}
	return out, len(lines), nil
}

func (w waiters) lines(text string) (out []waiter) {
	for i := range w.Lanes {
		for _, leaf := range whoWaits(w.Lanes[i]) {
			l := waiter{LeafState: leaf, lane: &w.Lanes[i], run: w.runOf(leaf.Leaf)}
			words := strings.ToLower(l.lane.Lane.String() + " " + l.Class + " " + l.name())
			if l.Waiting > 0 && strings.Contains(words, text) {
				out = append(out, l)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b waiter) int { return cmp.Compare(b.Waiting, a.Waiting) })
	return out
}

func (w waiters) runOf(leaf string) *runStatus {
	id := limiter.ParseLeaf(leaf).Run
	for i := range w.Runs {
		if id != "" && w.Runs[i].ID == id {
			return &w.Runs[i]
		}
	}
	return nil
}

// name is whose the line is, by a run's name where it has one.
func (l waiter) name() string {
	s := lineName(l.Leaf)
	if l.run != nil && l.run.Name != "" {
		s = strings.Replace(s, "run "+l.run.ID, "run "+l.run.Name, 1)
	}
	return s
}

func (w waiters) view(ctx context.Context, l waiter) (dashboard.WaitView, error) {
	v := dashboard.WaitView{
		Lane: l.lane.Lane.Model, Class: l.Class, Line: l.name(), Waiting: l.Waiting, InPlace: l.SharePPM == 0, Share: float64(l.SharePPM) / ppm,
	}
	if l.run != nil && l.run.ETA != nil {
		v.Until, v.UntilNote = *l.run.ETA, "about"
	}
	if v.InPlace {
		v.Until, v.UntilNote = w.givesUp(l), "at the latest"
	}
	e := &explained{Class: l.Class, Path: limiter.ParseLeaf(l.Leaf), Explanation: limiter.Explanation{Lane: *l.lane}}
	if p := pauseFor(e); p != nil {
		v.For, v.Until, v.UntilNote = pauseSentence(p, w.At), p.Until, ""
		if l.run != nil {
			v.For = l.run.ofItself(v.For)
		}
		if p.Reason == scheduler.ReasonHealth || p.Reason == scheduler.ReasonWindow || p.Until.IsZero() {
			v.Until, v.UntilNote = time.Time{}, strings.TrimPrefix(endsBy(p.Reason, p.Owner), "until ")
		}
		if w.own {
			v.For = ownPause(p)
		}
		return v, nil
	}
	denied, err := w.be.lim.Ask(ctx, l.each())
	if err != nil && !errors.Is(err, limiter.ErrUnknownLane) {
		return v, err
	}
	v.For = "its turn"
	if denied != nil {
		e.Denied = denied
		v.For = explainWords{conf: w.be.conf, now: w.At}.why(e)
		if w.own {
			v.For = ownWait(e)
		}
		if v.Until.IsZero() && !denied.RetryAt.IsZero() {
			v.Until, v.UntilNote = denied.RetryAt, "at the earliest"
		}
	}
	return v, nil
}

// each is a request like the average of the line.
func (l waiter) each() limiter.Request {
	q := limiter.Request{Lane: l.lane.Lane, Class: l.Class, Path: limiter.ParseLeaf(l.Leaf)}
	for u, n := range l.Booked {
		q.Amounts[u] = n / l.Waiting
	}
	q.Amounts[limiter.Requests] = max(1, q.Amounts[limiter.Requests])
	if l.run != nil {
		q.Feature = l.run.Feature
	}
	return q
}

// givesUp is when the last of those who wait in place would.
func (w waiters) givesUp(l waiter) (last time.Time) {
	for _, c := range l.lane.InPlace {
		if c.Class == l.Class && c.Leaf == l.Leaf && c.Until.After(last) {
			last = c.Until
		}
	}
	return last
}

// answers are what the limiter would say to a call of each class now.
func (v *overview) answers(ctx context.Context, be *backend, s limiter.LaneState) (out []dashboard.AnswerView, err error) {
	for _, c := range be.conf.classTable() {
		e := &explained{Class: c.Name, From: "like those of the last five minutes"}
		e.Amounts = v.usual(s.Lane, c.Name)
		if e.Amounts[limiter.InputTokens] == 0 {
			e.Amounts[limiter.InputTokens], e.Amounts[limiter.OutputTokens], e.From = 500, 500, "a guess: there was none of late"
		}
		if e.Explanation, err = be.lim.Explain(ctx, limiter.Request{Lane: s.Lane, Class: c.Name, Amounts: e.Amounts}); err != nil {
			return out, err
		}
		a := dashboard.AnswerView{Class: c.Name, Call: fmt.Sprintf("%s, %s", amountsWords(e.Amounts), e.From), Text: explainWords{conf: be.conf, now: v.At}.sentence(e)}
		if !e.Granted {
			a.Level = dashboard.Warn
		}
		out = append(out, a)
	}
	return out, nil
}

// usual is what a call of a class took of late, on average.
func (v *overview) usual(lane limiter.Lane, class string) limiter.Amounts {
	a := limiter.Amounts{limiter.Requests: 1, limiter.Concurrency: 1}
	var n int64
	for _, s := range v.samples {
		if s.Model == lane.Model && s.Class == class {
			n += s.Requests
			a[limiter.InputTokens] += s.InputTokens
			a[limiter.OutputTokens] += s.OutputTokens
			a[limiter.MicroUSD] += s.MicroUSD
		}
	}
	for _, u := range []limiter.Unit{limiter.InputTokens, limiter.OutputTokens, limiter.MicroUSD} {
		a[u] /= max(n, 1)
	}
	a[limiter.TotalTokens] = a[limiter.InputTokens] + a[limiter.OutputTokens]
	return a
}
