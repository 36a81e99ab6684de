package limiter

import (
	"fmt"
	"sync/atomic"
	"time"
	_ "time/tzdata" // the days are Pacific wherever we run
)

// pacific is where Gemini's days begin (ai.google.dev rate-limits page: requests
// per day reset at midnight Pacific time).
var pacific = mustZone("America/Los_Angeles")

func mustZone(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic("limiter: embedded tzdata lacks " + name)
	}
	return loc
}

// dayStart is the midnight at or before t, shifted by whole calendar days. Days
// of 23 and 25 hours come out right, since time.Date does the arithmetic.
func dayStart(t time.Time, shift int) time.Time {
	y, m, d := t.In(pacific).Date()
	return time.Date(y, m, d+shift, 0, 0, 0, 0, pacific)
}

func monthStart(t time.Time, zone *time.Location, shift int) time.Time {
	y, m, _ := t.In(zone).Date()
	return time.Date(y, m+time.Month(shift), 1, 0, 0, 0, 0, zone)
}

// boundaries are the starts of four days and four months, from the ones before
// t's own. The scripts pick by Redis's clock, which may differ from ours.
type boundaries struct {
	from, until time.Time // t within these needs no new boundaries
	at          [8]int64  // ms
	text        string    // as lua/base.lua reads them
}

func newBoundaries(t time.Time, zone *time.Location) *boundaries {
	b := &boundaries{from: dayStart(t, 0), until: dayStart(t, 1)}
	for i := range 4 {
		b.at[i] = dayStart(t, i-1).UnixMilli()
		b.at[4+i] = monthStart(t, zone, i-1).UnixMilli()
	}
	if m := monthStart(t, zone, 0); m.After(b.from) {
		b.from = m
	}
	if m := monthStart(t, zone, 1); m.Before(b.until) {
		b.until = m
	}
	a := b.at
	b.text = fmt.Sprintf("[%d,%d,%d,%d,%d,%d,%d,%d]", a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7])
	return b
}

// monthZone is where months are counted; nil is Pacific. What is stored was checked.
func (c Config) monthZone() *time.Location {
	if c.MonthTZ == "" {
		return nil
	}
	zone, err := time.LoadLocation(c.MonthTZ)
	if err != nil {
		return nil
	}
	return zone
}

// calendar keeps the boundaries of the day that was asked for last.
type calendar struct {
	zone atomic.Pointer[time.Location] // of months; nil is Pacific
	last atomic.Pointer[boundaries]
}

func (c *calendar) setZone(zone *time.Location) {
	c.zone.Store(zone)
	c.last.Store(nil)
}

func (c *calendar) at(t time.Time) *boundaries {
	if b := c.last.Load(); b != nil && !t.Before(b.from) && t.Before(b.until) {
		return b
	}
	zone := c.zone.Load()
	if zone == nil {
		zone = pacific
	}
	b := newBoundaries(t, zone)
	c.last.Store(b)
	return b
}
