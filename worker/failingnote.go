package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// noter keeps events. The gate of a fleet, *limiter.Redis, is one.
type noter interface {
	Note(context.Context, limiter.Event) error
}

const (
	failingEvery  = 2 * time.Second
	failingOver   = 30 * time.Second // the fleet has to be well for so long, so that events do not come by the second
	failingForget = 10 * time.Minute // of a beginning whose end nobody was there to see
)

// failingSeen is what this process saw of a lane.
type failingSeen struct {
	since  time.Time // the fleet is well since then, or since we came
	failed bool      // we saw it fail before that
	ended  bool      // the end is told
}

// tellFailing keeps two events of each time at which the provider fails for a lane:
// that it began and that it ended. Every worker looks at the whole fleet, and a
// key in Redis decides who tells.
func (w *Worker) tellFailing(ctx context.Context) {
	note, ok := w.cfg.Gate.(noter)
	if !ok {
		return
	}
	seen := map[string]failingSeen{}
	for {
		for lane, f := range w.failingLanes() {
			s, err := w.tellFailingOf(ctx, note, lane, f, seen[lane])
			if seen[lane] = s; err != nil && ctx.Err() == nil {
				w.cfg.Logger.Debug("whether the provider fails is not told", "lane", lane, "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(failingEvery):
		}
	}
}

// failingLanes is what the fleet says of the lanes that are served here.
func (w *Worker) failingLanes() map[string]*Failing {
	fleet := append(w.registry.fleet(), w.Info())
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]*Failing{}
	for name := range w.lanes {
		out[name] = ProviderFails(fleet, name)
	}
	return out
}

func (w *Worker) tellFailingOf(ctx context.Context, note noter, lane string, f *Failing, s failingSeen) (failingSeen, error) {
	now := w.cfg.Now()
	switch {
	case f != nil:
		return failingSeen{since: now, failed: true}, w.tellBegin(ctx, note, lane, f)
	case s.since.IsZero():
		s.since = now
	case !s.ended && now.Sub(s.since) >= failingOver:
		err := w.tellEnd(ctx, note, lane, s)
		s.ended = err == nil
		return s, err
	}
	return s, nil
}

func (w *Worker) tellBegin(ctx context.Context, note noter, lane string, f *Failing) error {
	first, err := w.cfg.Redis.SetNX(ctx, failingKey(lane), f.Since.UnixMilli(), failingForget).Result()
	switch {
	case err != nil:
		return err
	case !first:
		return w.cfg.Redis.Expire(ctx, failingKey(lane), failingForget).Err()
	}
	text := fmt.Sprintf("%s: the provider %s: %d of the last %d calls failed; rows wait and are tried again", modelOf(lane), f.Says(), f.Failed, f.Of)
	w.cfg.Logger.Warn("the provider fails; rows wait and are tried again", "lane", lane, "what", f.Says(), "failed", f.Failed, "of", f.Of)
	return note.Note(ctx, limiter.Event{Kind: limiter.EventProvider, Subject: lane, Text: text, By: w.info.ID})
}

func (w *Worker) tellEnd(ctx context.Context, note noter, lane string, s failingSeen) error {
	began, err := w.cfg.Redis.GetDel(ctx, failingKey(lane)).Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return nil // it did not fail, or another worker has told
	case err != nil:
		return err
	}
	text := modelOf(lane) + ": the provider does not fail any more"
	if took := s.since.Sub(time.UnixMilli(began)).Round(time.Second); s.failed && took > 0 {
		text += fmt.Sprintf("; calls failed for %s", took)
	}
	w.cfg.Logger.Info("the provider does not fail any more", "lane", lane)
	return note.Note(ctx, limiter.Event{Kind: limiter.EventProvider, Subject: lane, Text: text, By: w.info.ID})
}

// modelOf is a lane for people.
func modelOf(lane string) string {
	if l, err := limiter.ParseLane(lane); err == nil {
		return l.Model
	}
	return lane
}
