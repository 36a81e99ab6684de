package scheduler

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"time"

	"nightshift/limiter"

	"github.com/redis/go-redis/v9"
)

// tableNow is a timetable and what it says until its next change.
type tableNow struct {
	Window
	rate, next Rate
	from       time.Time // since when this is known
	until      time.Time // zero: for ever
}

//go:embed lua/tellrate.lua
var tellRateLua string

var tellRateScript = redis.NewScript(tellRateLua)

// mostTables bounds how many timetables are kept in memory.
const mostTables = 10_000

// readTable finds what the run's timetable says now. One that cannot be read (it
// was checked when it was set) holds nobody back.
func (w *RunWatch) readTable(f *followed) {
	f.rate = Rate{PPM: million}
	f.starts, _ = f.Spec.Steer.RampShare(f.now)
	if f.Spec.Steer.Window == "" {
		return
	}
	t, err := w.table(f)
	if err != nil {
		w.Control.log().Warn("a run's window cannot be read and is not kept", "run", f.ID, "err", err)
		return
	}
	f.table, f.rate, f.next, f.until = t.Window, t.rate, t.next, t.until
	ramp := cmp.Or(w.Ramp, WindowRamp)
	if from, since := t.before(f.now, ramp); !since.IsZero() && from < f.rate.PPM && f.rate.PerMinute == 0 {
		f.ramp = rampStep(from, f.rate.PPM, f.now.Sub(since), ramp)
	}
}

func (w *RunWatch) table(f *followed) (tableNow, error) {
	key := f.Spec.Steer.Window + "\n" + f.Spec.Steer.Zone
	if t, ok := w.tables[key]; ok && !f.now.Before(t.from) && (t.until.IsZero() || f.now.Before(t.until)) {
		return t, nil
	}
	win, err := ParseTimetable("window", f.Spec.Steer.Window, w.zone(f.Run))
	if err != nil {
		return tableNow{}, err
	}
	t := tableNow{Window: win, from: f.now}
	t.rate, t.until = win.RateAt(f.now)
	t.next = win.rate(t.until)
	if w.tables == nil || len(w.tables) >= mostTables {
		w.tables = map[string]tableNow{}
	}
	w.tables[key] = t
	return t, nil
}

// rampSteps is in how many steps a share grows: each is a change of limits.
const rampSteps = 4

// rampStep is the share of a time after it began to grow; 0 once it has grown.
func rampStep(from, to int64, since, ramp time.Duration) int64 {
	step := int64(since*rampSteps/ramp) + 1
	if step > rampSteps {
		return 0
	}
	return from + (to-from)*step/(rampSteps+1)
}

// windowPause closes a run outside its window, for as long as a lease.
func (w *RunWatch) windowPause(f *followed) (limiter.Pause, bool) {
	p := limiter.Pause{Run: f.ID, Reason: ReasonWindow, Owner: w.Owner, Until: f.now.Add(PauseLease), Detail: w.windowText(f)}
	return p, f.rate.Closed()
}

// noteSlow remembers from when to when a run's window lets it have a part only, for what
// its rows waited: as long as a lease, and said again in time.
func (w *RunWatch) noteSlow(ctx context.Context, f *followed) error {
	until, was := w.slow[f.ID]
	switch is := !f.ended() && !f.rate.Closed() && !f.rate.Full(); {
	case !is && !was:
		return nil
	case !is:
		delete(w.slow, f.ID)
		return w.Control.Limiter.RunSlowed(ctx, f.ID, ReasonWindow, 0)
	case until.Sub(f.now) > renewWith && until.Sub(f.now) <= PauseLease:
		return nil
	}
	if w.slow == nil {
		w.slow = map[string]time.Time{}
	}
	w.slow[f.ID] = f.now.Add(PauseLease)
	return w.Control.Limiter.RunSlowed(ctx, f.ID, ReasonWindow, PauseLease)
}

// windowText says what a run's window lets it have, and until when.
func (w *RunWatch) windowText(f *followed) string {
	s := "window " + f.Spec.Steer.Window
	if !f.until.IsZero() {
		s += fmt.Sprintf(", %s from %s on", f.next, f.table.Clock(f.until, f.now))
	}
	return s
}

// share is the part in ppm that the run has now of the lane's rate: its timetable's,
// of which it has less while it grows.
func (f *followed) share() int64 {
	share := f.rate.PPM
	if f.ramp > 0 {
		share = f.ramp
	}
	return share * f.starts / million
}

// windowLimit is the most calls a minute that the run's share lets it have; 0 for
// all of them. A share of tokens is taken as calls of the size that the run was
// planned with: a limit of tokens would refuse rows for good that are larger than it.
func windowLimit(f *followed, lane limiter.Limits) int64 {
	share := f.share()
	switch {
	case f.rate.PerMinute > 0:
		return max(f.rate.PerMinute*f.starts/million, 1)
	case share == million || share == 0:
		return 0
	}
	if all := callsAMinute(f, lane); all > 0 {
		return max(all*share/million, 1)
	}
	return 0
}

// callsAMinute is how many of the run's calls the lane's limits let through; 0 where
// nothing limits them.
func callsAMinute(f *followed, lane limiter.Limits) (least int64) {
	in, out := rowTokens(f)
	for _, x := range []struct{ amount, each int64 }{{lane.RPM, 1}, {lane.InputTPM, in}, {lane.OutputTPM, out}, {lane.TotalTPM, in + out}} {
		if x.amount <= 0 || x.amount >= limiter.Unlimited {
			continue
		}
		if n := max(x.amount/x.each, 1); least == 0 || n < least {
			least = n
		}
	}
	return least
}

// rowTokens is what a row of the run takes on average; a guess where nobody planned.
func rowTokens(f *followed) (in, out int64) {
	if p := f.Planned; p != nil && p.Rows > 0 {
		return max(p.Input.Mid/p.Rows, 1), max(p.Output.Mid/p.Rows, 1)
	}
	return 1000, 500
}

// tellWindow notes that the window has changed what the run may have.
func (w *RunWatch) tellWindow(ctx context.Context, f *followed) {
	was, is := f.mark.Rate, f.rate.String()
	if f.Spec.Steer.Window == "" {
		is = ""
	}
	full := Rate{PPM: million}.String()
	if f.mark.Rate = is; cmp.Or(was, full) == cmp.Or(is, full) {
		return
	}
	first, err := tellRateScript.Run(ctx, w.Control.Redis, []string{scopeKey(w.Control.Scope, "rates")}, f.ID, cmp.Or(is, full), cmp.Or(was, full)).Int()
	if err != nil {
		w.Control.log().Warn("whether a run's window was told is not known", "run", f.ID, "err", err)
	} else if first == 0 { // another process that saw it too
		return
	}
	what := "run " + f.Title()
	switch {
	case is == "":
		w.Control.note(ctx, limiter.EventResume, Target{Run: f.ID}, w.Owner, what+" has no window any more and may work at any time")
	case f.rate.Closed():
		w.Control.note(ctx, limiter.EventPause, Target{Run: f.ID}, w.Owner, what+" is closed by its "+w.windowText(f))
	case f.rate.Full():
		w.Control.note(ctx, limiter.EventResume, Target{Run: f.ID}, w.Owner, what+" is open by its "+w.windowText(f))
	default:
		w.Control.note(ctx, limiter.EventThrottle, Target{Run: f.ID}, w.Owner, fmt.Sprintf("%s has %s by its %s", what, is, w.windowText(f)))
	}
}
