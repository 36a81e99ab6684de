package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"nightshift/limiter"
)

// CapOutlook is a money limit, and where it is going.
type CapOutlook struct {
	limiter.CapState
	// PerHour is what was lately spent in an hour, in micro-dollars: over the last
	// day as far as it is known, else since the cap's own beginning.
	PerHour int64 `json:"per_hour"`
	// Since is when the time began that PerHour is the mean of.
	Since time.Time `json:"since,omitzero"`
	// AtEnd is what will be spent at the cap's end if that goes on; 0 for ten minutes.
	AtEnd int64 `json:"at_end,omitempty"`
	// Reached is when the cap will be; zero if that is not before its end.
	Reached time.Time `json:"reached,omitzero"`
	// Level is the highest level that was told of in this day or month, in percent.
	Level int64 `json:"level,omitempty"`
}

// spendMark is what the leader keeps of a cap: which level it told of, and what
// was used at past moments.
type spendMark struct {
	Cap   int64      `json:"cap"`
	Start int64      `json:"start"` // ms
	Level int64      `json:"level"` // percent
	Seen  [][2]int64 `json:"seen"`  // ms and micro-dollars, oldest first
}

const (
	seenEvery = time.Hour
	seenKept  = 25 // a day of them
	seenLeast = 30 * time.Minute
)

// Spend gives the money limits with what they are going to.
func (c *Control) Spend(ctx context.Context) ([]CapOutlook, error) {
	now, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	states, err := c.Limiter.Caps(ctx)
	if err != nil || len(states) == 0 {
		return nil, err
	}
	marks, err := c.spendMarks(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]CapOutlook, len(states))
	for i, s := range states {
		out[i] = outlook(s, marks[spendField(s)].of(s), now)
	}
	return out, nil
}

func spendField(s limiter.CapState) string { return s.Node + " " + s.Name }

func (c *Control) spendMarks(ctx context.Context) (map[string]spendMark, error) {
	all, err := c.Redis.HGetAll(ctx, scopeKey(c.Scope, "spend")).Result()
	if err != nil {
		return nil, fmt.Errorf("what caps stood at: %w", err)
	}
	out := map[string]spendMark{}
	for field, text := range all {
		var m spendMark
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return nil, fmt.Errorf("what caps stood at: %s: %w", field, err)
		}
		out[field] = m
	}
	return out, nil
}

// of is the mark as it counts for a cap now: another day or month begins anew, and
// another amount has levels of its own.
func (m spendMark) of(s limiter.CapState) spendMark {
	if m.Start != s.Start.UnixMilli() {
		return spendMark{Cap: s.Amount, Start: s.Start.UnixMilli()}
	}
	if m.Cap != s.Amount {
		m.Cap, m.Level = s.Amount, 0
	}
	return m
}

// seen adds what is used now, if the last time was long enough ago.
func (m spendMark) seen(used int64, now time.Time) spendMark {
	if n := len(m.Seen); n > 0 && now.UnixMilli()-m.Seen[n-1][0] < seenEvery.Milliseconds() {
		return m
	}
	m.Seen = append(slices.Clone(m.Seen), [2]int64{now.UnixMilli(), used})
	m.Seen = m.Seen[max(0, len(m.Seen)-seenKept):]
	return m
}

// outlook says where a cap is going by what was seen of it.
func outlook(s limiter.CapState, m spendMark, now time.Time) CapOutlook {
	o := CapOutlook{CapState: s, Level: m.Level}
	if !s.IsCap() {
		return o
	}
	from, used := s.Start, int64(0)
	if len(m.Seen) > 0 && now.UnixMilli()-m.Seen[0][0] >= seenLeast.Milliseconds() {
		from, used = time.UnixMilli(m.Seen[0][0]), m.Seen[0][1]
	}
	if from.IsZero() {
		return o // of a cap without a beginning nothing is known yet
	}
	passed, left := now.Sub(from), s.End.Sub(now)
	if passed <= 0 {
		return o
	}
	perHour := float64(max(0, s.Used-used)) / passed.Hours()
	o.PerHour, o.Since = int64(perHour), from
	if !s.End.IsZero() {
		o.AtEnd = s.Used + int64(perHour*max(0, left.Hours()))
	}
	if rest := float64(s.Amount - s.Used); perHour > 0 && rest > 0 && (s.End.IsZero() || rest/perHour < left.Hours()) {
		o.Reached = now.Add(time.Duration(rest / perHour * float64(time.Hour))).Truncate(time.Minute)
	}
	return o
}
