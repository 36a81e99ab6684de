package geminitest

import (
	"time"
	_ "time/tzdata" // the Pacific day must be right on machines without zone files
)

// A meter adds up one unit for one limit. Times never run backwards.
type meter interface {
	// used gives what counts against the limit now.
	used(now time.Time, limit int64) int64
	take(now time.Time, limit, n int64)
	// free gives the moment from which n more would fit; n ≤ limit.
	free(now time.Time, limit, n int64) time.Time
}

var newMeter = map[Counting]func(time.Duration) meter{
	SlidingMinute: func(w time.Duration) meter { return &slidingMeter{window: w} },
	FixedMinute:   func(w time.Duration) meter { return &fixedMeter{next: nextMultiple(w)} },
	TokenBucket:   func(w time.Duration) meter { return &bucketMeter{window: w} },
}

// slidingMeter counts exactly what came in the last window: (now-window, now].
type slidingMeter struct {
	window time.Duration
	spent  []amount // oldest first
	sum    int64
}

type amount struct {
	at time.Time
	n  int64
}

func (m *slidingMeter) used(now time.Time, _ int64) int64 {
	gone := 0
	for gone < len(m.spent) && !m.spent[gone].at.Add(m.window).After(now) {
		m.sum -= m.spent[gone].n
		gone++
	}
	m.spent = m.spent[gone:]
	return m.sum
}

func (m *slidingMeter) take(now time.Time, _, n int64) {
	m.spent = append(m.spent, amount{now, n})
	m.sum += n
}

func (m *slidingMeter) free(now time.Time, limit, n int64) time.Time {
	over := m.used(now, limit) + n - limit
	for _, a := range m.spent {
		if over <= 0 {
			break
		}
		over -= a.n
		now = a.at.Add(m.window)
	}
	return now
}

// fixedMeter starts anew at certain moments: full minutes, or Pacific midnights.
type fixedMeter struct {
	next  func(time.Time) time.Time
	until time.Time
	sum   int64
}

func (m *fixedMeter) used(now time.Time, _ int64) int64 {
	if !now.Before(m.until) {
		m.sum, m.until = 0, m.next(now)
	}
	return m.sum
}

func (m *fixedMeter) take(now time.Time, limit, n int64) { m.sum = m.used(now, limit) + n }

func (m *fixedMeter) free(now time.Time, limit, n int64) time.Time {
	if m.used(now, limit)+n <= limit {
		return now
	}
	return m.until
}

func nextMultiple(w time.Duration) func(time.Time) time.Time {
	return func(t time.Time) time.Time { return t.Truncate(w).Add(w) }
}

var pacific = func() *time.Location {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		panic(err) // embedded above
	}
	return zone
}()

// nextDay gives the next midnight in California, when Gemini's day ends.
func nextDay(t time.Time) time.Time {
	y, m, d := t.In(pacific).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, pacific)
}

func nextMonth(t time.Time) time.Time {
	y, m, _ := t.In(pacific).Date()
	return time.Date(y, m+1, 1, 0, 0, 0, 0, pacific)
}

// bucketMeter holds what is missing from a full bucket, which flows back evenly.
type bucketMeter struct {
	window  time.Duration
	missing float64
	at      time.Time
}

func (m *bucketMeter) level(now time.Time, limit int64) float64 {
	if !m.at.IsZero() {
		m.missing -= float64(limit) * now.Sub(m.at).Seconds() / m.window.Seconds()
	}
	m.missing, m.at = max(m.missing, 0), now
	return m.missing
}

// used rounds up, but forgives what floating point leaves behind.
func (m *bucketMeter) used(now time.Time, limit int64) int64 {
	const dust = 1e-6
	missing := m.level(now, limit)
	whole := int64(missing)
	if missing-float64(whole) > dust {
		whole++
	}
	return whole
}

func (m *bucketMeter) take(now time.Time, limit, n int64) {
	m.missing = m.level(now, limit) + float64(n)
}

func (m *bucketMeter) free(now time.Time, limit, n int64) time.Time {
	over := m.level(now, limit) + float64(n-limit)
	if over <= 0 {
		return now
	}
	return now.Add(time.Duration(over / float64(limit) * float64(m.window)))
}
