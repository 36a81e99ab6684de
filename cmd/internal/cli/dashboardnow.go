package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/cmd/internal/kept"
	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// dashboardNow fills the dashboard's first page.
type dashboardNow struct {
	*backend
	runsSeen runsSeen
	events   eventLog
	fleet    kept.Look[*overview] // but for its lanes and who uses them
	crowd    kept.Look[*crowd]
	full     kept.Look[map[string]float64] // how full each path is
}

// fleetFor is how long one look at the fleet serves all that look at a page of it.
const fleetFor = 1500 * time.Millisecond

// read gives the fleet as it was just now, for somebody who adds lanes to it.
func (d *dashboardNow) read(ctx context.Context, now time.Time) (*overview, error) {
	seen, err := d.fleet.Get(ctx, now, fleetFor, func(ctx context.Context) (*overview, error) { return d.fleetNow(ctx, now) })
	if err != nil {
		return nil, err
	}
	o := *seen
	o.Runs, o.Pauses = slices.Clone(o.Runs), slices.Clone(o.Pauses)
	return &o, nil
}

// readUsers is read with those who use its lanes, whom most pages do not show.
func (d *dashboardNow) readUsers(ctx context.Context, now time.Time) (*overview, *crowd, error) {
	o, err := d.read(ctx, now)
	if err != nil {
		return nil, nil, err
	}
	c, err := d.seenCrowd(ctx, now)
	if err != nil {
		return nil, nil, err
	}
	o.Users, o.minute = c.users, c.minute
	return o, c, nil
}

// forget is told that somebody has just changed something.
func (d *dashboardNow) forget() {
	d.stale()
	d.crowd.Forget()
	d.book.Forget()
}

// stale has the next page look anew at what no one keeps.
func (d *dashboardNow) stale() {
	d.fleet.Forget()
	d.runsSeen.forget()
}

// overview is the operator's one screen as the page shows it. It reads the lanes and
// paths that are on the page, so that a large fleet takes no longer than a small one.
func (d *dashboardNow) overview(ctx context.Context, q dashboard.NowQuery) (dashboard.Overview, error) {
	v, crowd, err := d.readUsers(ctx, time.Now())
	if err != nil {
		return dashboard.Overview{}, err
	}
	lanes, err := d.chooseLanes(ctx, v, q)
	if err != nil {
		return dashboard.Overview{}, err
	}
	if v.Lanes, err = d.lim.States(ctx, append(lanes.page, lanes.ofRuns...)); err != nil {
		return dashboard.Overview{}, err
	}
	v.samples = crowd.samplesOf(v.Lanes)
	v.judge(d.backend)
	if err := d.addEnds(ctx, v.Runs[:min(len(v.Runs), dashboard.RunsOnPage)]); err != nil {
		return dashboard.Overview{}, err
	}
	out := v.page(d.backend)
	out.LanesFound, out.Totals.Lanes, out.Totals.Troubled = lanes.found, lanes.all, lanes.troubled
	for _, l := range v.Lanes[:min(len(lanes.page), len(v.Lanes))] {
		out.Lanes = append(out.Lanes, laneView(l, d.conf, v.At))
	}
	out.Users, out.UsersFound = userViews(v.minute.users, q.Text)
	out.Tenants, out.TenantsFound = userViews(crowd.tenants, q.Text)
	waits := waiters{v, d.backend, false}
	if out.Waits, out.WaitsFound, err = waits.views(ctx, q.Text); err != nil {
		return out, err
	}
	if q.Lane != "" && len(lanes.page) == 1 && len(v.Lanes) > 0 {
		if out.Answers, err = v.answers(ctx, d.backend, v.Lanes[0]); err != nil {
			return out, err
		}
	}
	return out, d.addPaths(ctx, &out, crowd.nodes, q)
}

// page is what of the screen does not depend on what is looked for.
func (v *overview) page(b *backend) dashboard.Overview {
	out := dashboard.Overview{At: v.At, Project: v.Project, Health: healthView(v.Health, v.At), Totals: v.totals(b)}
	out.Pauses = append(v.pauseViews(), throttleViews(v.Throttles, v.At)...)
	for _, c := range b.conf.classTable() {
		out.Classes = append(out.Classes, v.classView(c))
	}
	for _, r := range v.Runs[:min(len(v.Runs), dashboard.RunsOnPage)] {
		out.Runs = append(out.Runs, v.runView(r))
	}
	for _, e := range slices.Backward(v.Events) {
		out.Events = append(out.Events, eventView(e))
	}
	for _, a := range v.Advice {
		out.Advice = append(out.Advice, dashboard.AdviceView{Level: dashboard.Level(a.Level), Text: a.Text, Command: a.Command})
	}
	return out
}

// totals are the fleet's of the last minute.
func (v *overview) totals(b *backend) dashboard.TotalsView {
	t := dashboard.TotalsView{Workers: len(b.living(v.Fleet))}
	s := v.minute.all
	t.Calls, t.Requests, t.Input, t.Output, t.Provider = s.Calls, s.Requests, s.InputTokens, s.OutputTokens, s.Provider429
	t.Refused, t.OwnLimit = s.RefusedShared(), s.OwnLimit
	for _, r := range v.Runs {
		t.Waiting += r.counts[jobs.Waiting] + r.counts[jobs.RetryWait]
		if r.counts.Open() > 0 {
			t.OpenRuns++
		}
	}
	for _, l := range v.Lanes {
		t.Waiting += int64(len(l.InPlace))
	}
	return t
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
			Reason: t.Reason, Owner: t.Owner, Detail: t.Detail, Since: t.Since, Ends: endsBy(t.Reason, t.Owner),
		})
	}
	return out
}

// pauseViews has one line for what was closed together.
func pauseViews(pauses []limiter.Pause) []dashboard.PauseView {
	out := []dashboard.PauseView{}
	for _, p := range pauses {
		v := dashboard.PauseView{Target: p.Target(), Reason: p.Reason, Owner: p.Owner, Detail: p.Detail, Since: p.Since, Until: p.Until, Ends: endsBy(p.Reason, p.Owner)}
		if p.Reason == scheduler.ReasonOperator || p.Reason == scheduler.ReasonBrake {
			v.Resume = targetName(p) // each on its own: they are lifted one by one
		}
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
	case scheduler.EventRecovered:
		return dashboard.Good
	case limiter.EventPause, limiter.EventThrottle, limiter.EventBreaker, limiter.EventCooldown, limiter.EventFeedback, limiter.EventProvider:
		return dashboard.Warn
	}
	return dashboard.Note
}

// classView adds the features of a class up.
func (v *overview) classView(c limiter.Class) dashboard.ClassView {
	out := dashboard.ClassView{Name: c.Name, Pausable: c.Pausable}
	sum := v.minute.classes[c.Name]
	out.Calls, out.Share, out.Refused, out.P95 = sum.Calls, ratio(sum.Requests, v.minute.all.Requests), sum.RefusedShared()+sum.Provider429, p95of(sum)
	for _, r := range v.Health.View.Rows {
		if r.Class == c.Name && r.Bad != "" {
			out.Level, out.Note = dashboard.Bad, r.Bad
		}
	}
	for _, l := range v.Lanes {
		for _, caller := range l.InPlace {
			if caller.Class == c.Name {
				out.Waiting++
			}
		}
	}
	for _, r := range v.Runs {
		if r.Class == c.Name {
			out.InFlight += r.counts[jobs.Running]
			out.Waiting += r.counts[jobs.Waiting] + r.counts[jobs.RetryWait]
		}
	}
	for _, p := range v.Pauses {
		if p.Class == c.Name {
			out.Level, out.Note = dashboard.Warn, "paused: "+orElse(p.Detail, p.Reason)
		}
	}
	return out
}

// pauseViews are the pauses, of runs by their names.
func (v *overview) pauseViews() []dashboard.PauseView {
	out := pauseViews(v.Pauses)
	for i := range out {
		for _, r := range v.Runs {
			if out[i].Resume == r.ID && r.Name != "" {
				out[i].Target = "run " + r.Name
			}
		}
	}
	return out
}

// runView is a run, with whether it is somebody's pause of it that holds it.
func (v *overview) runView(r runStatus) dashboard.RunView {
	x := r.view(v.At)
	x.Paused = x.Open && heldItself(v.Pauses, r.ID)
	return x
}

// ofItself is what holds a run in words that stand beside its name.
func (r runStatus) ofItself(words string) string {
	return strings.TrimPrefix(words, "run "+r.ID+" is ")
}

func (r runStatus) view(now time.Time) dashboard.RunView {
	c := r.counts
	v := dashboard.RunView{
		ID: r.ID, Name: r.Name, Class: r.Class, Total: r.Rows, Good: c[jobs.Done] + c[jobs.Cached], Bad: c.Bad() - c[jobs.Cancelled],
		Running: c[jobs.Running], Waiting: c[jobs.Waiting] + c[jobs.RetryWait], Note: r.ofItself(r.phase()), Open: c.Open() > 0, Model: r.Model, Feature: r.Feature, Created: r.Created,
	}
	if r.ETA != nil {
		v.ETA = *r.ETA
	}
	if r.Ended != nil {
		v.Ended = *r.Ended
	}
	if v.Bad > 0 || c.Open() > 0 && (r.Workers == 0 || r.Hold != "") {
		v.Level = dashboard.Warn
	}
	return v
}
