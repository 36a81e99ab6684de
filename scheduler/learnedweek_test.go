package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// TestNightsAreLent walks the Model through a learned Monday: at night bulk has
// all but 2 %, from a quarter to nine it leaves what people will need.
func TestNightsAreLent(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	monday := time.Date(2026, 11, 30, 0, 0, 0, 0, berlin)
	profiles := map[string]*profile{"interactive": newProfile(berlin, hourIndex(monday)-1, lived(monday.AddDate(0, 0, -21), monday, berlin, office))}
	m := limiter.NewModel(testScope, monday)
	lane, err := limiter.ParseLane(testLane)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	must(m.Configure(t.Context(), limiter.Config{Scope: testScope, Classes: testClasses,
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: 1000}, Lend: "auto"}}}))
	look := func() limiter.ClassUse {
		s, err := m.State(t.Context(), lane)
		must(err)
		return s.Limits[0].Classes[0]
	}
	var table strings.Builder
	for at := monday; at.Before(monday.AddDate(0, 0, 1)); at = at.Add(15 * time.Minute) {
		m.SetNow(at)
		s, err := m.State(t.Context(), lane)
		must(err)
		must(m.SetFloors(t.Context(), lane, floorsFor(s.Limits, testClasses, profiles, at), at.Add(floorsLast)))
		c := look()
		fmt.Fprintf(&table, "%s %4d rpm  %s\n", at.Format("15:04"), c.Protected, c.Why)
		want := int64(20)
		if clock := at.Format("15:04"); clock >= "08:45" && clock < "18:00" {
			want = 210
		}
		if c.Protected != want {
			t.Errorf("%s: %d are kept; want %d", at.Format("15:04"), c.Protected, want)
		}
	}
	m.Advance(floorsLast)
	if c := look(); c.Protected != 100 {
		t.Errorf("with no scheduler %d are kept; want the assumed 100", c.Protected)
	}
	t.Logf("kept of 1000 rpm for people on a learned Monday:\n%s", table.String())
}
