package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Steering is what may change while a run goes on. None of it is part of what
// makes an answer, so that changing it redoes nothing.
type Steering struct {
	// Window is the timetable of the run ("22:00-07:00@100%, else @10%"), in Zone, an
	// IANA name; "" works at any time, beside the windows of its class.
	Window string `json:"window,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Deadline is when the run has to be done; zero: whenever it is. OnLate says what
	// follows when it is not: "stop" (the default), "continue" or "upgrade".
	Deadline time.Time `json:"deadline,omitzero"`
	OnLate   string    `json:"on_late,omitempty"`
	// MaxCost is what all of the run's calls may cost together, in micro-dollars; at
	// that it is paused. 0: no cap of its own.
	MaxCost int64 `json:"max_cost_micro_usd,omitempty"`
	// Weight is the run's part beside other runs of its class; 0 is 1.
	Weight int64 `json:"weight,omitempty"`
	// ServiceTier is the tier to ask for: "flex", "standard", "priority" or "auto";
	// "" is the API's own default, standard.
	ServiceTier string `json:"service_tier,omitempty"`
}

// steerTries bounds how often Steer begins anew because somebody else changed
// the record between its look and its write.
const steerTries = 20

// Steer changes a run's steering while it goes on, and gives the run as it is then.
// change may be called several times; what it refuses is not written.
func (s *Store) Steer(ctx context.Context, run string, change func(*Steering) error) (Run, error) {
	for range steerTries {
		r, written, err := s.steer(ctx, run, change)
		if written || err != nil {
			return r, err
		}
	}
	return Run{}, fmt.Errorf("run %s: others change it all the time; try again", run)
}

func (s *Store) steer(ctx context.Context, run string, change func(*Steering) error) (r Run, written bool, err error) {
	was, err := s.rdb.HGet(ctx, runKey(run), "record").Result()
	if err := orNil(err); err != nil {
		return r, false, err
	}
	m, err := s.meta(ctx, run)
	if err != nil {
		return r, false, err
	}
	if err := json.Unmarshal([]byte(was), &r); err != nil {
		return r, false, nil // it was made between the two looks
	}
	if err := change(&r.Spec.Steer); err != nil {
		return r, false, err
	}
	record, err := json.Marshal(r)
	if err != nil {
		return r, false, err
	}
	out, err := s.call(ctx, steerScript, []string{runKey(run)}, []any{was, record, r.Stamp()}, 1)
	if err != nil {
		return r, false, fmt.Errorf("steer: %w", err)
	}
	r.Rows = m.Rows
	return r, integer(out[0]) == 1, nil
}
