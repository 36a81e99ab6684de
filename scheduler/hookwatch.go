package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

// LifeWatch sees that runs begin, end and are stopped by their brakes, and tells the
// hooks. Only one process at a time looks.
type LifeWatch struct {
	Control *Control

	gap time.Time // since when nobody had looked, at this look; zero: for no longer than usual
}

// What is kept of a run between two looks: "queued MS", "begun MS" while it is open
// since then, "done"; and under "since" and "looked" the first look and the last, in ms.
const runDone = "done"

// lifeEvery bounds how late the end of a run is told.
const lifeEvery = 5 * time.Second

// Run looks until the context ends.
func (w *LifeWatch) Run(ctx context.Context) {
	repeat(ctx, lifeEvery, w.Control.log(), "looking whether runs have ended", w.Look)
}

// Look tells what has changed since the last look: two round trips a run.
func (w *LifeWatch) Look(ctx context.Context) error {
	c := w.Control
	key := scopeKey(c.Scope, "life")
	seen, err := c.Redis.HGetAll(ctx, key).Result()
	if err != nil {
		return fmt.Errorf("what was seen of runs: %w", err)
	}
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	if seen["since"] == "" { // what had ended before is old
		seen["since"] = strconv.FormatInt(now.UnixMilli(), 10)
		if err := c.Redis.HSet(ctx, key, "since", seen["since"]).Err(); err != nil {
			return err
		}
	}
	since, _ := strconv.ParseInt(seen["since"], 10, 64)
	if err := w.looked(ctx, seen["looked"], now); err != nil {
		return err
	}
	delete(seen, "since")
	delete(seen, "looked")
	runs, err := c.Store.Runs(ctx)
	if err != nil {
		return fmt.Errorf("listing runs: %w", err)
	}
	var errs []error
	for _, run := range runs {
		was := seen[run.ID]
		delete(seen, run.ID)
		if was == "" && run.Created.UnixMilli() >= since {
			was = "queued " + strconv.FormatInt(run.Created.UnixMilli(), 10)
		}
		errs = append(errs, w.look(ctx, run, was, now.UnixMilli()))
	}
	for gone := range seen {
		errs = append(errs, c.Redis.HDel(ctx, key, gone).Err(), c.Redis.HDel(ctx, scopeKey(c.Scope, "notify"), gone).Err())
	}
	return errors.Join(errs...)
}

// looked finds out since when nobody has looked, and keeps that somebody does; a minute
// more or less says nothing, so that it is not written at each look.
func (w *LifeWatch) looked(ctx context.Context, last string, now time.Time) error {
	w.gap = time.Time{}
	ms, _ := strconv.ParseInt(last, 10, 64)
	before := time.UnixMilli(ms)
	if ms > 0 && now.Sub(before) < seenLate/2 {
		return nil
	}
	if ms > 0 && now.Sub(before) > 2*seenLate {
		w.gap = before
	}
	return w.Control.Redis.HSet(ctx, scopeKey(w.Control.Scope, "life"), "looked", now.UnixMilli()).Err()
}

// unseen says of what may have happened at any time since then that nobody saw when; ""
// where somebody looked.
func (w *LifeWatch) unseen() string {
	if w.gap.IsZero() {
		return ""
	}
	return "nobody looked since " + limiter.Instant(w.gap) + ", when it began is not known"
}

// ended is when the last row of a run ended; zero where that is not to be seen, which is
// when nothing was called.
func (w *LifeWatch) ended(ctx context.Context, run jobs.Run) time.Time {
	last, err := w.Control.Store.EndedAt(ctx, run.ID)
	if err != nil {
		return time.Time{}
	}
	return last
}

func (w *LifeWatch) look(ctx context.Context, run jobs.Run, was string, now int64) error {
	counts, err := w.Control.Store.Counts(ctx, run.ID)
	if err != nil || counts.Total() == 0 {
		return err
	}
	is := runDone
	if counts.Open() > 0 {
		if is, err = w.open(ctx, run, counts, was, now); err != nil {
			return err
		}
	} else if phase, at, open := strings.Cut(was, " "); open {
		ended := w.ended(ctx, run)
		if phase == "queued" && counts[jobs.Done]+counts[jobs.Failed] > 0 { // it began since the last look
			if err := w.Control.TellRun(ctx, RunEvent{Run: run.ID, Kind: RunStarted, At: ended, Text: w.unseen()}); err != nil {
				return err
			}
		}
		e := RunEvent{Run: run.ID, Kind: RunFinished, At: ended, Occasion: at, Text: endedWords(counts)}
		if err := w.Control.TellRun(ctx, e); err != nil {
			return err
		}
	}
	if is == was {
		return nil
	}
	// Last: what was told and not noted is told once all the same, by its occasion.
	return w.Control.Redis.HSet(ctx, scopeKey(w.Control.Scope, "life"), run.ID, is).Err()
}

// open tells that a run has begun, or was stopped.
func (w *LifeWatch) open(ctx context.Context, run jobs.Run, counts jobs.Counts, was string, now int64) (is string, err error) {
	phase, at, known := strings.Cut(was, " ")
	if !known {
		phase, at = "queued", strconv.FormatInt(now, 10)
	}
	if called := counts[jobs.Running] + counts[jobs.RetryWait] + counts[jobs.Done] + counts[jobs.Failed]; phase == "queued" && called > 0 {
		phase = "begun"
		if err := w.Control.TellRun(ctx, RunEvent{Run: run.ID, Kind: RunStarted, Text: w.unseen()}); err != nil {
			return was, err
		}
	}
	if b, tripped, err := w.Control.Store.Brake(ctx, run.ID); err != nil {
		return was, err
	} else if tripped {
		e := RunEvent{Run: run.ID, Kind: RunHalted, At: b.At, Text: b.Sentence(), Occasion: strconv.FormatInt(b.At.UnixMilli(), 10)}
		if err := w.Control.TellRun(ctx, e); err != nil {
			return was, err
		}
	}
	if phase == "queued" {
		return phase + " " + at, nil
	}
	return phase + " " + at, w.flex(ctx, run, now)
}

// flex tells that the rows of a run that has begun pay for standard, since flex has no
// capacity. An escape whose time is over says nothing of it: the next row tries flex.
func (w *LifeWatch) flex(ctx context.Context, run jobs.Run, now int64) error {
	if !worker.ByFlex(run.Spec) {
		return nil
	}
	s, err := worker.Flex(ctx, w.Control.Redis, run.Spec.Lane)
	if err != nil || !s.Escaped() || s.Until.UnixMilli() <= now {
		return err
	}
	const text = "flex has no capacity: its rows go by standard, at its price, until flex serves again"
	at := s.Since
	if at.Before(run.Created) {
		at = time.Time{} // flex was left before there was a run: it is moved now
	}
	return w.Control.TellRun(ctx, RunEvent{Run: run.ID, Kind: RunUpgraded, At: at, Text: text, Occasion: "flex " + strconv.FormatInt(s.Since.UnixMilli(), 10)})
}

// endedWords are the counts of an end.
func endedWords(c jobs.Counts) string {
	if c.Bad() == 0 {
		return fmt.Sprintf("all %d rows are good", c.Total())
	}
	s := fmt.Sprintf("%d of %d rows are good", c.Total()-c.Bad(), c.Total())
	if n := c[jobs.Cancelled]; n > 0 {
		s += fmt.Sprintf(", %d were cancelled", n)
	}
	if n := c.Bad() - c[jobs.Cancelled]; n > 0 {
		s += fmt.Sprintf(", %d have no good answer", n)
	}
	return s
}
