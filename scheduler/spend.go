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
	// PerHour is what was lately spent in an hour, in micro-dollars: over as long a time
	// as is asked about, at most the last day; since the cap's own beginning while half
	// an hour is not known.
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
	burnLeast = 5 * time.Minute // of a cap that will be full within as much
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
	from, perHour := m.pace(s, now)
	if from.IsZero() {
		return o
	}
	left := s.End.Sub(now)
	o.PerHour, o.Since = int64(perHour), from
	if !s.End.IsZero() {
		o.AtEnd = s.Used + int64(perHour*max(0, left.Hours()))
	}
	if in := fullIn(s, perHour); in > 0 && (s.End.IsZero() || in < left) {
		o.Reached = now.Add(in).Truncate(time.Minute)
	}
	return o
}

// pace is what was spent in an hour, and since when that is the mean; the zero time
// while nothing is known. What is to come is judged by as long a time before it: what
// will be full in an hour, or ends in one, by the last hour and not by a day of which
// most was quiet; what has days to go by the longest time that is known, which has the
// quiet hours as those days will.
func (m spendMark) pace(s limiter.CapState, now time.Time) (from time.Time, perHour float64) {
	for _, seen := range slices.Backward(m.Seen) {
		at := time.UnixMilli(seen[0])
		passed := now.Sub(at)
		if passed < burnLeast {
			continue
		}
		ahead, pace := s.End.Sub(now), float64(max(0, s.Used-seen[1]))/passed.Hours()
		if in := fullIn(s, pace); in > 0 && (s.End.IsZero() || in < ahead) {
			ahead = in
		}
		if passed >= seenLeast || ahead > 0 && ahead <= passed {
			from, perHour = at, pace
		}
		if ahead > 0 && ahead <= passed {
			return from, perHour
		}
	}
	if passed := now.Sub(s.Start); from.IsZero() && !s.Start.IsZero() && passed > 0 {
		return s.Start, float64(max(0, s.Used)) / passed.Hours()
	}
	return from, perHour
}

// fullIn is how long a cap lasts at a pace; 0 where it has no end, or is full.
func fullIn(s limiter.CapState, perHour float64) time.Duration {
	rest := float64(s.Amount - s.Used)
	if perHour <= 0 || rest <= 0 || rest/perHour > farOff.Hours() {
		return 0
	}
	return time.Duration(rest / perHour * float64(time.Hour))
}
