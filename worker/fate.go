package worker

import (
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// How often a lane's puller looks, and how soon again after a pass that ended for want of
// slots: for simulations.
const (
	PullEvery = pullEvery
	PullSoon  = pullSoon
)

// Fate is what becomes of a row after a look that brought no answer.
type Fate struct {
	Ends    bool          // it has failed
	Wait    time.Duration // until it comes back; asynq keeps whole seconds
	Counted bool          // it was an attempt
}

// FateRefused is the fate of a row that the limiter gave no permit.
func FateRefused(d *limiter.Denied) Fate {
	out := refused(d)
	return Fate{Ends: out.end != jobs.None, Wait: retryDelay(0, &waitError{after: out.wait}, nil)}
}

// FateFailed is the fate of a row whose call failed, by what follows from the verdict on it,
// after so many attempts that counted before. jitter is from 0 to 1.
func FateFailed(next gemini.Consequence, v gemini.Verdict, status, attempts int, jitter float64, now time.Time) Fate {
	out := judge(next, v, status, "")
	out.standInLine(next, now)
	switch {
	case out.end != jobs.None:
		return Fate{Ends: true}
	case out.wait > 0:
		return Fate{Wait: retryDelay(0, &waitError{after: out.wait}, nil)}
	}
	return Fate{Wait: backoffAt(attempts+1, jitter), Counted: true}
}
