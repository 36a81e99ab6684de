package scheduler

import (
	"context"
	"fmt"
	"time"

	"nightshift/limiter"
)

// Status is what `health show` prints.
type Status struct {
	State
	At     time.Time `json:"at"`
	Hold   *Hold     `json:"hold,omitempty"` // while it lasts nothing is decided
	View   View      `json:"view"`
	Leader *Member   `json:"leader,omitempty"` // nil: no scheduler leads, nothing is watched
	// Standby are the other schedulers.
	Standby   []Member             `json:"standby,omitempty"`
	Warnings  []string             `json:"warnings,omitempty"`
	Bypass    []BypassEstimate     `json:"bypass,omitempty"`
	Overrides map[string]time.Time `json:"overrides,omitempty"` // queues that stay open over a health pause
}

// Phrase is the phase in a word or two: "held" while it is held, "unwatched"
// while nobody leads.
func (s Status) Phrase() string {
	switch {
	case s.Hold != nil:
		return "held at " + string(s.Phase)
	case s.Leader == nil:
		return "unwatched"
	}
	return string(s.Phase)
}

// Status reads what the monitor sees and has decided.
func (c *Control) Status(ctx context.Context) (Status, error) {
	var s Status
	var err error
	if s.At, err = c.now(ctx); err != nil {
		return s, err
	}
	if s.State, s.View, err = c.readHealth(ctx); err != nil {
		return s, err
	}
	if s.Phase == "" || s.At.Sub(s.Looked) > PauseLease {
		s.Phase = Healthy // what was in force has lapsed
	}
	hold, err := c.readHold(ctx)
	if err != nil {
		return s, err
	}
	if hold.holds(s.At) {
		s.Hold = &hold
	}
	if err := c.statusMembers(ctx, &s); err != nil {
		return s, err
	}
	if s.Bypass, err = c.Bypass(ctx); err != nil {
		return s, err
	}
	s.Overrides, err = c.overrides(ctx, s.At)
	s.warn()
	return s, err
}

func (c *Control) statusMembers(ctx context.Context, s *Status) error {
	members, err := c.Members(ctx)
	if err != nil {
		return err
	}
	s.Leader = leader(members)
	for _, m := range members {
		if m.Fence == 0 {
			s.Standby = append(s.Standby, m)
		}
	}
	s.Warnings = disagree(members)
	return nil
}

func (s *Status) warn() {
	switch {
	case s.Leader == nil:
		s.Warnings = append(s.Warnings, "no scheduler runs: nobody's health is watched, work windows are not kept; start one with `nightshift scheduler`")
	case s.At.Sub(s.Looked) > PauseLease:
		s.Warnings = append(s.Warnings, "the leader does not watch health")
	case s.View.Data.IsZero():
		s.Warnings = append(s.Warnings, "no data yet: no call of a watched class was ever seen")
	case s.View.NoData():
		s.Warnings = append(s.Warnings, fmt.Sprintf("no data since %s: no call of a watched class was seen", limiter.Instant(s.View.Data)))
	}
}
