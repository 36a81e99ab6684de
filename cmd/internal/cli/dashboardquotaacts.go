package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// tryQuota does what `nightshift quota set` and `unset` do with a form's target, name
// and value, or says what they would.
func (b *backend) tryQuota(ctx context.Context, by dashboard.Viewer, form url.Values, unset, dry bool) (changes []quotaChange, err error) {
	var printed strings.Builder
	o := &setOptions{factory: b.asCommand(by, &printed).as("json"), Target: strings.TrimSpace(form.Get("target")), By: by.By(), Reason: strings.TrimSpace(form.Get("reason")), DryRun: dry, Unset: unset}
	name, value := strings.TrimSpace(form.Get("name")), strings.TrimSpace(form.Get("value"))
	change := o.setting
	if o.Values = []string{name + "=" + value}; unset {
		o.Values, change = []string{name}, o.unsetting
	}
	if o.Target == "" || name == "" {
		return nil, usageErrorf("the form names no target or no limit; nothing was changed")
	}
	var notes strings.Builder
	o.Err = &notes
	if err := o.change(ctx, b, change); err != nil {
		return nil, err
	}
	return changes, json.Unmarshal([]byte(printed.String()), &changes)
}

// changeWords say what changes, from what to what.
func changeWords(changes []quotaChange) (before, after, both string) {
	var was, is, all []string
	for _, c := range changes {
		was, is = append(was, c.Name+" "+c.From), append(is, c.Name+" "+c.To)
		line := fmt.Sprintf("%s of %s: %s → %s", c.Name, shownTarget(c.Node), c.From, c.To)
		var notes []string
		if c.Configured != c.From && c.Configured != "" {
			notes = append(notes, "configured "+c.Configured)
		}
		if c.Used != nil {
			notes = append(notes, "used now "+valueText(limiter.Override{Name: c.Name, Value: *c.Used}))
		}
		if len(notes) > 0 {
			line += " (" + strings.Join(notes, ", ") + ")"
		}
		all = append(all, line)
	}
	return strings.Join(was, ", "), strings.Join(is, ", "), strings.Join(all, "; ")
}

// quotaAction changes a limit, a share or a weight, or takes such a change back.
func (b *backend) quotaAction(name, title string, unset bool) dashboard.Action {
	return dashboard.Action{
		Name: name, Title: title,
		Preview: func(ctx context.Context, by dashboard.Viewer, form url.Values) (string, error) {
			changes, err := b.tryQuota(ctx, by, form, unset, true)
			if err != nil {
				return "", err
			}
			_, _, both := changeWords(changes)
			if both == "" {
				return "Nothing changes now, this value holds already. Set it all the same, so that it stays when the configuration changes?", nil
			}
			return title + " " + both + "? Every process follows within a second, and restarts keep it.", nil
		},
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (out dashboard.Outcome, err error) {
			out.Target = strings.TrimSpace(form.Get("target"))
			changes, err := b.tryQuota(ctx, by, form, unset, false)
			if err != nil {
				return out, err
			}
			out.Before, out.After, out.Said = changeWords(changes)
			switch {
			case out.Said == "":
				out.Said = "It held already; nothing changes now."
			case unset:
				out.Said += ". What is configured holds again."
			default:
				out.Said += fmt.Sprintf(". To undo it: nightshift quota unset %s %s", shellWord(out.Target), form.Get("name"))
			}
			return out, nil
		},
	}
}

// rampOf finds the ramp that a form is about.
func (b *backend) rampOf(ctx context.Context, form url.Values) (gemini.Ramp, error) {
	scope, err := gemini.ParseRampScope(strings.TrimSpace(form.Get("target")))
	if err != nil {
		return gemini.Ramp{}, usageErrorf("SCOPE %v", err)
	}
	if scope, err = b.keyScope(ctx, scope); err != nil {
		return gemini.Ramp{}, err
	}
	return b.ramps("").Find(ctx, scope, b.conf.realModel(form.Get("from")))
}

// rampAction holds a ramp, lets it go on, or takes it back.
func (b *backend) rampAction(name, title, question string, do func(context.Context, *scheduler.Ramps, gemini.Ramp, string) (gemini.Ramp, error), said string) dashboard.Action {
	a := dashboard.Action{
		Name: name, Title: title,
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (out dashboard.Outcome, err error) {
			r, err := b.rampOf(ctx, form)
			if err != nil {
				return out, err
			}
			out.Target, out.Before = "ramp "+rampTitle(r), rampNow(r)
			if r, err = do(ctx, b.ramps(by.By()), r, strings.TrimSpace(form.Get("reason"))); err != nil {
				return out, err
			}
			out.After, out.Said = rampNow(r), fmt.Sprintf("%s %s: %s.", rampTitle(r), said, rampNow(r))
			return out, nil
		},
	}
	if question != "" {
		a.Preview = func(ctx context.Context, _ dashboard.Viewer, form url.Values) (string, error) {
			r, err := b.rampOf(ctx, form)
			return fmt.Sprintf(question, rampTitle(r), limiter.Share(r.SharePPM()), r.From), err
		}
	}
	return a
}

func rampNow(r gemini.Ramp) string {
	return fmt.Sprintf("%s of the callers, %s", limiter.Share(r.SharePPM()), rampState(r))
}

func (b *backend) rampActions() []dashboard.Action {
	return []dashboard.Action{
		b.rampStartAction(),
		b.rampAction("ramp-hold", "Hold", "", func(ctx context.Context, x *scheduler.Ramps, r gemini.Ramp, why string) (gemini.Ramp, error) {
			return x.Hold(ctx, r, why)
		}, "is held"),
		b.rampAction("ramp-resume", "Let it go on", "", func(ctx context.Context, x *scheduler.Ramps, r gemini.Ramp, _ string) (gemini.Ramp, error) {
			return x.Resume(ctx, r)
		}, "goes on"),
		b.rampAction("ramp-rollback", "Roll back", "Roll %s back from %s? Within a second all calls go to %s again.", func(ctx context.Context, x *scheduler.Ramps, r gemini.Ramp, why string) (gemini.Ramp, error) {
			return x.Rollback(ctx, r, why)
		}, "is rolled back"),
	}
}

// rampStartAction begins to move calls to another model, as `nightshift ramp start` does.
func (b *backend) rampStartAction() dashboard.Action {
	read := func(ctx context.Context, by dashboard.Viewer, form url.Values, said *strings.Builder) (*rampStartOptions, gemini.Ramp, error) {
		o := &rampStartOptions{rampOptions: rampOptions{factory: b.asCommand(by, said), Scope: strings.TrimSpace(form.Get("target")), From: strings.TrimSpace(form.Get("from"))},
			To: strings.TrimSpace(form.Get("to")), Steps: orElse(strings.TrimSpace(form.Get("steps")), defaultSteps), Keep: string(gemini.StickyConversation)}
		var err error
		if o.Over, err = time.ParseDuration(strings.TrimSpace(form.Get("over"))); err != nil {
			return o, gemini.Ramp{}, usageErrorf("--over %s: want a time, as in 2h", form.Get("over"))
		}
		r, err := o.ramp()
		if err == nil {
			r.Scope, err = b.keyScope(ctx, r.Scope)
		}
		if err == nil {
			err = b.checkRamp(ctx, b.ramps(by.By()), &r)
		}
		return o, r, err
	}
	return dashboard.Action{
		Name: "ramp-start", Title: "Start the ramp",
		Preview: func(ctx context.Context, by dashboard.Viewer, form url.Values) (string, error) {
			o, r, err := read(ctx, by, form, &strings.Builder{})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Move calls of %s from %s to %s? It begins at once with %s of the callers, and all are moved after %s of good time.", r.Scope, r.From, r.To,
				limiter.Share(r.Steps[0]), o.Over), nil
		},
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (out dashboard.Outcome, err error) {
			var said strings.Builder
			o, r, err := read(ctx, by, form, &said)
			if err != nil {
				return out, err
			}
			out.Target, out.Before = "ramp "+rampTitle(r), "all calls go to "+r.From
			if err := o.start(ctx, b, r); err != nil {
				return out, err
			}
			out.After = limiter.Share(r.Steps[0]) + " of the callers go to " + r.To
			out.Said = oneSentence(said.String())
			return out, nil
		},
	}
}

// dashboardSteer is what can be changed of the quotas.
func (d *dashboardNow) dashboardSteer(ctx context.Context) (v dashboard.SteerView, err error) {
	now := time.Now()
	o, _, err := d.readUsers(ctx, now)
	if err != nil {
		return v, err
	}
	for _, c := range d.conf.classTable() {
		v.Classes = append(v.Classes, o.classView(c))
	}
	for _, gather := range []func() error{
		func() (err error) { v.Models, err = d.models(ctx); return err },
		func() error { return d.addOverrides(ctx, &v) },
		func() error { return d.addCaps(ctx, &v, now) },
		func() error { return d.addRamps(ctx, &v) },
	} {
		if err := gather(); err != nil {
			return v, err
		}
	}
	return v, nil
}

func (b *backend) addOverrides(ctx context.Context, v *dashboard.SteerView) error {
	file, err := b.lim.Configured(ctx)
	if err != nil {
		return err
	}
	v.Targets = append(targetsOf(file), limiter.ProjectKind)
	list, err := b.lim.Overrides(ctx)
	v.Set = len(list)
	slices.SortStableFunc(list, func(a, b limiter.Override) int { return b.At.Compare(a.At) })
	list = list[:min(len(list), dashboard.OverridesOnPage)]
	var nodes []string
	for _, x := range list {
		nodes = append(nodes, x.Node)
	}
	runs, runsErr := b.runsAt(ctx, nodes)
	for _, x := range list {
		v.Overrides = append(v.Overrides, dashboard.OverrideView{
			Target: shownTarget(x.Node), Run: runs[x.Node].Spec.Name, Name: x.Name, Value: valueText(x), Configured: valueText(file.Value(x.Node, x.Name)), By: x.By, Reason: x.Reason, At: x.At,
			Provider: x.Source == limiter.SourceProvider, Stop: x.Name == "rpm" && x.Reason == stopReason,
		})
	}
	return firstError(err, runsErr)
}

func (b *backend) addCaps(ctx context.Context, v *dashboard.SteerView, now time.Time) error {
	ends, err := b.capsNow(ctx, now)
	for _, c := range ends.caps[:min(len(ends.caps), dashboard.OverridesOnPage)] {
		x := dashboard.CapView{Target: shownTarget(c.Node), Run: ends.runs[c.Node].Spec.Name, Name: c.Name, Cap: c.Amount, Spent: c.Used - c.Held, Held: c.Held, AtEnd: c.AtEnd}
		switch {
		case len(c.Stopped) > 0:
			x.Level, x.Note = dashboard.Bad, "stops "+strings.Join(c.Stopped, ", ")
		case !c.Reached.IsZero():
			x.Level, x.Note = dashboard.Warn, "reached about "+clock(c.Reached, now)
		default:
			x.Note = ends.words(c, now)
		}
		v.Caps = append(v.Caps, x)
	}
	return err
}

func (b *backend) addRamps(ctx context.Context, v *dashboard.SteerView) error {
	all, err := b.ramps("").Store.Ramps(ctx)
	for _, r := range all {
		x := dashboard.RampView{Scope: r.Scope.String(), From: r.From, To: r.To, Share: limiter.Share(r.SharePPM()), State: rampState(r), Why: r.Why, Active: r.Active(), Held: r.Phase == gemini.RampHeld}
		if r.Moved > 0 {
			x.State += fmt.Sprintf(", %s calls moved", humanize.Comma(r.Moved))
		}
		v.Ramps = append(v.Ramps, x)
	}
	return err
}
