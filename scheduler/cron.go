package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Cron says at which times of day something comes again, by the clock on the wall of
// its zone: a time that the switch to summer time leaves out comes at the next moment,
// one that the switch back repeats comes once.
type Cron struct {
	Text string // as it was written
	zone *time.Location
	spec *cron.SpecSchedule
}

// ParseCron reads the usual five fields (minute, hour, day of the month, month, day of the
// week) or @hourly, @daily, @weekly, @monthly, @yearly.
func ParseCron(text string, zone *time.Location) (Cron, error) {
	if zone == nil {
		zone = time.UTC
	}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return Cron{}, fmt.Errorf("%q: the zone goes into zone, not into cron", text)
	}
	s, err := cron.ParseStandard(text)
	if err != nil {
		return Cron{}, fmt.Errorf("%q: %w; want five fields such as \"30 1 * * *\" (minute, hour, day, month, weekday) or @daily", text, err)
	}
	spec, ok := s.(*cron.SpecSchedule)
	if !ok {
		return Cron{}, fmt.Errorf("%q: want times of day, such as \"0 * * * *\" for every hour", text)
	}
	spec.Location = time.UTC
	c := Cron{Text: text, zone: zone, spec: spec}
	if spec.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Cron{}, fmt.Errorf("%q: there is no such day", text)
	}
	return c, nil
}

// wall is a moment's clock on the wall, as if it were UTC: there no hour is left out.
func (c Cron) wall(t time.Time) time.Time {
	t = t.In(c.zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// moment is when a clock on the wall is reached for the first time, or passed over.
func (c Cron) moment(wall time.Time) time.Time {
	offset := func(t time.Time) time.Duration {
		_, s := t.In(c.zone).Zone()
		return time.Duration(s) * time.Second
	}
	before, after := wall.Add(-offset(wall.Add(-24*time.Hour))), wall.Add(-offset(wall.Add(24*time.Hour)))
	switch {
	case c.wall(before).Equal(wall):
		return before // of two, the first
	case c.wall(after).Equal(wall):
		return after
	}
	start, _ := before.In(c.zone).ZoneBounds() // the clock jumped over it
	return start.UTC()
}

// Next is the first time after t; zero when there is none.
func (c Cron) Next(t time.Time) time.Time {
	for wall := c.spec.Next(c.wall(t)); !wall.IsZero(); wall = c.spec.Next(wall) {
		if at := c.moment(wall); at.After(t) {
			return at
		}
	}
	return time.Time{}
}

// often holds for what comes more than once a day.
func (c Cron) often() bool {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := c.spec.Next(day)
	return c.spec.Next(first).Sub(first) < 24*time.Hour
}

// Period names the period that began at a time: its day, and its time where there are
// several on one.
func (c Cron) Period(at time.Time) string {
	if c.often() {
		return at.In(c.zone).Format("2006-01-02T15:04")
	}
	return at.In(c.zone).Format("2006-01-02")
}

// Words is the schedule for people: "every night at 01:30 Asia/Tokyo".
func (c Cron) Words() string {
	f := strings.Fields(c.Text)
	var minute, hour int
	if len(f) != 5 {
		return c.Text + " " + c.zone.String()
	}
	if _, err := fmt.Sscanf(f[0]+" "+f[1], "%d %d", &minute, &hour); err != nil || f[2] != "*" || f[3] != "*" || strings.ContainsAny(f[0]+f[1], "*/,-") {
		return "cron " + c.Text + " " + c.zone.String()
	}
	when := "day"
	switch {
	case f[4] != "*":
		when = "day of the week " + f[4]
	case hour < 6 || hour >= 21:
		when = "night"
	}
	return fmt.Sprintf("every %s at %02d:%02d %s", when, hour, minute, c.zone)
}
