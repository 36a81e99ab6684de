package scheduler

import (
	"fmt"
	"strings"
	"time"
)

// Window says how much of each limit a class, or a run, may use at which time of
// the week. The zero Window is all of it, always.
type Window struct {
	Text   string // as it was written
	zone   *time.Location
	parts  []windowPart
	other  Rate // outside of all parts
	weekly bool // days of the week matter
	named  bool // the text says the zone
}

// Zoned tells that the text itself says of which zone its clocks are.
func (w Window) Zoned() bool { return w.named }

// Named is the text with its zone, which it may have from elsewhere: what it says does
// not depend on who reads it.
func (w Window) Named() string {
	if w.named || w.zone == nil {
		return w.Text
	}
	return w.Text + " in " + w.zone.String()
}

// In is the text of the timetable by the clocks of another zone.
func (w Window) In(zone *time.Location) string {
	parts := strings.Split(w.Text, ",")
	for i, part := range parts {
		parts[i], _, _ = strings.Cut(part, " in ")
	}
	return strings.TrimRight(strings.Join(parts, ","), " \t") + " in " + zone.String()
}

// Rate is how fast work may go: a share of the limits, or a fixed number of calls
// a minute.
type Rate struct {
	PPM       int64 // share in ppm; a million where PerMinute is given
	PerMinute int64 // calls a minute; 0: the share alone
}

// Closed tells that nothing may start.
func (r Rate) Closed() bool { return r.PPM == 0 }

// Full tells that nothing is held back.
func (r Rate) Full() bool { return r.PPM == million && r.PerMinute == 0 }

// String is the rate as a timetable has it.
func (r Rate) String() string {
	if r.PerMinute > 0 {
		return fmt.Sprintf("%drpm", r.PerMinute)
	}
	return fmt.Sprintf("%.4g%%", float64(r.PPM)/10_000)
}

// windowPart holds from one minute of the day up to another, on the days on which
// it begins; over midnight when the second comes first.
type windowPart struct {
	days     weekdays
	from, to int // minutes since midnight; to may be 24:00
	rate     Rate
}

// weekdays has a bit for each day, Sunday first.
type weekdays uint8

const everyDay weekdays = 1<<7 - 1

func (d weekdays) has(day int) bool { return d&(1<<((day+7)%7)) != 0 }

func (p windowPart) has(day, minute int) bool {
	switch {
	case p.from < p.to:
		return p.from <= minute && minute < p.to && p.days.has(day)
	case minute >= p.from:
		return p.days.has(day)
	}
	return minute < p.to && p.days.has(day-1)
}

// lookAhead bounds the search for the next change: clocks repeat after a day or a
// week, and a change of daylight saving time moves them by an hour or two.
func (w Window) lookAhead() time.Duration {
	if w.weekly {
		return 7*24*time.Hour + 3*time.Hour
	}
	return 27 * time.Hour
}

// At gives the share at a time, in ppm, and when that changes next; zero when it
// never does. The clock on the wall decides: what the switch to summer time
// leaves out does not happen, what the switch back repeats happens twice.
func (w Window) At(t time.Time) (ppm int64, until time.Time) {
	rate, until := w.RateAt(t)
	return rate.PPM, until
}

// RateAt is At with a fixed number of calls a minute, where the window has one.
func (w Window) RateAt(t time.Time) (rate Rate, until time.Time) {
	if w.zone == nil {
		return Rate{PPM: million}, time.Time{}
	}
	rate = w.rate(t)
	for at := t.Truncate(time.Minute).Add(time.Minute); at.Sub(t) < w.lookAhead(); at = at.Add(time.Minute) {
		if w.rate(at) != rate {
			return rate, at
		}
	}
	return rate, time.Time{}
}

// before gives the share of just before the last change and the moment of that,
// looked for as far back as reach; zero when there was none.
func (w Window) before(t time.Time, reach time.Duration) (ppm int64, since time.Time) {
	if w.zone == nil {
		return million, time.Time{}
	}
	now := w.rate(t)
	for at := t.Truncate(time.Minute); t.Sub(at) <= reach; at = at.Add(-time.Minute) {
		if was := w.rate(at.Add(-time.Minute)); was != now {
			return was.PPM, at
		}
	}
	return now.PPM, time.Time{}
}

func (w Window) rate(t time.Time) Rate {
	t = t.In(w.zone)
	day, minute := int(t.Weekday()), t.Hour()*60+t.Minute()
	for _, p := range w.parts {
		if p.has(day, minute) {
			return p.rate
		}
	}
	return w.other
}

// Clock is a moment as the window's zone has it: with the day where that is not
// the day of now.
func (w Window) Clock(t, now time.Time) string {
	zone := w.zone
	if zone == nil {
		zone = time.UTC
	}
	t, now = t.In(zone), now.In(zone)
	layout := "15:04 MST"
	if t.Format(time.DateOnly) != now.Format(time.DateOnly) {
		layout = "Mon 15:04 MST"
	}
	return strings.TrimSpace(t.Format(layout))
}
