package scheduler

import (
	"context"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

// AlertReader reads what alerts are judged by from the shared state. It belongs to one
// AlertWatch.
type AlertReader struct {
	Control *Control
	Over    time.Duration // AlertRules.Over

	runs    runTally
	usual   map[string]float64
	usualAt time.Time
}

const (
	usualOver  = 7 * 24 * time.Hour // what the usual is taken from
	usualEvery = 10 * time.Minute   // and how often
	usualLeast = 500                // requests, of more than one hour: fewer have no usual size
)

// Facts implements AlertSource.
func (r *AlertReader) Facts(ctx context.Context, now time.Time) (f AlertFacts, err error) {
	c := r.Control
	over := AlertRules{Over: r.Over}.orDefault().Over
	f = AlertFacts{At: now, Classes: c.Classes}
	for _, read := range []func() error{
		func() (err error) {
			f.Lately, err = gemini.ReadMeter(ctx, c.Redis, c.Scope, gemini.StepMinute, now.Add(-over).Truncate(time.Minute), now)
			return err
		},
		func() (err error) { f.Usual, err = r.usually(ctx, now); return err },
		func() (err error) { f.Pauses, err = c.Limiter.Pauses(ctx); return err },
		func() (err error) { f.Throttles, err = c.Limiter.Throttles(ctx); return err },
		func() (err error) { f.Breakers, err = c.Limiter.Breakers(ctx); return err },
		func() (err error) { f.Caps, err = c.Spend(ctx); return err },
		func() (err error) { f.Bypass, err = c.Bypass(ctx); return err },
		func() (err error) { f.Lanes, err = c.laneStates(ctx); return err },
		func() error { return r.rows(ctx, &f) },
	} {
		if err := read(); err != nil {
			return f, err
		}
	}
	return f, nil
}

// rows counts what has not ended, and finds lanes that nobody serves.
func (r *AlertReader) rows(ctx context.Context, f *AlertFacts) error {
	c := r.Control
	runs, err := c.Store.Runs(ctx)
	if err != nil {
		return err
	}
	fleet, err := worker.Fleet(ctx, c.Redis)
	if err != nil {
		return err
	}
	f.Queues = map[string]int64{}
	seen := make(map[string]talliedRun, len(runs))
	for _, run := range runs {
		if lane, err := limiter.ParseLane(run.Spec.Lane); err != nil || lane.Scope() != c.Scope {
			continue
		}
		t, err := r.runs.tally(ctx, c.Store, run, run.Spec.Class, f.At)
		if err != nil {
			return err
		}
		seen[run.ID] = t
		if open := t.counts.Open(); open > 0 {
			f.Queues[run.Spec.Class] += open
			f.idle(run, open, fleet)
		}
	}
	r.runs.seen = seen
	return nil
}

// idle notes a run's rows where nobody serves them, and nothing holds them back.
func (f *AlertFacts) idle(run jobs.Run, open int64, fleet []worker.WorkerInfo) {
	if n, _ := worker.Serving(fleet, run.Spec.Lane); n > 0 || f.held(run) {
		return
	}
	i := slices.IndexFunc(f.Idle, func(l IdleLane) bool { return l.Lane == run.Spec.Lane })
	if i < 0 {
		f.Idle = append(f.Idle, IdleLane{Lane: run.Spec.Lane})
		i = len(f.Idle) - 1
	}
	l := &f.Idle[i]
	l.Rows += open
	if len(l.Runs) < 3 {
		l.Runs = append(l.Runs, run.Title())
	}
}

// held says that a run's rows could not go out anyway.
func (f *AlertFacts) held(run jobs.Run) bool {
	return slices.ContainsFunc(f.Pauses, func(p limiter.Pause) bool {
		t := targetOf(p)
		return t.Run == run.ID || t.Class == run.Spec.Class && t.Class != "" ||
			t.Lane == run.Spec.Lane && (t.Priority == "" || t.Priority == run.Spec.Priority)
	})
}

// usually is the input of a request over the last days, but for the last hours: what is
// odd now would be usual too soon.
func (r *AlertReader) usually(ctx context.Context, now time.Time) (map[string]float64, error) {
	if r.usual != nil && now.Sub(r.usualAt) < usualEvery {
		return r.usual, nil
	}
	hour := now.Truncate(time.Hour)
	samples, err := gemini.ReadMeter(ctx, r.Control.Redis, r.Control.Scope, gemini.StepHour, hour.Add(-usualOver), hour.Add(-time.Hour))
	if err != nil {
		return nil, err
	}
	r.usual, r.usualAt = usualInput(samples), now
	return r.usual, nil
}

// usualInput is the mean of what is known well.
func usualInput(samples []gemini.UsageSample) map[string]float64 {
	hours := map[string]int{}
	for _, s := range samples {
		hours[UsualKey(s)]++
	}
	usual := map[string]float64{}
	keys, by := sums(samples, UsualKey)
	for _, k := range keys {
		if s := by[k]; hours[k] > 1 && s.Requests >= usualLeast {
			usual[k] = float64(s.InputTokens) / float64(s.Requests)
		}
	}
	return usual
}
