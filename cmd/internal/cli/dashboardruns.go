package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// runList is a page of the runs.
func (d *dashboardNow) runList(ctx context.Context, q dashboard.RunsQuery) (v dashboard.RunsView, err error) {
	o, err := d.read(ctx, time.Now())
	if err != nil {
		return v, err
	}
	v.All = len(o.Runs)
	var found []runStatus
	for _, r := range o.Runs {
		if r.counts.Open() > 0 {
			v.Open++
		}
		if r.is(q.State) && r.has(q.Text) {
			found = append(found, r)
		}
	}
	v.Found = len(found)
	o.Runs = onPage(found, q.Page, dashboard.RunsOnList)
	lanes := d.lanesOf(o.Runs)
	if o.Lanes, err = d.lim.States(ctx, lanes); err != nil {
		return v, err
	}
	var models []string
	for _, l := range lanes {
		models = append(models, l.Model)
	}
	if o.samples, err = gemini.ReadMeterOf(ctx, d.rdb, d.conf.scope(), gemini.StepMinute, o.lately(), o.At, models...); err != nil {
		return v, err
	}
	if err := d.addEnds(ctx, o.Runs); err != nil {
		return v, err
	}
	o.estimate()
	for _, r := range o.Runs {
		v.Runs = append(v.Runs, o.runView(r))
	}
	return v, nil
}

// addEnds adds when those of the runs ended that have.
func (b *backend) addEnds(ctx context.Context, runs []runStatus) error {
	for i := range runs {
		if r := &runs[i]; r.counts.Open() == 0 && r.counts.Total() > 0 {
			ended, err := b.store.Ended(ctx, jobs.Run{ID: r.ID, Updated: r.updated})
			if err != nil {
				return err
			}
			r.Ended = &ended
		}
	}
	return nil
}

// runsAt are the runs by their nodes ("run/ID"), where one of a run is among these.
func (b *backend) runsAt(ctx context.Context, nodes []string) (map[string]jobs.Run, error) {
	if !slices.ContainsFunc(nodes, func(n string) bool { return strings.HasPrefix(n, "run/") }) {
		return nil, nil
	}
	runs, err := b.store.Runs(ctx)
	at := map[string]jobs.Run{}
	for _, r := range runs {
		at["run/"+r.ID] = r
	}
	return at, err
}

// lanesOf are those that open runs of our project go by.
func (b *backend) lanesOf(runs []runStatus) (out []limiter.Lane) {
	for _, r := range runs {
		l, err := limiter.ParseLane(r.lane)
		if err == nil && r.counts.Open() > 0 && l.Scope() == b.conf.scope() && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// is says whether the run is in one of the dashboard's states of runs.
func (s runStatus) is(state string) bool {
	switch state {
	case "open":
		return s.counts.Open() > 0
	case "held":
		return s.counts.Open() > 0 && (s.Hold != "" || s.Workers == 0)
	case "failed":
		return s.counts.Bad() > 0
	case "ended":
		return s.counts.Open() == 0
	}
	return true
}

func (s runStatus) has(text string) bool {
	return strings.Contains(strings.ToLower(strings.Join([]string{s.ID, s.Name, s.Model, s.Class, s.Feature}, " ")), strings.ToLower(text))
}
