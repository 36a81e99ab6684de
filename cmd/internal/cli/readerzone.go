package cli

import (
	"errors"
	"os"
	"strings"
	"time"

	"nightshift/jobs"
)

// readerZone is the zone of the person at the keyboard by its name, under which other
// machines know it too; false where it has none.
func readerZone(now time.Time) (*time.Location, bool) {
	link, _ := os.Readlink("/etc/localtime") // "" where it is none
	file, _ := os.ReadFile("/etc/timezone")
	_, linked, _ := strings.Cut(link, "zoneinfo/")
	return namedZone(time.Local, now, linked, strings.TrimSpace(string(file)))
}

// namedZone is a zone that has a name: its own, or the first of those given by which
// clocks are the same, now and in half a year.
func namedZone(zone *time.Location, now time.Time, names ...string) (*time.Location, bool) {
	for _, name := range append([]string{zone.String()}, names...) {
		if zoneOK("", name) != nil {
			continue
		}
		named, err := time.LoadLocation(name)
		if err == nil && sameClock(named, zone, now) && sameClock(named, zone, now.AddDate(0, 6, 0)) {
			return named, true
		}
	}
	return zone, false
}

func sameClock(a, b *time.Location, at time.Time) bool {
	_, one := at.In(a).Zone()
	_, other := at.In(b).Zone()
	return one == other
}

// typedZone is the zone of what a person types of a run: the one that was said for the
// run, else the person's own.
func typedZone(s jobs.Steering, now time.Time) (*time.Location, error) {
	if s.Zone != "" {
		return time.LoadLocation(s.Zone)
	}
	zone, ok := readerZone(now)
	if !ok {
		return nil, errors.New("this machine does not say in which time zone it is; add --zone, such as --zone Europe/Berlin")
	}
	return zone, nil
}

// tellIn has times of the run told by the clock of who typed one, if it has a name.
func tellIn(s *jobs.Steering, now time.Time) {
	if zone, err := typedZone(*s, now); err == nil && s.Zone == "" {
		s.Clocks = zone.String()
	}
}
