package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// lived makes hours: from one time up to another, with so many requests in the
// largest minute of each as perMinute says by the clock on the wall.
func lived(from, to time.Time, wall *time.Location, perMinute func(t time.Time) int64) map[int64]hourUse {
	out := map[int64]hourUse{}
	for h := hourIndex(from); h < hourIndex(to); h++ {
		if n := perMinute(hourStart(h).In(wall)); n > 0 {
			var u hourUse
			u.peak[limiter.Requests], u.sum[limiter.Requests] = n, 30*n
			u.peak[limiter.MicroUSD], u.ten, u.sum[limiter.MicroUSD] = 1000*n, 5000*n, 30_000*n
			out[h] = u
		}
	}
	return out
}

// office is 0.3 % of 1000 rpm at night, 14 % from nine to six on workdays.
func office(t time.Time) int64 {
	if d := t.Weekday(); d != time.Saturday && d != time.Sunday && t.Hour() >= 9 && t.Hour() < 18 {
		return 140
	}
	return 3
}

var interactive = limiter.Class{Name: "interactive", GuaranteePPM: 300_000}

func limitState(name string, u limiter.Unit, w limiter.Window, amount int64) limiter.LimitState {
	return limiter.LimitState{Limit: limiter.Limit{Unit: u, Window: w, Amount: amount}, Name: name}
}

var (
	rpm1000 = limitState("rpm", limiter.Requests, limiter.Minute, 1000)
	usd10m  = limitState("usd_per_10m", limiter.MicroUSD, limiter.TenMinutes, 10_000_000)
)

// TestLearnedWeek: the floor is small where the hour was always quiet, what the
// hour needed otherwise, from a quarter of an hour before.
func TestLearnedWeek(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	begin := time.Date(2026, 11, 9, 0, 0, 0, 0, berlin)
	now := begin.AddDate(0, 0, 14)
	p := newProfile(berlin, hourIndex(now)-1, lived(begin, now, berlin, office))
	if !p.known() {
		t.Fatal("two weeks are not known")
	}
	for _, c := range []struct {
		at     string
		amount int64
		why    string
	}{
		{"Mon 03:00", 5, "Mon 03:00 CET was always quiet"},
		{"Mon 08:44", 5, "Mon 08:00 CET was always quiet"},
		{"Mon 08:45", 210, "Mon 09:00 CET learned need 210 rpm, from 08:45"},
		{"Mon 09:00", 210, "Mon 09:00 CET learned need 210 rpm"},
		{"Mon 17:59", 210, "Mon 17:00 CET learned need 210 rpm"},
		{"Mon 18:00", 5, "Mon 18:00 CET was always quiet"},
		{"Fri 23:59", 5, "Fri 23:00 CET was always quiet"},
		{"Sat 08:50", 5, "Sat 08:00 CET was always quiet"},
		{"Sun 12:00", 5, "Sun 12:00 CET was always quiet"},
	} {
		at := now
		for at.Format("Mon 15:04") != c.at {
			at = at.Add(time.Minute)
		}
		f, ok := p.floorFor(interactive, rpm1000, at)
		if want := (limiter.Floor{Class: "interactive", Amount: c.amount, Why: c.why}); !ok || f != want {
			t.Errorf("%s: %+v, %v; want %+v", c.at, f, ok, want)
		}
	}
}

// TestLearnedNeedOfOtherLimits: money in ten minutes has its own largest use,
// calls in flight follow requests in quiet hours only, a smoothed class none.
func TestLearnedNeedOfOtherLimits(t *testing.T) {
	begin := time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC)
	now := begin.AddDate(0, 0, 7)
	p := newProfile(time.UTC, hourIndex(now)-1, lived(begin, now, time.UTC, office))
	night, day := now.Add(3*time.Hour), now.Add(10*time.Hour)
	concurrency := limitState("concurrency", limiter.Concurrency, limiter.Held, 100)
	agent := limiter.Class{Name: "agent", GuaranteePPM: 300_000, Smooth: true}
	for _, c := range []struct {
		class  limiter.Class
		limit  limiter.LimitState
		at     time.Time
		amount int64
		ok     bool
		why    string
	}{
		{interactive, usd10m, day, 1_050_000, true, "Mon 10:00 UTC learned need $1.05 in 10m"},
		{interactive, concurrency, night, 5, true, "Mon 03:00 UTC learned need 5 rpm: no more are in flight"},
		{interactive, concurrency, day, 0, false, ""},
		{interactive, limitState("ipm", limiter.Images, limiter.Minute, 100), day, 0, false, ""},
		{interactive, limitState("usd_per_month", limiter.MicroUSD, limiter.Month, 100), day, 0, false, ""},
		{interactive, limitState("rpm", limiter.Requests, limiter.Minute, 600), day, 210, true, "Mon 10:00 UTC learned need 210 rpm, no more than its guarantee"},
		{agent, rpm1000, day, 0, false, ""},
	} {
		f, ok := p.floorFor(c.class, c.limit, c.at)
		if ok != c.ok || ok && (f.Amount != c.amount || f.Why != c.why) {
			t.Errorf("%s %s: %+v, %v; want %d, %v, %q", c.class.Name, c.limit.Name, f, ok, c.amount, c.ok, c.why)
		}
	}
}

// TestWeekIsKnown: from a week after the first use on, idle hours included.
func TestWeekIsKnown(t *testing.T) {
	first := time.Date(2026, 12, 28, 12, 0, 0, 0, time.UTC)
	uses := lived(first, first.Add(2*time.Hour), time.UTC, func(time.Time) int64 { return 1 })
	for hours, want := range map[int64]bool{2: false, 167: false, 168: true, 600: true} {
		if p := newProfile(time.UTC, hourIndex(first)+hours-1, uses); p.known() != want {
			t.Errorf("known after %d hours: %v", hours, p.known())
		}
	}
	if newProfile(time.UTC, hourIndex(first), nil).known() {
		t.Error("a class that never called is known")
	}
}

// TestRecentWeeksCountMore: each week counts three quarters of the next; the
// largest decides.
func TestRecentWeeksCountMore(t *testing.T) {
	begin := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for weeks, want := range map[int]int64{1: 1000, 2: 750, 3: 563, 4: 422, 5: 317} {
		now := begin.AddDate(0, 0, 7*weeks)
		p := newProfile(time.UTC, hourIndex(now)-1, lived(begin, now, time.UTC, func(t time.Time) int64 {
			if t.Before(begin.Add(time.Hour)) {
				return 1000
			}
			return 10
		}))
		if got := p.at(now).peak[limiter.Requests]; got != want {
			t.Errorf("a peak of 1000 counts %d after %d weeks; want %d", got, weeks, want)
		}
	}
}

// TestHabitsFollowTheWall: after clocks were set back or forward the rise is
// where people's clocks have it, an hour later or earlier in UTC.
func TestHabitsFollowTheWall(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for name, change := range map[string]time.Time{
		"a Sunday of 25 hours": time.Date(2026, 10, 25, 0, 0, 0, 0, berlin),
		"a Sunday of 23 hours": time.Date(2026, 3, 29, 0, 0, 0, 0, berlin),
	} {
		begin, now := change.AddDate(0, 0, -6), change.AddDate(0, 0, 1) // a week that the change is in
		p := newProfile(berlin, hourIndex(now)-1, lived(begin, now, berlin, office))
		_, before := begin.Zone()
		_, after := now.Zone()
		if before == after {
			t.Fatalf("%s: no change", name)
		}
		for clock, want := range map[string]int64{"08:44": 5, "08:45": 210, "17:59": 210, "18:00": 5} {
			at, err := time.ParseInLocation("2006-01-02 15:04", now.Format("2006-01-02 ")+clock, berlin)
			if err != nil {
				t.Fatal(err)
			}
			if f, _ := p.floorFor(interactive, rpm1000, at); f.Amount != want {
				t.Errorf("%s, Monday %s: floor %d (%s); want %d", name, clock, f.Amount, f.Why, want)
			}
		}
		for h := now; h.Before(now.AddDate(0, 0, 7)); h = h.Add(time.Hour) {
			if p.at(h).peak[limiter.Requests] == 0 {
				t.Errorf("%s: nothing is known of %s", name, h.Format("Mon 15:04"))
			}
		}
	}
}

// TestLearnedDay: what is used of the day and will be needed until the reset is
// left free; days of 23 and 25 hours need less and more, and a year ends in one.
func TestLearnedDay(t *testing.T) {
	pacific := zone(t, "America/Los_Angeles")
	rpd := limitState("rpd", limiter.Requests, limiter.Day, 100_000)
	for name, c := range map[string]struct {
		day  time.Time
		want int64 // 60 requests an hour, and a quarter more
	}{
		"plain":    {time.Date(2026, 11, 30, 0, 0, 0, 0, pacific), 24 * 75},
		"23 hours": {time.Date(2026, 3, 8, 0, 0, 0, 0, pacific), 23 * 75},
		"25 hours": {time.Date(2026, 11, 1, 0, 0, 0, 0, pacific), 25 * 75},
		"year end": {time.Date(2026, 12, 31, 0, 0, 0, 0, pacific), 24 * 75},
	} {
		p := newProfile(zone(t, "Asia/Tokyo"), hourIndex(c.day)-1,
			lived(c.day.AddDate(0, 0, -8), c.day, time.UTC, func(time.Time) int64 { return 2 }))
		l := rpd
		l.NextFree = c.day.AddDate(0, 0, 1)
		if f, ok := p.floorFor(interactive, l, c.day); !ok || f.Amount != c.want {
			t.Errorf("%s: %+v; want %d", name, f, c.want)
		}
		l.Classes = []limiter.ClassUse{{Class: "bulk", Used: 9999}, {Class: "interactive", Used: 1000}}
		f, _ := p.floorFor(interactive, l, l.NextFree.Add(-90*time.Minute))
		if want := int64(1000 + 112); f.Amount != want || !strings.HasPrefix(f.Why, "1000 requests used of the day, learned need 112 requests until ") {
			t.Errorf("%s, an hour and a half before the reset: %+v; want %d", name, f, want)
		}
	}
}

// TestHourFromMinutes: features of a class count together, refused calls as
// needed, and ten minutes of money wherever they lie in the hour.
func TestHourFromMinutes(t *testing.T) {
	begin := time.Date(2026, 11, 30, 4, 0, 0, 0, time.UTC)
	sample := func(minute int, feature string, n, refused, usd int64) gemini.UsageSample {
		return gemini.UsageSample{At: begin.Add(time.Duration(minute) * time.Minute), Region: "global", Model: "m", Class: "interactive",
			Feature: feature, Sent: n, Requests: n, Refused: refused, InputTokens: 10 * n, MicroUSD: usd}
	}
	got := hourFromMinutes([]gemini.UsageSample{
		sample(0, "chat", 10, 0, 5), sample(0, "search", 20, 0, 0), sample(5, "chat", 25, 0, 7), sample(14, "chat", 1, 0, 90),
		sample(15, "chat", 10, 5, 0), sample(59, "chat", 20, 99, 1),
	})[useKey{"global/m", "interactive"}]
	want := hourUse{ten: 97}
	want.sum[limiter.Requests], want.peak[limiter.Requests] = 30+25+1+15+40, 40
	want.sum[limiter.InputTokens], want.peak[limiter.InputTokens] = 10*want.sum[limiter.Requests], 400
	want.sum[limiter.MicroUSD], want.peak[limiter.MicroUSD] = 5+7+90+2, 90
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	back, err := unpackHour(packHour(map[useKey]hourUse{{"global/m", "interactive"}: got}))
	if err != nil || fmt.Sprint(back) != fmt.Sprint(map[useKey]hourUse{{"global/m", "interactive"}: want}) {
		t.Errorf("%v, %v after it was stored", back, err)
	}
}
