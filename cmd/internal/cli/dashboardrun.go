package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/cmd/internal/dashboard"
	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
	"nightshift/worker"
)

// runNamed is the run of the page's address.
func (b *backend) runNamed(ctx context.Context, ref string) (jobs.Run, error) {
	run, err := b.store.Find(ctx, ref)
	var many *jobs.AmbiguousError
	if errors.Is(err, jobs.ErrNoRun) || errors.As(err, &many) {
		return run, fmt.Errorf("%w: %w", dashboard.ErrNotThere, err)
	}
	return run, err
}

// runPage is all there is to say of a run. What it cannot find out it says so.
func (d *dashboardNow) runPage(ctx context.Context, q dashboard.RunQuery) (v dashboard.RunPageView, err error) {
	run, err := d.runNamed(ctx, q.Ref)
	if err != nil {
		return v, err
	}
	now := time.Now()
	s, fleet, err := d.statusOf(ctx, run, now)
	if err != nil {
		return v, err
	}
	v = dashboard.RunPageView{At: now, Run: s.view(now), Why: s.ofItself(s.Hold), Facts: d.runFacts(run, fleet, now), Settings: d.settingViews(run, now), ETA: etaWords(s, now)}
	for st := jobs.Queued; st < jobs.NumStates; st++ {
		if s.counts[st] > 0 {
			v.States = append(v.States, dashboard.CountView{Name: strings.ReplaceAll(st.String(), "_", " "), N: humanize.Comma(s.counts[st])})
		}
	}
	if v.Paused, err = d.pausedItself(ctx, s); err != nil {
		return v, err
	}
	for _, step := range d.stepsFor(ctx, s) {
		v.Do = append(v.Do, dashboard.AdviceView{Level: dashboard.Warn, Text: step.Why + ":", Command: step.Command})
	}
	unknown := func(what string, err error) {
		if err != nil {
			v.Notes = append(v.Notes, what+": "+gemini.Redact(err.Error()))
		}
	}
	unknown("what it cost", d.addCost(ctx, &v, run, now))
	unknown("what rows waited for", d.addWaits(ctx, &v, run))
	unknown("when rows ended", d.addCurve(ctx, &v, run, s.counts, now))
	unknown("which rows failed", d.addFailed(ctx, &v, run, s.counts, q))
	unknown("what happened", d.addRunEvents(ctx, &v, run, now))
	return v, nil
}

// pausedItself holds for a run with open rows that a resume of it would let go on.
func (b *backend) pausedItself(ctx context.Context, s runStatus) (bool, error) {
	if s.counts.Open() == 0 {
		return false, nil
	}
	pauses, err := b.lim.Pauses(ctx)
	return heldItself(pauses, s.ID), err
}

// heldItself says whether one of some pauses is of a run itself, and would be lifted by a
// resume of it.
func heldItself(pauses []limiter.Pause, run string) bool {
	return slices.ContainsFunc(pauses, func(p limiter.Pause) bool {
		return p.Run == run && (p.Reason == scheduler.ReasonOperator || p.Reason == scheduler.ReasonBrake)
	})
}

// statusOf is a run's state with its end, and the workers.
func (b *backend) statusOf(ctx context.Context, run jobs.Run, now time.Time) (s runStatus, fleet []worker.WorkerInfo, err error) {
	if fleet, err = worker.Fleet(ctx, b.rdb); err != nil {
		return s, fleet, err
	}
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return s, fleet, err
	}
	if s, err = b.runStatus(ctx, run, pauses, fleet); err != nil {
		return s, fleet, err
	}
	return s, fleet, b.runEnd(ctx, &s, now)
}

func (b *backend) runFacts(run jobs.Run, fleet []worker.WorkerInfo, now time.Time) [][2]string {
	workers, slots := worker.Serving(b.living(fleet), run.Spec.Lane)
	out := [][2]string{
		{"input", fmt.Sprintf("%s, %s%s", run.Input, rowsOf(run.Rows), besideWords(run))}, {"enqueued", clock(run.Created, now)},
		{"model", run.Spec.Model + " (" + run.Spec.Lane + ")"}, {"class", fmt.Sprintf("%s, %s priority", run.Spec.Class, run.Spec.Priority)}, {"feature", run.Spec.Feature},
	}
	if run.Spec.Tenant != "" {
		out = append(out, [2]string{"tenant", run.Spec.Tenant})
	}
	out = append(out, [2]string{"workers", servedBy(workers, slots, b.living(fleet))})
	if line := plannedLine(run.Planned, now); line != "" {
		out = append(out, [2]string{"expected", line})
	}
	return out
}

// etaWords say when a run will be done, or why nobody knows.
func etaWords(s runStatus, now time.Time) string {
	switch {
	case s.counts.Open() == 0:
		return ""
	case s.ETA != nil:
		return fmt.Sprintf("Done about %s (in %s): as rows came through lately, under the limits that hold now.", clock(*s.ETA, now), ago(s.ETA.Sub(now)))
	case s.Workers == 0:
		return "No end is known: no worker serves it."
	case s.hold.endless(now):
		return "No end is known: nobody can say when what holds it ends."
	}
	return "No end is known yet: too little came through to say how fast it goes."
}

// settingViews are what may change while the run goes on.
func (b *backend) settingViews(run jobs.Run, now time.Time) (out []dashboard.SettingView) {
	for _, s := range runSettings {
		out = append(out, dashboard.SettingView{Name: s.name, Value: s.shown(b.conf, run.Spec, now), From: b.settingFrom(run, s.name, now), Help: strings.ReplaceAll(s.help, "`", "")})
	}
	return out
}

func (b *backend) addCost(ctx context.Context, v *dashboard.RunPageView, run jobs.Run, now time.Time) error {
	r := &runReport{Run: run, From: run.Created, At: now}
	if err := b.reportCost(ctx, r); err != nil || !r.Cost.Known {
		return err
	}
	v.Facts = append(v.Facts, [2]string{"cost", fmt.Sprintf("%s in %s", usd(r.Cost.MicroUSD), plural(int(r.Cost.Calls), "call"))},
		[2]string{"tokens", fmt.Sprintf("%s in, %s out", humanize.Comma(r.Cost.Input), humanize.Comma(r.Cost.Output))})
	return nil
}

func (b *backend) addWaits(ctx context.Context, v *dashboard.RunPageView, run jobs.Run) error {
	r := &runReport{Run: run}
	err := b.reportWaits(ctx, r)
	for _, w := range r.Waits {
		v.Waits = append(v.Waits, dashboard.CountView{Name: w.Cause, N: ago(time.Duration(w.MS) * time.Millisecond)})
	}
	return err
}

// curvePoints is how finely the page shows when rows ended.
const curvePoints = 120

// addCurve draws rows that ended, by their states, over time.
func (d *dashboardNow) addCurve(ctx context.Context, v *dashboard.RunPageView, run jobs.Run, counts jobs.Counts, now time.Time) error {
	if counts.Open() == counts.Total() {
		return nil
	}
	ends, err := d.runsSeen.curve(ctx, d.backend, run, counts)
	if err != nil || len(ends) == 0 {
		return err
	}
	to := now
	if counts.Open() == 0 {
		to = ends[len(ends)-1].At
	} else { // the lines end where the rest of the page says that they are
		ends = append(slices.Clone(ends), jobs.EndPoint{At: now, Ended: counts.Total() - counts.Open(), By: counts})
	}
	step := max(time.Second, to.Sub(run.Created)/curvePoints).Round(time.Second)
	c := &dashboard.ChartView{ID: "over", Title: "Rows that have ended", Of: fmt.Sprintf("of %s, by state", humanize.Comma(counts.Total())), Measure: dashboard.Count, Stack: true, From: run.Created, Step: step}
	c.Lines = endedBy(ends, run.Created, step, to)
	v.Over = c
	return nil
}

// endStates are how rows end that were called or could have been, as lines have them.
var endStates = []struct {
	name string
	of   []jobs.State
}{{"good", []jobs.State{jobs.Done, jobs.Cached}}, {"failed", []jobs.State{jobs.Failed}}, {"blocked", []jobs.State{jobs.Blocked}},
	{"truncated", []jobs.State{jobs.Truncated}}, {"expired", []jobs.State{jobs.Expired}}}

// endedBy is how many rows had ended at the end of each step: a line for each state in
// which any did.
func endedBy(ends []jobs.EndPoint, from time.Time, step time.Duration, to time.Time) (out []dashboard.LineView) {
	for _, s := range endStates {
		l := dashboard.LineView{Name: s.name}
		i, last := 0, int64(0)
		for at := from.Add(step); !at.After(to.Add(step)); at = at.Add(step) {
			for i < len(ends) && !ends[i].At.After(at) {
				last = max(last, in(ends[i].By, s.of))
				i++
			}
			l.Values = append(l.Values, float64(last))
		}
		if last > 0 {
			l.Total = humanize.Comma(last)
			out = append(out, l)
		}
	}
	return out
}

// in is how many rows are in any of some states.
func in(counts jobs.Counts, states []jobs.State) (n int64) {
	for _, s := range states {
		n += counts[s]
	}
	return n
}

// addFailed adds causes and a page of the failed rows.
func (d *dashboardNow) addFailed(ctx context.Context, v *dashboard.RunPageView, run jobs.Run, counts jobs.Counts, q dashboard.RunQuery) error {
	bad := counts.Bad() - counts[jobs.Cancelled]
	if bad == 0 {
		return nil
	}
	causes, err := d.runsSeen.causes(ctx, d.backend, run, counts)
	if err != nil {
		return err
	}
	for _, c := range causes {
		only := orElse(c.Cause, c.State)
		v.Causes = append(v.Causes, dashboard.CauseView{State: c.State, Cause: c.Cause, Only: only, Rows: c.Rows, Example: c.Example, Message: gemini.Redact(c.Message)})
		if q.Cause == "" || q.Cause == only {
			v.Found += int(c.Rows)
		}
		bad -= c.Rows
	}
	if bad != 0 {
		v.Apart = "as of some seconds ago: rows end while they are counted"
	}
	v.Failed, err = d.failedRows(ctx, run, q)
	return err
}

// failedRows is a page of the rows that failed of a cause.
func (b *backend) failedRows(ctx context.Context, run jobs.Run, q dashboard.RunQuery) (out []dashboard.FailedRow, err error) {
	skip := (max(q.Page, 1) - 1) * dashboard.FailedOnPage
	err = b.store.Results(ctx, run.ID, jobs.ResultsOptions{States: badStates}, func(r jobs.Result) error {
		row := failedRowOf(r)
		if q.Cause != "" && orElse(row.Cause, row.State) != q.Cause {
			return nil
		}
		if skip--; skip >= 0 {
			return nil
		}
		if out = append(out, row); len(out) == dashboard.FailedOnPage {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out, err
}

// mostBody is how many bytes of a row the page shows.
const mostBody = 8 << 10

func failedRowOf(r jobs.Result) dashboard.FailedRow {
	row := dashboard.FailedRow{Row: r.Row, State: r.Status, Attempts: r.Attempts, At: r.Finished, Fields: shownBody(string(indented(r.Fields))), Output: shownBody(cmp.Or(r.Raw, r.Output))}
	if r.Error != nil {
		row.Cause, row.Status, row.Message = r.Error.Cause, r.Error.Status, gemini.Redact(r.Error.Message)
	}
	return row
}

func indented(raw json.RawMessage) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if len(raw) == 0 || enc.Encode(raw) != nil {
		return raw
	}
	return json.RawMessage(strings.TrimSpace(b.String()))
}

// shownBody has no credentials, and no more than a page has room for.
func shownBody(s string) string {
	s = gemini.Redact(s)
	if len(s) <= mostBody {
		return s
	}
	return strings.ToValidUTF8(s[:mostBody], "") + fmt.Sprintf("… (%s bytes in all; nightshift results has the whole)", humanize.Comma(int64(len(s))))
}

// addRunEvents are what happened to the run and to everybody while it went on.
func (d *dashboardNow) addRunEvents(ctx context.Context, v *dashboard.RunPageView, run jobs.Run, now time.Time) error {
	r := &runReport{Run: run, From: limiter.Later(run.Created, now.Add(-eventsFor)), At: now}
	list, err := d.events.since(ctx, r.From.Add(-time.Second), now, d.lim.Events)
	if err != nil {
		return err
	}
	if err := d.addEvents(ctx, r, list); err != nil {
		return err
	}
	for _, e := range slices.Backward(r.Events[max(0, len(r.Events)-mostEvents):]) {
		x := eventView(e.Event)
		if e.Times > 1 {
			x.Text += fmt.Sprintf(" (%d times)", e.Times)
		}
		v.Events = append(v.Events, x)
	}
	return nil
}
