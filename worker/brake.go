package worker

import (
	"context"
	"log/slog"

	"nightshift/jobs"
	"nightshift/limiter"
)

// ReasonBrake is the reason of a pause that a run's brake made. Like a person's it
// holds until a person resumes the run, who has seen what was wrong.
const ReasonBrake = "brake"

// Closer closes a run in the limiter. *limiter.Redis is one.
type Closer interface {
	Pause(context.Context, limiter.Pause) error
	Note(context.Context, limiter.Event) error
}

// Brake pauses the runs whose brake has tripped.
type Brake struct {
	Closer Closer
	Logger *slog.Logger
}

// Stop fits jobs.StoreOptions.Braked. When it fails the next end of a row tries
// again; only the first of them is an alert.
func (b Brake) Stop(ctx context.Context, t jobs.Braked) {
	why := t.Sentence()
	p := limiter.Pause{Run: t.Run.ID, Reason: ReasonBrake, Owner: "nightshift", Since: t.At, Detail: why}
	if err := b.Closer.Pause(ctx, p); err != nil {
		b.Logger.Error("a run should be stopped, and the limiter cannot be told; the next row that ends tries again", "run", t.Run.ID, "why", why, "err", err)
		return
	}
	if !t.First {
		return
	}
	text := "run " + t.Run.Title() + " is stopped by its brake: " + why
	b.Logger.Error(text, "run", t.Run.ID, "cause", t.Cause, "row", t.Row, "remedy", "mend what is wrong, then: nightshift resume "+t.Run.Title())
	if err := b.Closer.Note(ctx, limiter.Event{Kind: limiter.EventAlert, Subject: t.Run.ID, Text: text}); err != nil {
		b.Logger.Warn("an event was not kept", "event", limiter.EventAlert, "err", err)
	}
}
