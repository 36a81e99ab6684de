package cli

import (
	"time"

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
		OverMS: r.Over.Milliseconds(), RampedMS: r.Ramped.Milliseconds(), Calls: r.Moved, Keep: string(r.Sticky), Why: r.Why,
		Since: r.Since, Changed: r.Changed, Started: r.Started, By: r.By, Looked: r.Looked,
		Moved: rampFiguresOf(r.Seen.Moved), Stayed: rampFiguresOf(r.Seen.Stayed), Unfit: r.Seen.Unfit,
	}
}

func rampFiguresOf(f gemini.RampFigures) rampFigures {
	return rampFigures{f.Calls, f.Refused, f.Failed, f.Degraded, f.P95.Milliseconds(), f.FirstToken.Milliseconds()}
}
