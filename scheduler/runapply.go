package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// Why a run's own settings stand over the limits: what is set with these reasons is
// RunWatch's to change and to take back. What a person sets of the same replaces it.
const (
	forWindow = "window of the run"
	forRamp   = "ramp of the run"
	forCap    = "max-cost of the run"
	forWeight = "weight of the run"
)

// runOwner is who changed several of them, for those who see it.
const runOwner = limiter.ByRun + "settings"

// settingBy is who set them, by the reason.
var settingBy = map[string]string{forWindow: limiter.ByRun + "window", forRamp: limiter.ByRun + "ramp", forCap: limiter.ByRun + "cap", forWeight: limiter.ByRun + "weight"}

// ours tells whether an override is of a run's settings.
func oursOver(o limiter.Override) bool {
	return o.Reason == forWindow || o.Reason == forRamp || o.Reason == forCap || o.Reason == forWeight
}

// overrideRun is the run that an override is of; "" when it is of no single one.
func overrideRun(o limiter.Override) string {
	node := o.Node
	if node == limiter.NodeWeights {
		node = o.Name
	}
	id, is := strings.CutPrefix(node, "run/")
	if !is || id == "*" {
		return ""
	}
	return id
}

// settingsOf are the overrides that a run's settings ask for. A cap stays when the run
// has ended: it counts a whole life, and a retry is part of it.
func settingsOf(f *followed, lane limiter.Limits) (out []limiter.Override) {
	node, s := "run/"+f.ID, f.Spec.Steer
	if s.MaxCost > 0 {
		out = append(out, limiter.Override{Node: node, Name: "usd_total", Value: s.MaxCost, By: settingBy[forCap], Reason: forCap})
	}
	if f.ended() {
		return out
	}
	if s.Weight > 1 {
		out = append(out, limiter.Override{Node: limiter.NodeWeights, Name: node, Value: s.Weight, By: settingBy[forWeight], Reason: forWeight})
	}
	if n := windowLimit(f, lane); n > 0 {
		why := forWindow
		if f.starts < million {
			why = forRamp
		}
		out = append(out, limiter.Override{Node: node, Name: "rpm", Value: n, By: settingBy[why], Reason: why})
	}
	return out
}

// apply brings limits and pauses into line with what the runs' settings ask for now.
func (w *RunWatch) apply(ctx context.Context, runs []*followed, now time.Time) error {
	c := w.Control
	conf, err := c.Limiter.Effective(ctx)
	if err != nil {
		return err
	}
	have, err := c.Limiter.Overrides(ctx)
	if err != nil {
		return err
	}
	ch := overrideChange(runs, conf, have)
	gone, err := w.gone(ctx, have, runs, now)
	if err != nil {
		return err
	}
	ch.Unset = append(ch.Unset, gone...)
	if len(ch.Set)+len(ch.Unset) > 0 {
		err = c.Limiter.Override(ctx, ch)
	}
	return errors.Join(err, w.keepPauses(ctx, runs))
}

// overrideChange is what has to be set and taken back so that the overrides of
// these runs are what their settings ask for.
func overrideChange(runs []*followed, conf limiter.Config, have []limiter.Override) (ch limiter.Change) {
	var unset []string
	for _, f := range runs {
		want := settingsOf(f, laneLimits(conf, f.Run))
		for _, o := range want {
			at := slices.IndexFunc(have, func(h limiter.Override) bool { return sameOverride(h, o) })
			if at < 0 || oursOver(have[at]) && have[at].Value != o.Value {
				ch.Set = append(ch.Set, o)
			}
		}
		for _, h := range have {
			if overrideRun(h) == f.ID && oursOver(h) && !slices.ContainsFunc(want, func(o limiter.Override) bool { return sameOverride(h, o) }) {
				ch.Unset, unset = append(ch.Unset, limiter.Override{Node: h.Node, Name: h.Name}), append(unset, h.Reason)
			}
		}
	}
	if ch.By = runOwner; len(slices.Compact(unset)) == 1 {
		ch.By = settingBy[unset[0]]
	}
	return ch
}

func sameOverride(a, b limiter.Override) bool { return a.Node == b.Node && a.Name == b.Name }

func laneLimits(conf limiter.Config, r jobs.Run) limiter.Limits {
	for _, l := range conf.Lanes {
		if l.Lane.String() == r.Spec.Lane {
			return l.Limits
		}
	}
	return limiter.Limits{}
}

// tidyEvery is how often settings of runs that are gone are looked for.
const tidyEvery = time.Minute

// gone are the overrides of settings of runs that were purged.
func (w *RunWatch) gone(ctx context.Context, have []limiter.Override, runs []*followed, now time.Time) (out []limiter.Override, err error) {
	if now.Sub(w.tidied).Abs() < tidyEvery {
		return nil, nil
	}
	w.tidied = now
	for _, h := range have {
		id := overrideRun(h)
		if id == "" || !oursOver(h) || slices.ContainsFunc(runs, func(f *followed) bool { return f.ID == id }) {
			continue
		}
		_, err := w.Control.Store.Load(ctx, id)
		switch {
		case errors.Is(err, jobs.ErrNoRun):
			out = append(out, limiter.Override{Node: h.Node, Name: h.Name})
		case err != nil:
			return out, err
		}
	}
	return out, nil
}

// keepPauses closes the runs that are outside their windows or at their caps, and opens
// those that are not. What a person paused is left alone.
func (w *RunWatch) keepPauses(ctx context.Context, runs []*followed) error {
	have, err := w.Control.Limiter.Pauses(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range runs {
		window, closed := w.windowPause(f)
		capped, full := w.capPause(f)
		errs = append(errs, w.hold(ctx, have, window, closed && !f.ended()), w.hold(ctx, have, capped, full && !f.ended()))
		errs = append(errs, w.noteSlow(ctx, f))
		if !f.ended() {
			w.tellWindow(ctx, f)
		}
	}
	return errors.Join(errs...)
}

// hold sets, renews or lifts one pause of a run.
func (w *RunWatch) hold(ctx context.Context, have []limiter.Pause, p limiter.Pause, holds bool) error {
	at := slices.IndexFunc(have, func(h limiter.Pause) bool { return h.Run == p.Run && h.Reason == p.Reason })
	switch {
	case !holds && at < 0:
		return nil
	case !holds:
		return w.Control.Limiter.Lift(ctx, p, p.Reason)
	case at >= 0:
		if p.Since = have[at].Since; have[at].Owner == p.Owner && have[at].Detail == p.Detail && fresh(have[at].Until, p.Until) {
			return nil
		}
	}
	return w.Control.Limiter.Pause(ctx, p)
}

// Apply puts one run's settings into force at once: when it is made, before its
// first row can begin, and when somebody changes them. RunWatch keeps them so.
func (w *RunWatch) Apply(ctx context.Context, run jobs.Run) error {
	now, err := w.Control.now(ctx)
	if err != nil {
		return err
	}
	marks, err := w.marks(ctx)
	if err != nil {
		return err
	}
	f := &followed{Run: run, now: now, mark: marks[run.ID].copy(), was: marks[run.ID]}
	if f.counts, err = w.Control.Store.Counts(ctx, run.ID); err != nil {
		return err
	}
	if f.mark.Cap != run.Spec.Steer.MaxCost {
		f.mark.Cap, f.mark.Used = 0, 0 // whether the new one is reached is seen at the next look
	}
	w.readTable(f)
	w.tidied = now
	return errors.Join(w.apply(ctx, []*followed{f}, now), w.keepMarks(ctx, []*followed{f}))
}
