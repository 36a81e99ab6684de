package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"nightshift/limiter"
)

// Windows are the work windows of classes: outside of them a class is closed or
// has a share only, whoever enqueued its work.
type Windows struct {
	Control *Control
	Of      map[string]Window // by class
	Owner   string            // names the leader in pauses
	// Ramp is how long a share that grows takes from what it was to what it is, so
	// that a window does not open with a burst. 0 means WindowRamp, less is none.
	Ramp time.Duration

	last map[string]int64 // share by class when it was last put into force; only Apply's
}

// WindowRamp is the usual time in which a window opens.
const WindowRamp = 2 * time.Minute

// opens is the ramp of a share that grew lately; ok is false when there is none.
func (w *Windows) opens(class string, now time.Time) (s share, ok bool) {
	ramp := cmp.Or(w.Ramp, WindowRamp)
	to, _ := w.Of[class].At(now)
	from, since := w.Of[class].before(now, ramp)
	if since.IsZero() || from >= to || !now.Before(since.Add(ramp)) {
		return share{}, false
	}
	return share{from: from, to: to, begin: since, end: since.Add(ramp)}, true
}

// Check finds a class that does not exist or that people wait for.
func (w *Windows) Check() error {
	for _, name := range slices.Sorted(maps.Keys(w.Of)) {
		k, ok := w.Control.class(name)
		if !ok {
			return &ConfigError{"windows." + name, fmt.Sprintf("there is no class %q", name)}
		}
		if !k.Pausable {
			return &ConfigError{"windows." + name, "the class is not pausable: people wait for it"}
		}
	}
	return nil
}

// Apply puts into force what the windows say now, for as long as a lease. A
// class that no longer has a window is set free.
func (w *Windows) Apply(ctx context.Context) error {
	now, err := w.Control.now(ctx)
	if err != nil {
		return err
	}
	var pauses []limiter.Pause
	var throttles []limiter.Throttle
	shares := map[string]int64{}
	for _, name := range slices.Sorted(maps.Keys(w.Of)) {
		ppm, until := w.Of[name].At(now)
		shares[name] = ppm
		p := limiter.Pause{Class: name, Reason: ReasonWindow, Owner: w.Owner, Until: now.Add(PauseLease), Detail: w.detail(name, until)}
		ramp, opens := w.opens(name, now)
		switch {
		case ppm == 0:
			pauses = append(pauses, p)
		case opens:
			throttles = append(throttles, ramp.throttle(name, p))
		case ppm < million:
			throttles = append(throttles, share{to: ppm}.throttle(name, p))
		}
	}
	inForce, err := w.keepSince(ctx, pauses, throttles)
	if err != nil {
		return err
	}
	if err := w.Control.enforce(ctx, ReasonWindow, pauses, throttles); err != nil {
		return err
	}
	w.tell(ctx, shares, inForce, now)
	return nil
}

func (w *Windows) detail(class string, until time.Time) string {
	s := "work window " + w.Of[class].Text
	if !until.IsZero() {
		s += ", changes at " + until.In(w.Of[class].zone).Format("15:04 MST")
	}
	return s
}

// keepSince leaves the beginning of what is only renewed as it was, and names
// the classes of which something is.
func (w *Windows) keepSince(ctx context.Context, pauses []limiter.Pause, throttles []limiter.Throttle) (map[string]bool, error) {
	renewed := map[string]bool{}
	oldPauses, err := w.Control.Limiter.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	oldThrottles, err := w.Control.Limiter.Throttles(ctx)
	if err != nil {
		return nil, err
	}
	for i, p := range pauses {
		for _, o := range oldPauses {
			if o.Reason == ReasonWindow && o.Class == p.Class {
				pauses[i].Since, renewed[p.Class] = o.Since, true
			}
		}
	}
	for i, t := range throttles {
		for _, o := range oldThrottles {
			if o.Reason == ReasonWindow && o.Class == t.Class && o.ToPPM == t.ToPPM {
				throttles[i].Since, renewed[t.Class] = o.Since, true
			}
		}
	}
	return renewed, nil
}

// tell notes what changed since the last time. The first time that is what was
// not in force already, by the leader before.
func (w *Windows) tell(ctx context.Context, shares map[string]int64, inForce map[string]bool, now time.Time) {
	for name, ppm := range shares {
		before, known := w.last[name]
		if !known {
			before = million
			if inForce[name] {
				before = ppm
			}
		}
		if before == ppm {
			continue
		}
		_, until := w.Of[name].At(now)
		kind, text := limiter.EventThrottle, fmt.Sprintf("class %s has %s of the limits by its %s", name, limiter.Share(ppm), w.detail(name, until))
		switch ppm {
		case 0:
			kind, text = limiter.EventPause, fmt.Sprintf("class %s is closed by its %s", name, w.detail(name, until))
		case million:
			kind, text = limiter.EventResume, fmt.Sprintf("class %s is open by its %s", name, w.detail(name, until))
		}
		if ramp, opens := w.opens(name, now); opens {
			text += fmt.Sprintf(", little by little until %s", ramp.end.In(w.Of[name].zone).Format("15:04:05 MST"))
		}
		w.Control.note(ctx, kind, Target{Class: name}, w.Owner, text)
	}
	w.last = shares
}
