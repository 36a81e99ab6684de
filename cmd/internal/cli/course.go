package cli

import (
	"math"
	"slices"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// course is how many rows a lane can work off from now on: so many a minute,
// less while throttles hold, none before it opens, and no more in a day than the
// day's limits leave.
type course struct {
	now       time.Time
	opens     time.Time
	pace      float64            // rows a minute that came through lately; 0: not known
	most      float64            // rows a minute at the limits, without throttles; 0: not known
	limit     string             // what most comes from
	throttles []limiter.Throttle // of the class
	gates     []gate             // timetables that hold beside them
	day       dayRoom
	swift     bool // nothing but the day holds rows up: they go as fast as it lets them
}

// gate is a timetable: how fast rows may go at a moment, and when that changes next;
// zero for never.
type gate interface {
	RateAt(t time.Time) (rate scheduler.Rate, until time.Time)
}

// through is the course as timetables let it go.
func (c course) through(gates ...gate) course {
	c.gates = append(slices.Clone(c.gates), gates...)
	return c
}

// turns is when the next timetable changes after a moment, if that is before next.
func (c course) turns(t, next time.Time) time.Time {
	for _, g := range c.gates {
		if _, until := g.RateAt(t); !until.IsZero() && until.Before(next) {
			next = until
		}
	}
	return next
}

// dayRoom is what a day's limit leaves, in rows; the zero one is no limit.
type dayRoom struct {
	limit string // "rpd"
	today float64
	daily float64
	reset time.Time
}

// newCourse reads a lane's state for the rows of one class. Limits in shadow hold
// nothing up.
func newCourse(s limiter.LaneState, class string, cost costs, lately float64, now time.Time) course {
	c := course{now: now, opens: now, pace: lately}
	for _, t := range s.Throttles {
		if t.Class == class {
			c.throttles = append(c.throttles, t)
		}
	}
	for _, l := range s.Limits {
		if cost[l.Unit] > 0 && !l.Shadow {
			c.bound(l, class, cost[l.Unit])
		}
	}
	return c
}

// bound takes one limit into account.
func (c *course) bound(l limiter.LimitState, class string, cost float64) {
	room, open := float64(l.Effective), float64(l.Effective)
	for _, u := range l.Classes {
		if u.Class == class {
			if u.Cap > 0 && len(c.throttles) == 0 {
				room = min(room, float64(u.Cap))
			}
			continue
		}
		room, open = room-float64(max(u.Used, u.Protected)), open-float64(u.Protected)
	}
	switch l.Window {
	case limiter.Minute:
		// What the window holds leaves it after 61 s (limiter, Why slots).
		if perMinute := max(0, room) * 60 / 61 / cost; c.limit == "" || perMinute < c.most {
			c.most, c.limit = perMinute, l.Name
		}
	case limiter.TenMinutes:
		if perMinute := max(0, room) / 10 / cost; c.limit == "" || perMinute < c.most {
			c.most, c.limit = perMinute, l.Name
		}
	case limiter.Day:
		for _, u := range l.Classes {
			if u.Class == class {
				room -= float64(u.Used)
			}
		}
		d := dayRoom{limit: l.Name, today: max(0, room) / cost, daily: max(0, open) / cost, reset: gemini.NextPacificMidnight(c.now)}
		if c.day.limit == "" || d.today < c.day.today {
			c.day = d
		}
	}
}

// from is the course that begins later.
func (c course) from(t time.Time) course {
	if t.After(c.opens) {
		c.opens = t
	}
	return c
}

// share is what throttles leave at a moment.
func (c course) share(at time.Time) float64 {
	least := 1.0
	for _, t := range c.throttles {
		if t.Until.IsZero() || at.Before(t.Until) {
			least = min(least, float64(t.SharePPM(at))/ppm)
		}
	}
	open, _ := atAll(c.gates, at)
	return min(least, float64(open.PPM)/ppm)
}

// settled is when no throttle changes any more; timetables do for ever.
func (c course) settled() time.Time {
	last := c.now
	for _, t := range c.throttles {
		for _, end := range []time.Time{t.Until, t.RampTo} {
			if end.After(last) {
				last = end
			}
		}
	}
	return last
}

// rate is how many rows a minute come through at a moment: as many as lately, more
// or less by what the throttles leave since, never more than the limits allow.
func (c course) rate(at time.Time) float64 {
	then, now := c.share(at), c.share(c.now)
	byLimit, byPace := math.Inf(1), math.Inf(1)
	if c.limit != "" {
		byLimit = c.most * then
	}
	if c.limit == "" && c.swift {
		byLimit = swiftRows * then
	}
	if c.pace > 0 && now > 0 {
		byPace = c.pace * then / now
	}
	if fixed, _ := atAll(c.gates, at); fixed.PerMinute > 0 {
		byLimit = min(byLimit, float64(fixed.PerMinute))
	}
	if r := min(byLimit, byPace); !math.IsInf(r, 1) {
		return r
	}
	return 0
}

// swiftRows is more rows a minute than any run has.
const swiftRows = 1e9

// horizon ends a forecast: what takes longer is not worth a date.
const horizon = 60 * 24 * time.Hour

// after is when so many rows will have come through; not known where nothing says
// how fast.
func (c course) after(rows float64) (time.Time, bool) {
	settled, day := c.settled(), c.day
	for t := c.opens; t.Before(c.now.Add(horizon)); {
		next := t.Add(time.Minute)
		if !t.Before(settled) {
			next = c.now.Add(horizon)
		}
		if day.limit != "" && day.reset.After(t) && day.reset.Before(next) {
			next = day.reset
		}
		next = c.turns(t, next)
		can := c.rate(t) * next.Sub(t).Minutes()
		if day.limit != "" {
			can = min(can, day.today)
		}
		if r := c.rate(t); rows <= can && r > 0 {
			return t.Add(time.Duration(rows / r * float64(time.Minute))), true
		}
		rows -= can
		if day.today -= can; !next.Before(day.reset) {
			day.today, day.reset = day.daily, gemini.NextPacificMidnight(next)
		}
		t = next
	}
	return time.Time{}, false
}

// forecast is when so many rows will have come through, and what decides it.
func (c course) forecast(rows float64) (forecast, bool) {
	end, known := c.after(rows)
	if !known {
		return forecast{}, false
	}
	f := forecast{took: end.Sub(c.now), limit: c.limit, days: c.resets(rows, end)}
	switch {
	case f.days > 0:
		f.limit = c.day.limit
	case c.rate(c.now) < c.most*c.share(c.now):
		f.limit = "" // not the limits: what came through lately
	}
	return f, true
}

// resets counts the midnights in California until the end of so many rows; none
// where they end no later for the day's limit.
func (c course) resets(rows float64, end time.Time) (days int) {
	midnight := gemini.NextPacificMidnight(c.opens)
	if c.day.limit == "" || !midnight.Before(end) {
		return 0
	}
	free := c
	free.day = dayRoom{}
	// Steps of a ramp begin anew at a midnight: less than a minute is no wait.
	if at, known := free.after(rows); known && end.Sub(at) < time.Minute {
		return 0
	}
	for ; midnight.Before(end); midnight = gemini.NextPacificMidnight(midnight) {
		days++
	}
	return days
}
