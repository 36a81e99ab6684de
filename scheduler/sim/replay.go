package sim

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// Location is the scenario's zone.
func (s *Scenario) Location() *time.Location { return s.zone }

// Begin is when the night begins.
func (s *Scenario) Begin() time.Time { return s.start }

// Replay reads the call records that the scenario names, by their paths from a directory.
// The first call of them comes at the start, the others as long after it as they did.
func (s *Scenario) Replay(dir string) error {
	for i := range s.Traffic {
		t := &s.Traffic[i]
		if t.Arrivals.Replay == "" {
			continue
		}
		at := t.Arrivals.Replay
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		var calls []gemini.Record
		err := gemini.ReadRecords(at, time.Time{}, func(r gemini.Record) error {
			if r.Class == t.Class && r.Row == "" {
				calls = append(calls, r)
			}
			return nil
		})
		if err != nil {
			return wrong(fmt.Sprintf("traffic[%d].arrivals.replay", i), "%v", err)
		}
		if len(calls) == 0 {
			return wrong(fmt.Sprintf("traffic[%d].arrivals.replay", i), "%s has no calls of class %s", t.Arrivals.Replay, t.Class)
		}
		t.Arrivals.recorded = played(t, calls, s.Duration)
	}
	return nil
}

func played(t *Traffic, calls []gemini.Record, until time.Duration) (out []person) {
	slices.SortStableFunc(calls, func(a, b gemini.Record) int { return a.Time.Compare(b.Time) })
	for _, r := range calls {
		at := r.Time.Sub(calls[0].Time)
		if at >= until {
			break
		}
		amounts := r.Used
		if amounts[limiter.InputTokens] == 0 {
			amounts = r.Estimate // it was refused
		}
		out = append(out, person{at, t, max(1, amounts[limiter.InputTokens]), amounts[limiter.OutputTokens]})
	}
	return out
}
