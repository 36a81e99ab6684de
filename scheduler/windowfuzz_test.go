package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzWindow: what is refused is placed within the text; what is taken says the same
// when it is read again, wherever, and changes when it says that it does.
func FuzzWindow(f *testing.F) {
	for _, text := range []string{
		"22:00-07:00@100%, else @0%", "Mon-Fri 22:00-07:00@100%, Sat-Sun@50%, else @2.5% in Europe/Berlin",
		"00:00-24:00@0%, else @0%", "23:30-00:30@300rpm", "Sun 01:59-03:01@1%, else@99.9999%", "07:00-07:00@1%, else @1%",
		"Fri-Mon 12:00-11:59@7 %,else @ 100 % in Asia/Tokyo", "9:00-10:00@1e1%, else @0x1p3%", "é@1%", "else @1%, else @2%", "22:00-07:00@100% in Local, else @0%",
	} {
		f.Add(text, int64(1_774_746_000), true) // an hour before Europe's clocks go forward
		f.Add(text, int64(1_793_235_540), false)
	}
	f.Fuzz(func(t *testing.T, text string, unix int64, fixed bool) {
		w, err := parseWindow("field", text, time.UTC, fixed)
		if err != nil {
			refusedWindow(t, text, err)
			return
		}
		at := time.Unix(unix%(1<<33), 0)
		again, err := parseWindow("field", w.Named(), time.FixedZone("elsewhere", 3600), fixed)
		if err != nil {
			t.Fatalf("%q is taken, and as %q it is not: %v", text, w.Named(), err)
		}
		if again.Named() != w.Named() {
			t.Errorf("%q becomes %q, and that %q", text, w.Named(), again.Named())
		}
		rate, until := w.RateAt(at)
		if other, end := again.RateAt(at); other != rate || !end.Equal(until) {
			t.Errorf("%q at %s: %v until %s, read again %v until %s", text, at.UTC(), rate, until, other, end)
		}
		if rate.PPM < 0 || rate.PPM > million || rate.PerMinute < 0 || rate.PerMinute > mostPerMinute || !fixed && rate.PerMinute > 0 {
			t.Errorf("%q: %+v", text, rate)
		}
		changes(t, w, at, rate, until)
	})
}

func refusedWindow(t *testing.T, text string, err error) {
	t.Helper()
	var wrong *WindowError
	if !errors.As(err, &wrong) {
		t.Fatalf("%q: %v", text, err)
	}
	if wrong.Field != "field" || wrong.Problem == "" || wrong.At < 1 || wrong.At > utf8.RuneCountInString(text)+1 {
		t.Errorf("%q: %+v", text, wrong)
	}
	if !strings.HasPrefix(string([]rune(text)[wrong.At-1:]), string([]rune(wrong.Part))) {
		t.Errorf("%q: at character %d stands not %q", text, wrong.At, wrong.Part)
	}
}

// changes looks at each quarter of an hour up to the change that is promised.
func changes(t *testing.T, w Window, at time.Time, rate Rate, until time.Time) {
	t.Helper()
	end := until
	if until.IsZero() {
		end = at.Add(8 * 24 * time.Hour)
	} else if got, _ := w.RateAt(until); got == rate || !until.After(at) {
		t.Errorf("%q at %s: %v, and at %s, when that should end, %v", w.Text, at.UTC(), rate, until.UTC(), got)
	}
	for between := at; between.Before(end); between = between.Add(15 * time.Minute) {
		if got := w.rate(between); got != rate {
			t.Fatalf("%q at %s: %v until %s, but at %s %v", w.Text, at.UTC(), rate, until.UTC(), between.UTC(), got)
		}
	}
}
