package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// dashboardOverview is the operator's one screen as the home page shows it.
func (b *backend) dashboardOverview(ctx context.Context) (dashboard.Overview, error) {
	v, err := b.overview(ctx, time.Now())
	if err != nil {
		return dashboard.Overview{}, err
	}
	out := dashboard.Overview{At: v.At, Health: healthView(v.Health, v.At), Pauses: append(pauseViews(v.Pauses), throttleViews(v.Throttles, v.At)...)}
	for _, l := range v.Lanes {
		out.Lanes = append(out.Lanes, laneView(l, v.At))
	}
	for _, c := range b.conf.classTable() {
		out.Classes = append(out.Classes, v.classView(c))
	}
	for _, r := range v.Runs {
		out.Runs = append(out.Runs, r.view(v.At))
	}
	for _, e := range slices.Backward(v.Events) {
		out.Events = append(out.Events, dashboard.EventView{At: e.At, Level: eventLevel(e.Kind), Kind: e.Kind, Text: e.Text, By: e.By})
	}
	for _, a := range v.Advice {
		out.Advice = append(out.Advice, dashboard.AdviceView{Level: dashboard.Level(a.Level), Text: a.Text, Command: a.Command})
	}
	return out, nil
}

func (b *backend) dashboardPauses(ctx context.Context) ([]dashboard.PauseView, error) {
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	throttles, err := b.lim.Throttles(ctx)
	return append(pauseViews(pauses), throttleViews(throttles, time.Now())...), err
}

// throttleViews are classes that have a share only.
func throttleViews(throttles []limiter.Throttle, now time.Time) []dashboard.PauseView {
	var out []dashboard.PauseView
	for _, t := range together(throttles, func(t *limiter.Throttle) *string { return &t.Class }) {
		out = append(out, dashboard.PauseView{
			Target: fmt.Sprintf("class %s but for %s", t.Class, percent(float64(t.SharePPM(now))/ppm)),
			Reason: t.Reason, Owner: t.Owner, Detail: t.Detail, Since: t.Since,
		})
	}
	return out
}

// pauseViews has one line for what was closed together.
func pauseViews(pauses []limiter.Pause) []dashboard.PauseView {
	out := []dashboard.PauseView{}
	for _, p := range pauses {
		v := dashboard.PauseView{Target: p.Target(), Reason: p.Reason, Owner: p.Owner, Detail: p.Detail, Since: p.Since, Until: p.Until}
		if p.Reason == scheduler.ReasonHealth || p.Reason == scheduler.ReasonWindow {
			v.Until = time.Time{} // a lease that is renewed as long as the reason holds
		}
		at := slices.IndexFunc(out, func(o dashboard.PauseView) bool {
			o.Target = v.Target
			return o == v
		})
		if at >= 0 {
			out[at].Target += ", " + strings.TrimPrefix(v.Target, "class ")
			continue
		}
		out = append(out, v)
	}
	return out
}

func healthView(s scheduler.Status, now time.Time) dashboard.HealthView {
	level := dashboard.Good
	switch {
	case s.Leader == nil:
		level = dashboard.Warn
	case s.Phase == scheduler.Ramping:
		level = dashboard.Note
	case s.Phase != scheduler.Healthy:
		level = dashboard.Bad
	}
	return dashboard.HealthView{Phase: s.Phrase(), Level: level, Text: healthSentence(s, now), Since: s.Since}
}

func eventLevel(kind string) dashboard.Level {
	switch kind {
	case limiter.EventAlert:
		return dashboard.Bad
	case limiter.EventPause, limiter.EventThrottle, limiter.EventBreaker, limiter.EventCooldown, limiter.EventFeedback, limiter.EventProvider:
		return dashboard.Warn
	}
	return dashboard.Note
}

// laneView shows the limits that bulk shares with those who wait.
func laneView(s limiter.LaneState, now time.Time) dashboard.LaneView {
	v := dashboard.LaneView{Name: s.Lane.Model}
	if c := s.Cooldown; c != nil {
		v.Level, v.Note = dashboard.Warn, fmt.Sprintf("resting until %s: %s %s", clock(c.Until, now), c.Reason, c.Detail)
	}
	if b := s.Broken(); b != nil {
		v.Level, v.Note = dashboard.Bad, b.String()
	}
	for _, l := range s.Limits {
		view := dashboard.LimitView{Name: l.Name, Limit: l.Effective, Used: l.Used, Micro: l.Unit == limiter.MicroUSD}
		for _, c := range l.Classes {
			view.Protected += max(0, c.Protected-c.Used)
			if c.Class == "bulk" {
				view.Room = c.Room
			}
		}
		v.Limits = append(v.Limits, view)
	}
	return v
}

// classView adds the features of a class up.
func (v *overview) classView(c limiter.Class) dashboard.ClassView {
	out := dashboard.ClassView{Name: c.Name}
	var sum gemini.UsageSample
	var all int64
	for _, x := range v.minute {
		all += x.Requests
		if x.Class == c.Name {
			sum.Merge(x)
		}
	}
	out.Calls, out.Share, out.Refused, out.P95 = sum.Calls, ratio(sum.Requests, all), sum.Refused+sum.Provider429, p95of(sum)
	for _, r := range v.Health.View.Rows {
		if r.Class == c.Name && r.Bad != "" {
			out.Level, out.Note = dashboard.Bad, r.Bad
		}
	}
	for _, l := range v.Lanes {
		for _, leaf := range l.Leaves {
			if leaf.Class == c.Name {
				out.Waiting += leaf.Waiting
			}
		}
	}
	for _, r := range v.Runs {
		if r.Class == c.Name {
			out.InFlight += r.counts[jobs.Running]
		}
	}
	for _, p := range v.Pauses {
		if p.Class == c.Name {
			out.Level, out.Note = dashboard.Warn, "paused: "+orElse(p.Detail, p.Reason)
		}
	}
	return out
}

func (r runStatus) view(now time.Time) dashboard.RunView {
	c := r.counts
	v := dashboard.RunView{
		ID: r.ID, Name: r.Name, Class: r.Class, Total: r.Rows, Good: c[jobs.Done] + c[jobs.Cached], Bad: c.Bad() - c[jobs.Cancelled],
		Running: c[jobs.Running], Waiting: c[jobs.Waiting] + c[jobs.RetryWait], Note: r.phase(),
	}
	if r.ETA != nil {
		v.ETA = *r.ETA
	}
	if v.Bad > 0 || c.Open() > 0 && (r.Workers == 0 || r.Hold != "") {
		v.Level = dashboard.Warn
	}
	return v
}
