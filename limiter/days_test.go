package limiter

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func utc(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestTurnOfDaysAndMonths: a day's limit is free again when the day ends in California, a
// month's where months are counted, to the millisecond.
func TestTurnOfDaysAndMonths(t *testing.T) {
	for name, c := range map[string]struct {
		limits     Limits
		months     string
		begin, end string // in UTC
	}{
		"a day":                {Limits{RPD: 2}, "", "2026-11-29 08:00", "2026-11-30 08:00"},
		"a day in summer":      {Limits{RPD: 2}, "Asia/Tokyo", "2026-07-01 07:00", "2026-07-02 07:00"},
		"a day of 23 hours":    {Limits{RPD: 2}, "", "2026-03-08 08:00", "2026-03-09 07:00"},
		"a day of 25 hours":    {Limits{RPD: 2}, "Europe/Paris", "2026-11-01 07:00", "2026-11-02 08:00"},
		"the year's last":      {Limits{RPD: 2}, "", "2026-12-31 08:00", "2027-01-01 08:00"},
		"leap day":             {Limits{RPD: 2}, "", "2028-02-29 08:00", "2028-03-01 08:00"},
		"December":             {Limits{USDPerMonth: 2}, "", "2026-12-01 08:00", "2027-01-01 08:00"},
		"March in Paris":       {Limits{USDPerMonth: 2}, "Europe/Paris", "2026-02-28 23:00", "2026-03-31 22:00"},
		"November in New York": {Limits{USDPerMonth: 2}, "America/New_York", "2026-11-01 04:00", "2026-12-01 05:00"},
		"March in New York":    {Limits{USDPerMonth: 2}, "America/New_York", "2026-03-01 05:00", "2026-04-01 04:00"},
		"October in Tokyo":     {Limits{USDPerMonth: 2}, "Asia/Tokyo", "2026-09-30 15:00", "2026-10-31 15:00"},
		"December in Tokyo":    {Limits{USDPerMonth: 2}, "Asia/Tokyo", "2026-11-30 15:00", "2026-12-31 15:00"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				begin, end := utc(b, c.begin), utc(b, c.end)
				b.set(begin.Add(-time.Millisecond))
				b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, MonthTZ: c.months,
					Lanes: []LaneConfig{{Lane: b.lane, Limits: c.limits, Lend: "now"}}}))
				why := ReasonQuota
				if c.limits.USDPerMonth > 0 {
					why = ReasonSpend
				}
				ask := func() Request { return b.request("interactive", Amounts{Requests: 1, MicroUSD: 1}) }
				endsAt := func(at time.Time) {
					b.Helper()
					for range 2 {
						b.granted(ask())
					}
					if d := b.refused(ask(), why); !d.RetryAt.Equal(at) {
						b.Errorf("at %s the answer is %s; want %s", b.now, d.RetryAt.UTC(), at)
					}
				}
				endsAt(begin) // the day or month before
				b.set(begin)
				endsAt(end)
				b.set(end.Add(-time.Millisecond))
				b.refused(ask(), why)
				b.set(end)
				b.granted(ask())
			})
		})
	}
}

// TestCalendarOnOtherHosts: where a host stands, and which zones it knows, is all the
// same.
func TestCalendarOnOtherHosts(t *testing.T) {
	for name, env := range map[string][]string{
		"Paris":               {"TZ=Europe/Paris"},
		"Tokyo":               {"TZ=Asia/Tokyo"},
		"no such zone":        {"TZ=Mars/Olympus"},
		"zone files are gone": {"ZONEINFO=/nowhere", "GOROOT=/nowhere", "TZ=Europe/Paris"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			args := []string{self, "-test.run=^TestTurnOfDaysAndMonths$/.*/^model$", "-test.count=1"}
			cmd := exec.Command(args[0], args[1:]...)
			if name == "zone files are gone" {
				cmd = withoutZoneFiles(t, args)
			}
			cmd.Env = append(os.Environ(), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// A zone that is another one on each host is none for a fleet.
func TestMonthsNeedANamedZone(t *testing.T) {
	b := newBench(t, "model")
	c := Config{Scope: b.scope, Classes: classes, MonthTZ: "Local", Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 1}}}}
	if err := c.Validate(); err == nil {
		t.Error("months of the host's own zone were accepted")
	}
}

// The zone of months is that of the last configuration, also when that has none.
func TestMonthZoneIsTakenBack(t *testing.T) {
	onEach(t, func(b *bench) {
		lane := b.lane
		for i, c := range []struct{ months, end string }{{"Europe/Paris", "2026-11-30 23:00"}, {"Asia/Tokyo", "2026-11-30 15:00"}, {"", "2026-12-01 08:00"}} {
			b.lane.Model = lane.Model + itoa(i)
			b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, MonthTZ: c.months,
				Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{USDPerMonth: 5}}}}))
			if got := b.state().Limits[0].NextFree; !got.Equal(utc(b, c.end)) {
				b.Errorf("month_tz %q: the month ends at %s; want %s", c.months, got.UTC(), c.end)
			}
		}
	})
}
