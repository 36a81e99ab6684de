package cli

import (
	"testing"
	"time"
)

// at is a moment of 30 November 2026 on the wall clock that tests run on.
func at(hour, minute int) time.Time { return time.Date(2026, 11, 30, hour, minute, 0, 0, time.Local) }

func TestMoment(t *testing.T) {
	t.Parallel()
	now := at(9, 30)
	for text, want := range map[string]time.Time{
		"":                              {},
		"45m":                           at(10, 15),
		"10:00":                         at(10, 0),
		"10:00:30":                      at(10, 0).Add(30 * time.Second),
		"10:00:30 " + now.Format("MST"): at(10, 0).Add(30 * time.Second), // as it is printed
		"09:00":                         at(9, 0).AddDate(0, 0, 1),       // that time has passed today
		"2026-12-01T10:00":              at(10, 0).AddDate(0, 0, 1),
		"2026-12-01":                    at(0, 0).AddDate(0, 0, 1),
	} {
		if got, err := moment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"-5m", "0s", "2020-01-01", "soon", "25:00"} {
		if got, err := moment(text, now); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

func TestPast(t *testing.T) {
	t.Parallel()
	now := at(9, 30)
	for text, want := range map[string]time.Time{
		"3h":               at(6, 30),
		"07:00":            at(7, 0),
		"22:00":            at(22, 0).AddDate(0, 0, -1),
		"07:00:30":         at(7, 0).Add(30 * time.Second),
		"2026-11-29T10:00": at(10, 0).AddDate(0, 0, -1),
	} {
		if got, err := past(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	if got, err := past("yesterday", now); err == nil {
		t.Errorf("yesterday: %v, want an error", got)
	}
}

func TestInterval(t *testing.T) {
	t.Parallel()
	now := at(9, 30)
	for _, c := range []struct {
		from, to string
		a, b     time.Time
	}{
		{"1h", "", at(8, 30), now},
		{"07:00", "09:00", at(7, 0), at(9, 0)},
		{"22:00", "07:00", at(22, 0).AddDate(0, 0, -1), at(7, 0)}, // a night
		{"07:00", "11:00", at(7, 0), now},                         // not over yet
		{"3h", "1h", at(6, 30), at(8, 30)},
	} {
		a, b, err := interval(c.from, c.to, now)
		if err != nil || !a.Equal(c.a) || !b.Equal(c.b) {
			t.Errorf("%s to %s: %v to %v, %v; want %v to %v", c.from, c.to, a, b, err, c.a, c.b)
		}
	}
	for _, c := range [][2]string{{"1h", "3h"}, {"2026-12-01", ""}, {"x", ""}, {"1h", "x"}} {
		if a, b, err := interval(c[0], c[1], now); err == nil {
			t.Errorf("%v: %v to %v, want an error", c, a, b)
		}
	}
}
