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
	wayOver       = 5 * time.Second  // the same of a way that was shut: one answer is proof of it
	failingForget = 10 * time.Minute // of a beginning whose end nobody was there to see
)

// failingSeen is what this process saw of a lane.
type failingSeen struct {
	since  time.Time // the fleet is well since then, or since we came
	failed bool      // we saw it fail before that
	noWay  bool      // calls did not reach the provider
	ended  bool      // the end is told
}

// over is how long the lane has to be well until that is told.
func (s failingSeen) over() time.Duration {
	if s.noWay {
		return wayOver
	}
	return failingOver
}

// laneTrouble is why no call of a lane succeeds, or few do.
type laneTrouble struct {
	since time.Time
	says  string // for people
	noWay bool
}

// troubleOf is a lane's in the fleet; nil for none.
func troubleOf(fleet []WorkerInfo, lane string) *laneTrouble {
	if t := NoWay(fleet, lane); t != nil {
		return &laneTrouble{t.Since, fmt.Sprintf("cannot be reached (%s); rows wait, and one call at a time tries", t.Why), true}
	}
	if f := ProviderFails(fleet, lane); f != nil {
		return &laneTrouble{f.Since, fmt.Sprintf("%s: %d of the last %d calls failed; rows wait and are tried again", f.Says(), f.Failed, f.Of), false}
	}
	return nil
}

// tellFailing keeps two events of each time at which the provider fails for a lane,
// or cannot be reached: that it began and that it ended. Every worker looks at the whole fleet, and a
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
			w.tellLastEnds(ctx, note, seen)
			return
		case <-time.After(failingEvery):
		}
	}
}

// tellLastEnds tells the ends that were not sure yet when the worker stops: nobody
// may be there later to tell them.
func (w *Worker) tellLastEnds(ctx context.Context, note noter, seen map[string]failingSeen) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failingEvery)
	defer cancel()
	for lane, f := range w.failingLanes() {
		s := seen[lane]
		if f != nil || !s.failed || s.ended {
			continue
		}
		if err := w.tellEnd(ctx, note, lane, s); err != nil {
			w.cfg.Logger.Debug("that the provider is well again is not told", "lane", lane, "err", err)
		}
	}
}

// failingLanes is what the fleet says of the lanes that are served here.
func (w *Worker) failingLanes() map[string]*laneTrouble {
	fleet := append(w.registry.fleet(), w.Info())
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]*laneTrouble{}
	for name := range w.lanes {
		out[name] = troubleOf(fleet, name)
	}
	return out
}

func (w *Worker) tellFailingOf(ctx context.Context, note noter, lane string, f *laneTrouble, s failingSeen) (failingSeen, error) {
	now := w.cfg.Now()
	switch {
	case f != nil:
		return failingSeen{since: now, failed: true, noWay: f.noWay}, w.tellBegin(ctx, note, lane, f)
	case s.since.IsZero():
		s.since = now
	case !s.ended && now.Sub(s.since) >= s.over():
		err := w.tellEnd(ctx, note, lane, s)
		s.ended = err == nil
		return s, err
	}
	return s, nil
}

func (w *Worker) tellBegin(ctx context.Context, note noter, lane string, f *laneTrouble) error {
	first, err := w.cfg.Redis.SetNX(ctx, failingKey(lane), f.since.UnixMilli(), failingForget).Result()
	switch {
	case err != nil:
		return err
	case !first:
		return w.cfg.Redis.Expire(ctx, failingKey(lane), failingForget).Err()
	}
	text := modelOf(lane) + ": the provider " + f.says
	w.cfg.Logger.Warn("the provider fails; rows wait", "lane", lane, "what", f.says)
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
