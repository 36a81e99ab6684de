package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestNamedZone: a zone goes by a name under which its clocks are the same all year.
func TestNamedZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	winter := time.FixedZone("Local", 3600)
	for want, c := range map[string]struct {
		zone  *time.Location
		names []string
	}{
		"Europe/Berlin": {berlin, nil},
		"Africa/Lagos":  {winter, []string{"Europe/Berlin", "", "nonsense", "Africa/Lagos"}}, // no summer time
		"Local":         {winter, []string{"Europe/Berlin"}},
	} {
		if got, ok := namedZone(c.zone, now, c.names...); got.String() != want || ok != (want != "Local") {
			t.Errorf("%v %q is %s (%v), want %s", c.zone, c.names, got, ok, want)
		}
	}
}

// steerTexts reads settings as one command line gives them.
func steerTexts(t *testing.T, s *jobs.Spec, now time.Time, texts ...string) {
	t.Helper()
	c := &loaded{Config: Config{TimeZone: "America/Los_Angeles"}}
	for i := 0; i < len(texts); i += 2 {
		if err := settingNamed(texts[i]).read(c, s, texts[i+1], now); err != nil {
			t.Fatalf("--%s %s: %v", texts[i], texts[i+1], err)
		}
	}
}

// TestOneClock: a window and a deadline that one person types are by one clock, and say
// by which, whatever the configuration's zone is.
func TestOneClock(t *testing.T) {
	defer func(was *time.Location) { time.Local = was }(time.Local)
	zone := func(name string) *time.Location {
		z, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	time.Local = zone("Europe/Berlin")
	now := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	var s jobs.Spec
	steerTexts(t, &s, now, jobs.SetWindow, "22:00-07:00@100%, else @10%", jobs.SetDeadline, "07:00")
	if s.Steer.Window != "22:00-07:00@100%, else @10% in Europe/Berlin" || s.Steer.Deadline.Hour() != 6 || s.Steer.Clocks != "Europe/Berlin" || s.Steer.Zone != "" {
		t.Errorf("%+v", s.Steer)
	}
	time.Local = zone("America/New_York") // somebody else changes it
	steerTexts(t, &s, now, jobs.SetDeadline, "07:00")
	if s.Steer.Deadline.Hour() != 12 || !strings.HasSuffix(s.Steer.Window, " in Europe/Berlin") {
		t.Errorf("by another person: %+v", s.Steer)
	}
	steerTexts(t, &s, now, jobs.SetZone, "Asia/Tokyo")
	steerTexts(t, &s, now, jobs.SetDeadline, "07:00")
	if s.Steer.Window != "22:00-07:00@100%, else @10% in Asia/Tokyo" || s.Steer.Deadline.Hour() != 22 {
		t.Errorf("by the zone that was said: %+v", s.Steer)
	}
	if got := showDeadline(&loaded{}, s, now); !strings.HasPrefix(got, "07:00 JST, in ") {
		t.Errorf("it is shown as %q", got)
	}
	steerTexts(t, &s, now, jobs.SetWindow, "09:00-17:00@100% in Europe/Paris")
	if s.Steer.Window != "09:00-17:00@100%, else @0% in Europe/Paris" {
		t.Errorf("by a zone of its own: %q", s.Steer.Window)
	}
}

// TestScheduleHasOneClock: its window and deadline are by the clock of its cron.
func TestScheduleHasOneClock(t *testing.T) {
	for zone, s := range map[string]ScheduleConfig{
		"Asia/Tokyo":    {"zone": "Asia/Tokyo", "window": "01:00-07:00@100%"},
		"Europe/Berlin": {"deadline": "07:00"},
		"":              {"zone": "Asia/Tokyo"},
	} {
		o, _, err := s.command(nil, "", "Europe/Berlin")
		if err != nil || *o.steerFlags.texts[jobs.SetZone] != zone {
			t.Errorf("%v: by %q (%v), want %q", s, *o.steerFlags.texts[jobs.SetZone], err, zone)
		}
	}
}
