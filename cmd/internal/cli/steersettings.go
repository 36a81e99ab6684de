package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// runSetting is a setting of a run that may change while it goes on: how a text of it
// is read into the run's specification, and how it is shown.
type runSetting struct {
	name  string // of its flag, and in jobs.Run.Set
	help  string
	read  func(c *loaded, s *jobs.Spec, text string, now time.Time) error
	shown func(c *loaded, s jobs.Spec, now time.Time) string
}

// kept is a setting as an event has it, which people with other clocks read later.
func (s runSetting) kept(c *loaded, spec jobs.Spec, now time.Time) string {
	if s.name == jobs.SetDeadline && !spec.Steer.Deadline.IsZero() {
		return limiter.Instant(spec.Steer.Deadline)
	}
	if s.name == jobs.SetWindow { // what holds at the moment is over by then
		timetable, _, _ := strings.Cut(s.shown(c, spec, now), "; now ")
		return timetable
	}
	return s.shown(c, spec, now)
}

// noSetting takes a setting away.
const noSetting = "none"

var runSettings = []runSetting{
	{jobs.SetWindow, "`TIMETABLE` in which the run may work: \"22:00-07:00@100%, else @10%\"; rates @300rpm, days \"Mon-Fri 22:00-07:00@100%\"; without else: closed outside", readWindow, showWindow},
	{jobs.SetZone, "`ZONE` of --window and --deadline, such as Asia/Tokyo (default this machine's)", readZone, showZone},
	{jobs.SetDeadline, "when the run has to be done: a `TIME` of day (07:00), a moment (2026-12-01T07:00) or a time from now (8h)", readDeadline, showDeadline},
	{jobs.SetOnLate, "what follows at the deadline: stop ends the open rows (default), continue goes on, upgrade first goes before other runs and by standard instead of flex", readOnLate, showOnLate},
	{jobs.SetMaxCost, "pause the run when its calls have cost so many `DOLLARS` in all", readMaxCost, showMaxCost},
	{jobs.SetWeight, "the run's part beside other runs: 3 has three times the part of 1", readWeight, func(_ *loaded, s jobs.Spec, _ time.Time) string { return fmt.Sprint(max(s.Steer.Weight, 1)) }},
	{jobs.SetRamp, "start slowly: from a tenth of the rate to all of it over this `TIME` (10m), from now on", readRamp, showRamp},
	{jobs.SetServiceTier, "service `TIER` to ask for: standard, flex, priority or auto", readTier, func(_ *loaded, s jobs.Spec, _ time.Time) string { return orElse(s.Steer.ServiceTier, "standard") }},
	{jobs.SetHalt, "stop the run when its rows fail: `RULE` fail=20%/200, same=50, both with a comma between, or off", readHalt, showHalt},
	{jobs.SetAttempts, "real failures before a row fails", readAttempts, func(_ *loaded, s jobs.Spec, _ time.Time) string { return fmt.Sprint(s.Attempts) }},
	{jobs.SetMaxWait, "a row that waited longer than this since it was enqueued ends as expired", readMaxWait, showMaxWait},
	{jobs.SetKeep, "keep the run this `TIME` (30d, 36h, forever) after its end; none: as retention in the configuration has it", readKeep, showKeep},
}

func settingNamed(name string) runSetting {
	return runSettings[slices.IndexFunc(runSettings, func(s runSetting) bool { return s.name == name })]
}

// deadlineZone is the zone of a run's deadline: the run's own, else that of the person
// at the keyboard, as in all other times that commands read and print.
func deadlineZone(c *loaded, s jobs.Spec) *time.Location {
	if s.Steer.Zone == "" {
		return time.Local
	}
	return c.zoneOf(s.Steer)
}

// readZone also puts the window that is there by the clocks of the zone.
func readZone(c *loaded, s *jobs.Spec, text string, now time.Time) error {
	if s.Steer.Zone = text; text == noSetting {
		s.Steer.Zone = ""
	} else if zoneOK("zone", text) != nil {
		return fmt.Errorf("no such time zone %q; want a name such as Asia/Tokyo", text)
	}
	if s.Steer.Window == "" {
		return nil
	}
	zone, err := typedZone(s.Steer, now)
	if err != nil {
		return err
	}
	w, err := scheduler.ParseTimetable("--window", s.Steer.Window, zone)
	if err != nil {
		return err
	}
	return readWindow(c, s, w.In(zone), now)
}

func showZone(c *loaded, s jobs.Spec, now time.Time) string {
	if s.Steer.Zone != "" {
		return s.Steer.Zone
	}
	zone, ok := readerZone(now)
	if !ok {
		return "this machine's"
	}
	return zone.String() + " (this machine's)"
}

func readWindow(c *loaded, s *jobs.Spec, text string, now time.Time) error {
	if s.Steer.Window = ""; text == noSetting {
		return nil
	}
	zone, unnamed := typedZone(s.Steer, now)
	w, err := scheduler.ParseTimetable("--window", text, zone)
	switch {
	case err != nil:
		return err
	case unnamed != nil && !w.Zoned():
		return unnamed
	}
	if rate, change := w.RateAt(now); rate.Closed() && change.IsZero() {
		return fmt.Errorf("%q never opens, so that no row would ever be done; nightshift pause RUN holds a run", text)
	}
	s.Steer.Window = w.Named()
	tellIn(&s.Steer, now)
	return nil
}

func showWindow(c *loaded, s jobs.Spec, now time.Time) string {
	w, err := scheduler.ParseTimetable("--window", s.Steer.Window, c.zoneOf(s.Steer))
	if s.Steer.Window == "" || err != nil {
		return orElse(s.Steer.Window, noSetting)
	}
	rate, until := w.RateAt(now)
	text := fmt.Sprintf("%s; now %s", w.Named(), rate)
	if until.IsZero() {
		return text
	}
	next, _ := w.RateAt(until)
	return text + fmt.Sprintf(", %s from %s", next, w.Clock(until, now))
}

// soonestDeadline keeps a slip of the keyboard from ending all rows of a run.
const soonestDeadline = 10 * time.Second

func readDeadline(c *loaded, s *jobs.Spec, text string, now time.Time) (err error) {
	if s.Steer.Deadline = (time.Time{}); text == noSetting {
		s.Steer.OnLate = ""
		return nil
	}
	at, err := momentIn(text, now, deadlineZone(c, *s))
	if left := at.Sub(now); err == nil && left < soonestDeadline {
		err = fmt.Errorf("%q is %s ahead: all open rows would end then; want at least %s, or %s", text, max(left, 0), soonestDeadline, noSetting)
	}
	s.Steer.Deadline = at.UTC().Truncate(time.Second)
	tellIn(&s.Steer, now)
	return err
}

func showDeadline(c *loaded, s jobs.Spec, now time.Time) string {
	at := s.Steer.Deadline
	switch left := at.Sub(now); {
	case at.IsZero():
		return noSetting
	case left <= 0:
		return fmt.Sprintf("%s, %s ago", deadlineClock(c, s, now), ago(-left))
	default:
		return fmt.Sprintf("%s, in %s", deadlineClock(c, s, now), ago(left))
	}
}

// deadlineClock is a run's deadline in its zone, to the second where it was set so: what
// somebody typed is read back as it was typed.
func deadlineClock(c *loaded, s jobs.Spec, now time.Time) string {
	return wholeClock(s.Steer.Deadline, now, deadlineZone(c, s))
}

// wholeClock is clockIn that keeps seconds which are not 0, however far away.
func wholeClock(t, now time.Time, zone *time.Location) string {
	if text := clockIn(t, now, zone); t.Second() == 0 || strings.Count(text, ":") == 2 {
		return text
	}
	return strings.Replace(clockIn(t, now, zone), t.In(zone).Format("15:04"), t.In(zone).Format("15:04:05"), 1)
}

// nearby is a time in which seconds matter.
const nearby = 10 * time.Minute

// clockIn is a moment in a zone, with the day where it is not that of now.
func clockIn(t, now time.Time, zone *time.Location) string {
	t, now = t.In(zone), now.In(zone)
	if left := t.Sub(now); left > 0 && left < nearby {
		return t.Format("15:04:05 MST")
	}
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04 MST")
	}
	return t.Format("Mon 2 Jan 15:04 MST")
}

func readOnLate(_ *loaded, s *jobs.Spec, text string, _ time.Time) error {
	if text == noSetting {
		text = ""
	}
	s.Steer.OnLate = text
	return nil // Steering.Check knows the words
}

func showOnLate(_ *loaded, s jobs.Spec, _ time.Time) string {
	if s.Steer.Deadline.IsZero() {
		return noSetting
	}
	return cmp.Or(s.Steer.OnLate, jobs.LateStop)
}

func readMaxCost(_ *loaded, s *jobs.Spec, text string, _ time.Time) error {
	if s.Steer.MaxCost = 0; text == noSetting {
		return nil
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimPrefix(text, "$"), ",", ""), 64)
	if micro := math.Round(v * 1e6); err == nil && micro >= 1 && micro < 1e15 {
		s.Steer.MaxCost = int64(micro)
		return nil
	}
	return fmt.Errorf("%q: want dollars above zero, such as 5 or 0.50", text)
}

func showMaxCost(_ *loaded, s jobs.Spec, _ time.Time) string {
	if s.Steer.MaxCost == 0 {
		return noSetting
	}
	return usd(s.Steer.MaxCost)
}

func readWeight(_ *loaded, s *jobs.Spec, text string, _ time.Time) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if text == noSetting {
		n, err = 1, nil
	}
	if err != nil || n < 1 || n > 1000 {
		return fmt.Errorf("%q: want a whole number from 1 to 1000", text)
	}
	s.Steer.Weight = n
	return nil
}

func readRamp(_ *loaded, s *jobs.Spec, text string, now time.Time) error {
	if s.Steer.Ramp, s.Steer.RampFrom = 0, (time.Time{}); text == noSetting {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > jobs.LongestRamp {
		return fmt.Errorf("%q: want a time such as 10m, at most %s, or %s", text, jobs.LongestRamp, noSetting)
	}
	if d > 0 {
		s.Steer.Ramp, s.Steer.RampFrom = d, now.UTC().Truncate(time.Second)
	}
	return nil
}

func showRamp(c *loaded, s jobs.Spec, now time.Time) string {
	if s.Steer.Ramp == 0 {
		return noSetting
	}
	until, is := s.Steer.Starts(now)
	if !is {
		return s.Steer.Ramp.String() + "; over"
	}
	share, _ := s.Steer.RampShare(now)
	return fmt.Sprintf("%s; now %s, all from %s", s.Steer.Ramp, percent(float64(share)/ppm), clockIn(until, now, deadlineZone(c, s)))
}

func readTier(_ *loaded, s *jobs.Spec, text string, _ time.Time) error {
	if text == noSetting {
		text = ""
	}
	if !slices.Contains([]string{"", "standard", "flex", "priority", "auto"}, text) {
		return fmt.Errorf("%q: want standard, flex, priority or auto", text)
	}
	s.Steer.ServiceTier = text
	return nil
}

func readHalt(c *loaded, s *jobs.Spec, text string, _ time.Time) error {
	if text == noSetting {
		text = "off"
	}
	_, err := jobs.ParseHalt(text)
	s.Halt = text
	return err
}

func showHalt(_ *loaded, s jobs.Spec, _ time.Time) string {
	h, err := jobs.ParseHalt(s.Halt)
	if err != nil {
		return s.Halt
	}
	return h.String()
}

func readAttempts(_ *loaded, s *jobs.Spec, text string, _ time.Time) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 100 {
		return fmt.Errorf("%q: want a whole number from 1 to 100", text)
	}
	s.Attempts = n
	return nil
}

func readMaxWait(_ *loaded, s *jobs.Spec, text string, _ time.Time) error {
	if s.MaxWait = 0; text == noSetting {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return fmt.Errorf("%q: want a time such as 12h, at least 1s", text)
	}
	s.MaxWait = d
	return nil
}

func showMaxWait(_ *loaded, s jobs.Spec, _ time.Time) string {
	if s.MaxWait == 0 {
		return noSetting
	}
	return s.MaxWait.String()
}

func readKeep(_ *loaded, s *jobs.Spec, text string, _ time.Time) (err error) {
	if s.Steer.Keep = 0; text == noSetting {
		return nil
	}
	s.Steer.Keep, err = parseKeep(text)
	return err
}

func showKeep(c *loaded, s jobs.Spec, _ time.Time) string {
	switch {
	case s.Steer.Keep == jobs.KeepForever:
		return "forever"
	case s.Steer.Keep > 0:
		return days(s.Steer.Keep)
	case c.Retention.Results == "":
		return noSetting + ": until it is purged"
	}
	return c.Retention.Results + " (retention in the configuration)"
}
