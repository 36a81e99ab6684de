package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"github.com/redis/go-redis/v9"
)

// RampSource gives what was counted of the calls of ramps between two times, as
// gemini.ReadRampMeter does.
type RampSource interface {
	RampSamples(ctx context.Context, from, to time.Time) ([]gemini.UsageSample, error)
}

// RampMeterSource is what all processes of a scope count together.
type RampMeterSource struct {
	Redis redis.UniversalClient
	Scope limiter.Scope
}

// RampSamples implements RampSource.
func (m RampMeterSource) RampSamples(ctx context.Context, from, to time.Time) ([]gemini.UsageSample, error) {
	return gemini.ReadRampMeter(ctx, m.Redis, m.Scope, from, to)
}

// RampWatch moves ramps on while their calls fare well.
type RampWatch struct {
	Ramps  *Ramps
	Source RampSource
	Rules  RampRules
}

// Check names the first rule that is wrong.
func (w *RampWatch) Check() error { return w.Rules.Check("ramps") }

// Run looks again and again until the context ends. fence is the leader's: while a
// later one looks, what this one would write is refused.
func (w *RampWatch) Run(ctx context.Context, fence int64) {
	repeat(ctx, w.Rules.orDefault().Every, w.Ramps.Control.log(), "looking at ramps", func(ctx context.Context) error {
		return w.Look(ctx, fence)
	})
}

// How long ramps that are over can be read, and how late a count may come.
const (
	rampKept = 7 * 24 * time.Hour
	countLag = 3 * time.Second // a meter sends once a second
)

// Look looks once at each ramp, decides, and writes what follows.
func (w *RampWatch) Look(ctx context.Context, fence int64) error {
	ramps, err := w.Ramps.Store.Ramps(ctx)
	if err != nil || len(ramps) == 0 {
		return err
	}
	now, err := w.Ramps.Control.now(ctx)
	if err != nil {
		return err
	}
	rules := w.Rules.orDefault()
	samples, err := w.Source.RampSamples(ctx, oldest(ramps, now.Add(-rules.Over)), now)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range ramps {
		errs = append(errs, w.look(ctx, r, rules, samples, now, fence))
	}
	return errors.Join(errs...)
}

// oldest is from when on samples are wanted: those that a look judges, and those
// that were not counted yet.
func oldest(ramps []gemini.Ramp, from time.Time) time.Time {
	for _, r := range ramps {
		if r.Active() && r.Counted.Before(from) {
			from = r.Counted
		}
	}
	return from
}

func (w *RampWatch) look(ctx context.Context, r gemini.Ramp, rules RampRules, samples []gemini.UsageSample, now time.Time, fence int64) error {
	if !r.Active() {
		return w.tidy(ctx, r, now)
	}
	next, actions := rules.Decide(r, seeRamp(r, samples, now, rules.Over))
	err := w.Ramps.Store.PutFenced(ctx, next, fence)
	switch {
	case errors.Is(err, gemini.ErrRampChanged):
		return nil // by a person, just now: the next look sees it
	case errors.Is(err, gemini.ErrRampFenced):
		return errFenced
	case err != nil:
		return err
	}
	for _, a := range actions {
		w.Ramps.note(ctx, a.Kind, r.Scope, w.Ramps.Owner, a.Text)
	}
	return nil
}

// tidy forgets what was rolled back long ago.
func (w *RampWatch) tidy(ctx context.Context, r gemini.Ramp, now time.Time) error {
	if r.Phase != gemini.RampRolledBack || now.Sub(r.Since) < rampKept {
		return nil
	}
	if err := w.Ramps.Store.Remove(ctx, r); err != nil && !errors.Is(err, gemini.ErrRampChanged) {
		return err
	}
	return nil
}

// seeRamp sums up what was counted of a ramp.
func seeRamp(r gemini.Ramp, samples []gemini.UsageSample, now time.Time, over time.Duration) RampLook {
	l := RampLook{At: now, View: gemini.RampView{Over: over, Unfit: map[string]int64{}}}
	until := now.Add(-countLag).Truncate(gemini.Step5s.Width())
	l.Counted = limiter.Later(r.Counted, until)
	var moved, stayed gemini.UsageSample
	var back, refused int64 // answered by the old model; of them those that quota sent there
	for _, s := range samples {
		if s.Feature != r.Seed {
			continue
		}
		turned := strings.HasPrefix(s.Class, gemini.SideRefused)
		if (turned || s.Class == gemini.SideMoved) && !s.At.Before(r.Counted) && s.At.Before(until) {
			l.Calls += s.Calls
		}
		if s.At.Add(gemini.Step5s.Width()).Before(now.Add(-over)) {
			continue
		}
		reason, _ := strings.CutPrefix(s.Class, gemini.SideRefused)
		switch why, unfit := strings.CutPrefix(s.Class, gemini.SideUnfit); {
		case unfit:
			l.View.Unfit[why] += s.Calls
			stayed.Merge(s)
		case turned:
			back += s.Calls
			if limiter.Contested(limiter.Reason(reason), "", "") {
				refused += s.Calls
			}
		case s.Class == gemini.SideMoved:
			moved.Merge(s)
		default:
			stayed.Merge(s)
		}
	}
	l.View.Moved, l.View.Stayed = figures(moved), figures(stayed)
	l.View.Moved.Calls += back
	l.View.Moved.Refused += refused
	return l
}

func figures(s gemini.UsageSample) gemini.RampFigures {
	f := gemini.RampFigures{
		Calls: s.Calls, Refused: s.ContestedThere() + s.ContestedHere(), Failed: s.ProviderFailed,
		N: s.Latency.N(), P95: s.Latency.Quantile(0.95), Streams: s.FirstToken.N(), FirstToken: s.FirstToken.Quantile(0.95),
	}
	for _, n := range s.Degraded {
		f.Degraded += n
	}
	return f
}

// note keeps an event about a ramp.
func (x *Ramps) note(ctx context.Context, kind string, s gemini.RampScope, by, text string) {
	x.Control.noteSubject(ctx, kind, fmt.Sprint(s), by, text)
}
