package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// rampRow is a ramp as --output json prints it.
type rampRow struct {
	Scope    string           `json:"scope"`
	From     string           `json:"from"`
	To       string           `json:"to"`
	Phase    gemini.RampPhase `json:"phase"`
	SharePPM int64            `json:"share_ppm"`
	Step     int              `json:"step"` // from 1
	StepsPPM []int64          `json:"steps_ppm"`
	OverMS   int64            `json:"over_ms"`
	RampedMS int64            `json:"ramped_ms"` // good time that the step has had
	Calls    int64            `json:"moved_calls"`
	Keep     string           `json:"keep"`
	State    string           `json:"-"` // in words
	Why      string           `json:"why,omitempty"`
	Since    time.Time        `json:"since"`
	Changed  time.Time        `json:"share_since"`
	Started  time.Time        `json:"started"`
	By       string           `json:"by"`
	Looked   time.Time        `json:"looked,omitzero"`
	Watched  bool             `json:"watched"` // by a scheduler; of show only
	Moved    rampFigures      `json:"moved"`
	Stayed   rampFigures      `json:"stayed"`
	Unfit    map[string]int64 `json:"unfit,omitempty"`
}

type rampFigures struct {
	Calls        int64 `json:"calls"`
	Refused      int64 `json:"refused"`
	Failed       int64 `json:"failed"`
	Degraded     int64 `json:"degraded"`
	P95MS        int64 `json:"p95_ms"`
	FirstTokenMS int64 `json:"first_token_p95_ms"`
}

func rampRowOf(r gemini.Ramp) rampRow {
	return rampRow{
		Scope: r.Scope.String(), From: r.From, To: r.To, Phase: r.Phase, SharePPM: r.SharePPM(), Step: r.Step + 1, StepsPPM: r.Steps,
		OverMS: r.Over.Milliseconds(), RampedMS: r.Ramped.Milliseconds(), Calls: r.Moved, Keep: string(r.Sticky), State: rampState(r), Why: r.Why,
		Since: r.Since, Changed: r.Changed, Started: r.Started, By: r.By, Looked: r.Looked,
		Moved: rampFiguresOf(r.Seen.Moved), Stayed: rampFiguresOf(r.Seen.Stayed), Unfit: r.Seen.Unfit,
	}
}

func rampFiguresOf(f gemini.RampFigures) rampFigures {
	return rampFigures{f.Calls, f.Refused, f.Failed, f.Degraded, f.P95.Milliseconds(), f.FirstToken.Milliseconds()}
}

// gatherRamps finds those that move calls now.
func (o *overview) gatherRamps(ctx context.Context, b *backend) error {
	all, err := b.ramps("").Store.Ramps(ctx)
	for _, r := range all {
		if r.Active() {
			o.Ramps = append(o.Ramps, rampRowOf(r))
		}
	}
	return err
}

// sentence is the ramp in a line of the operator's screen.
func (r rampRow) sentence(watched bool) string {
	s := fmt.Sprintf("ramp %s: %s of the callers go to %s instead of %s; %s", r.Scope, limiter.Share(r.SharePPM), r.To, r.From, r.State)
	if r.Why != "" {
		s += " (" + r.Why + ")"
	}
	if !watched {
		s += "; no scheduler moves it on"
	}
	return s
}

// routeWords say how a call came to another model than its caller named, or did not.
func routeWords(r gemini.Record) string {
	words := ""
	switch {
	case r.Asked == "":
	case r.Ramp != "" && (r.RampSide == gemini.SideMoved || r.RampSide == ""):
		words = fmt.Sprintf(" (asked for %s; ramp %s sent it to %s)", r.Asked, r.Ramp, r.Called)
	default:
		words = fmt.Sprintf(" (asked for %s, which stands for %s)", r.Asked, r.Called)
	}
	if why, turned := strings.CutPrefix(r.RampSide, gemini.SideRefused); turned {
		words += fmt.Sprintf(" (ramp %s was to move it; the other model had no room: %s)", r.Ramp, why)
	}
	return words
}
