package scheduler

import (
	"strings"
	"testing"
	"time"
)

// FuzzCron: what is taken comes again, later each time, on whole minutes that the clock
// on the wall shows, and nothing is passed over by asking from a moment between two.
func FuzzCron(f *testing.F) {
	for _, text := range []string{
		"30 1 * * *", "@daily", "*/7 2-3 * * SUN", "0 0 29 2 *", "0 0 31 2 *", "@every 5m", "CRON_TZ=UTC 0 0 * * *", "30 2 * 3,10 0", "59 23 31 12 ?", "0 0 1-7 * mon", "TZ=Local * * * * *", "* * * * * *", "1",
	} {
		f.Add(text, int64(1_774_746_000), true) // an hour before Europe's clocks go forward
		f.Add(text, int64(1_793_235_540), false)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, unix int64, abroad bool) {
		zone := time.UTC
		if abroad {
			zone = berlin
		}
		c, err := ParseCron(text, zone)
		if err != nil {
			if !strings.Contains(err.Error(), "\"") || c.spec != nil {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		at := time.Unix(unix%(1<<32), unix&7)
		next := c.Next(at)
		for range 3 {
			if next.IsZero() {
				return // within five years there is none, as of 29 February before 2104
			}
			if !next.After(at) || next.Nanosecond() != 0 || next.Second() != 0 {
				t.Fatalf("%q: after %s comes %s", text, at, next)
			}
			if between := at.Add(next.Sub(at) / 2); between.Before(next) && !c.Next(between).Equal(next) {
				t.Fatalf("%q: after %s comes %s, but after %s %s", text, at, next, between, c.Next(between))
			}
			if c.Period(next) == "" || c.Words() == "" {
				t.Fatalf("%q: no words", text)
			}
			at, next = next, c.Next(next)
			if !next.IsZero() && c.Period(at) == c.Period(next) {
				t.Fatalf("%q: %s and %s are one period, %s", text, at, next, c.Period(at))
			}
		}
	})
}
