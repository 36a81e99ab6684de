package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// runMark is what was seen and told of a run's steering, kept in Redis so that
// another leader goes on where this one fell.
type runMark struct {
	Rate string `json:"rate,omitempty"` // of its timetable, as it was told last

	Cap   int64 `json:"cap,omitempty"` // the cap that nothing more fits under; 0: there is room
	Spent int64 `json:"spent,omitempty"`
	Next  int64 `json:"next,omitempty"`
	Rest  int64 `json:"rest,omitempty"`
	Used  int64 `json:"used,omitempty"` // one more than what was spent when nothing fitted at the last look; 0: something did

	Paces   []runPace `json:"paces,omitempty"` // of the last quarter of an hour, the oldest first
	PerMin  float64   `json:"per_min,omitempty"`
	Behind  int       `json:"behind,omitempty"`    // forecasts in a row that were late
	Steps   int       `json:"steps,omitempty"`     // what was done for the deadline
	Stepped time.Time `json:"stepped,omitzero"`    // when the last of it was
	Of      time.Time `json:"deadline,omitzero"`   // the deadline that this is about
	Told    bool      `json:"late_told,omitempty"` // that it will be late
}

// runPace is how far a run was at some time.
type runPace struct {
	At    time.Time `json:"at"`
	Ended int64     `json:"ended"`
	PPM   int64     `json:"ppm"` // the share that its timetable let it have

	Shut time.Duration `json:"shut,omitempty"` // since the one before: for how long a person had it paused
}

func (m runMark) copy() runMark {
	m.Paces = slices.Clone(m.Paces)
	return m
}

func (w *RunWatch) marks(ctx context.Context) (map[string]runMark, error) {
	all, err := w.Control.Redis.HGetAll(ctx, scopeKey(w.Control.Scope, "runs")).Result()
	if err != nil {
		return nil, fmt.Errorf("what was seen of runs: %w", err)
	}
	out := map[string]runMark{}
	for id, text := range all {
		var m runMark
		if json.Unmarshal([]byte(text), &m) == nil { // otherwise it begins anew
			out[id] = m
		}
	}
	return out, nil
}

// keepMarks writes what has changed, and forgets runs that have ended once nothing
// of their steering is left.
func (w *RunWatch) keepMarks(ctx context.Context, runs []*followed) error {
	for _, f := range runs {
		if f.ended() {
			if err := w.Control.Store.Unwatch(ctx, f.ID); err != nil {
				return err
			}
			if err := w.dropMark(ctx, f.ID); err != nil {
				return err
			}
			continue
		}
		if reflect.DeepEqual(f.mark, f.was) {
			continue
		}
		text, err := json.Marshal(f.mark)
		if err != nil {
			return err
		}
		if err := w.Control.Redis.HSet(ctx, scopeKey(w.Control.Scope, "runs"), f.ID, text).Err(); err != nil {
			return fmt.Errorf("what was seen of run %s: %w", f.ID, err)
		}
	}
	return nil
}

func (w *RunWatch) dropMark(ctx context.Context, id string) error {
	for _, key := range []string{"runs", "rates"} {
		if err := w.Control.Redis.HDel(ctx, scopeKey(w.Control.Scope, key), id).Err(); err != nil {
			return fmt.Errorf("what was seen of run %s: %w", id, err)
		}
	}
	return nil
}
