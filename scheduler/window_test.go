package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestWindowOverTheDay: shares and their next change, over midnight, with several
// stretches, and where the clock is changed: in Berlin 2026 it jumps from 02:00
// to 03:00 on 29 March and goes back from 03:00 to 02:00 on 25 October.
func TestWindowOverTheDay(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct {
		text, at string // at in UTC
		ppm      int64
		until    string // in UTC; "" never
	}{
		{"22:00-07:00@100%, else @10%", "2026-01-15T20:59:59Z", 100_000, "2026-01-15T21:00:00Z"},
		{"22:00-07:00@100%, else @10%", "2026-01-15T21:00:00Z", million, "2026-01-16T06:00:00Z"},
		{"22:00-07:00@100%, else @10%", "2026-01-16T05:59:59Z", million, "2026-01-16T06:00:00Z"},
		{"22:00-07:00@100%, else @10%", "2026-01-16T06:00:00Z", 100_000, "2026-01-16T21:00:00Z"},
		{"22:00-07:00@100%, else @10%", "2026-07-15T05:00:00Z", 100_000, "2026-07-15T20:00:00Z"}, // summer: 07:00 is 05:00 UTC
		{"22:00-24:00@100%, 00:00-06:30@50%, else @0.5%", "2026-01-15T22:30:00Z", million, "2026-01-15T23:00:00Z"},
		{"22:00-24:00@100%, 00:00-06:30@50%, else @0.5%", "2026-01-15T23:00:00Z", 500_000, "2026-01-16T05:30:00Z"},
		{"22:00-24:00@100%, 00:00-06:30@50%, else @0.5%", "2026-01-16T05:30:00Z", 5_000, "2026-01-16T21:00:00Z"},
		{"00:00-24:00@40%, else @0%", "2026-01-16T05:30:00Z", 400_000, ""},
		{"22:00-07:00@100%, else @0% in America/New_York", "2026-01-16T02:59:00Z", 0, "2026-01-16T03:00:00Z"},
		// The night of 28 March is an hour shorter, that of 24 October an hour longer.
		{"22:00-07:00@100%, else @10%", "2026-03-28T21:00:00Z", million, "2026-03-29T05:00:00Z"},
		{"22:00-07:00@100%, else @10%", "2026-10-24T20:00:00Z", million, "2026-10-25T06:00:00Z"},
		// A stretch that begins in the hour left out begins when the clock has jumped over it …
		{"02:30-04:00@100%, else @10%", "2026-03-29T00:59:00Z", 100_000, "2026-03-29T01:00:00Z"},
		{"02:30-04:00@100%, else @10%", "2026-03-29T01:00:00Z", million, "2026-03-29T02:00:00Z"},
		// … and one in the hour that comes twice happens twice.
		{"02:00-02:30@100%, else @10%", "2026-10-25T00:00:00Z", million, "2026-10-25T00:30:00Z"},
		{"02:00-02:30@100%, else @10%", "2026-10-25T00:30:00Z", 100_000, "2026-10-25T01:00:00Z"},
		// Days are those on which a stretch begins: Friday's night ends on Saturday.
		{"Mon-Fri 22:00-07:00@100%, else @10%", "2026-01-16T20:59:00Z", 100_000, "2026-01-16T21:00:00Z"}, // Friday
		{"Mon-Fri 22:00-07:00@100%, else @10%", "2026-01-16T23:30:00Z", million, "2026-01-17T06:00:00Z"}, // Saturday 00:30
		{"Mon-Fri 22:00-07:00@100%, else @10%", "2026-01-17T06:00:00Z", 100_000, "2026-01-19T21:00:00Z"}, // to Monday
		{"Mon-Thu 22:00-07:00@100%, Sat-Sun@50%, Fri 22:00-24:00@100%, else @0%", "2026-01-16T22:00:00Z", million, "2026-01-16T23:00:00Z"},
		{"Fri-Mon@40%, else @0%", "2026-01-19T22:59:00Z", 400_000, "2026-01-19T23:00:00Z"},
		{"wednesday 10:00-11:00@100%, else @0%", "2026-01-14T10:00:00Z", 0, "2026-01-21T09:00:00Z"},
		{"Sun 00:00-05:00@100%, else @0%", "2026-03-28T23:00:00Z", million, "2026-03-29T03:00:00Z"}, // 4 h long
	} {
		w, err := ParseWindow("windows.bulk", c.text, berlin)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		ppm, until := w.At(at)
		got := ""
		if !until.IsZero() {
			got = until.UTC().Format(time.RFC3339)
		}
		if ppm != c.ppm || got != c.until {
			t.Errorf("%q at %s: %d until %q, want %d until %q", c.text, c.at, ppm, got, c.ppm, c.until)
		}
	}
	if ppm, until := (Window{}).At(time.Unix(0, 0)); ppm != million || !until.IsZero() {
		t.Errorf("no window: %d until %v, want everything for ever", ppm, until)
	}
}

// TestWindowProblems: each says the field, the place and what is wrong there.
func TestWindowProblems(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		part string
		says string
	}{
		{"22:00-07:00@100%", 17, "", "else"},
		{"", 1, "", "FROM-TO"},
		{"22:00-25:00@100%, else @10%", 7, "25:00", "time of day"},
		{"22:60-07:00@100%, else @10%", 1, "22:60", "time of day"},
		{"22:00@100%, else @10%", 1, "22:00", "FROM-TO"},
		{"22:00-22:00@100%, else @10%", 1, "22:00-22:00", "empty"},
		{"24:00-07:00@100%, else @10%", 1, "24:00-07:00", "begins at 00:00"},
		{"22:00-07:00@101%, else @10%", 13, "101%", "percentage"},
		{"22:00-07:00@100, else @10%", 13, "100", "percentage"},
		{"22:00-07:00@-1%, else @10%", 13, "-1%", "percentage"},
		{"22:00-07:00@NaN%, else @10%", 13, "NaN%", "percentage"},
		{"22:00-07:00@100%, else @10%, else @0%", 30, "else @0%", "twice"},
		{"22:00-07:00@100%, 06:00-08:00@50%, else @10%", 19, "06:00-08:00@50%, else @10%", "overlaps"},
		{"22:00-07:00@100%, otherwise 10%", 19, "otherwise 10%", "FROM-TO"},
		{"22:00-07:00@100%, else @10% in Berlin", 32, "Berlin", "time zone"},
		{"Mon-Fry 22:00-07:00@100%, else @10%", 1, "Mon-Fry", "days such as Mon-Fri"},
		{"Mon-Fri 22:00@100%, else @10%", 9, "22:00", "FROM-TO"},
		{"Mon-Fri 22:00-07:00@100%, Sat@50%, else @0%", 27, "Sat@50%, else @0%", "ends on Saturday morning"},
		{"22:00-07:00@300rpm, else @10%", 13, "300rpm", "window of one run"},
	} {
		_, err := ParseWindow("windows.bulk", c.text, time.UTC)
		var e *WindowError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v, want a *WindowError", c.text, err)
			continue
		}
		if e.Field != "windows.bulk" || e.At != c.at || e.Part != c.part || !strings.Contains(e.Problem, c.says) {
			t.Errorf("%q: %v, want character %d, %q, about %q", c.text, err, c.at, c.part, c.says)
		}
	}
}

// TestTimetableHasRates: a run may also have so many calls a minute.
func TestTimetableHasRates(t *testing.T) {
	w, err := ParseTimetable("--window", "22:00-07:00@100%, 12:00-13:00@0%, else @300 rpm", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"23:00": "100%", "12:30": "0%", "08:00": "300rpm"} {
		clock, _ := time.Parse("15:04", at)
		if rate, until := w.RateAt(clock); rate.String() != want || until.IsZero() || rate.Closed() != (want == "0%") || rate.Full() != (want == "100%") {
			t.Errorf("at %s %s until %v, want %s", at, rate, until, want)
		}
	}
	var wrong *WindowError
	if _, err := ParseTimetable("--window", "22:00-07:00@0rpm, else @10%", nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "calls a minute as in 300rpm") {
		t.Errorf("no calls a minute: %v", err)
	}
}

// TestTimetableAlone: what a run's timetable does not name is closed, and it says so;
// the text goes along with its zone.
func TestTimetableAlone(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"23:00-07:00@100%":                             "23:00-07:00@100%, else @0% in Asia/Tokyo",
		"23:00-07:00@100%, else @10%":                  "23:00-07:00@100%, else @10% in Asia/Tokyo",
		"23:00-07:00@100% in Europe/Berlin":            "23:00-07:00@100%, else @0% in Europe/Berlin",
		"23:00-07:00@100% in Europe/Berlin, else @10%": "23:00-07:00@100% in Europe/Berlin, else @10%",
	} {
		w, err := ParseTimetable("--window", text, tokyo)
		if err != nil || w.Named() != want {
			t.Errorf("%s: %q (%v), want %q", text, w.Named(), err, want)
			continue
		}
		again, err := ParseTimetable("--window", w.Named(), time.UTC)
		noon := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC) // in Tokyo; 04:00 in Berlin
		if rate, _ := again.RateAt(noon); err != nil || again.Named() != want || rate != w.rate(noon) {
			t.Errorf("%s, read again: %q, %s (%v)", want, again.Named(), rate, err)
		}
	}
	w, err := ParseTimetable("--window", "23:00-07:00@100% in Europe/Berlin, else @10%", nil)
	if got := w.In(tokyo); err != nil || got != "23:00-07:00@100%, else @10% in Asia/Tokyo" {
		t.Errorf("by another clock: %q (%v)", got, err)
	}
	if _, err := ParseWindow("windows.bulk", "23:00-07:00@100%", nil); err == nil {
		t.Error("of a class it has to be said what holds outside")
	}
}
