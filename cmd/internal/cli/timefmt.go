package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
)

// clock prints a time as the user's wall clock shows it, with its zone; another day is
// named.
func clock(t, now time.Time) string { return cellClock(t, now) + t.Local().Format(" MST") }

// cellClock is the same for a table, or a screen, that says the zone once.
func cellClock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05")
	}
	if t.Sub(now).Abs() < 6*24*time.Hour {
		return t.Format("Mon 15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// told is a text that was kept in Redis as people here read it: its moments are by their
// clock, with its zone, and with the day where that is not the day of now.
func told(text string, now time.Time) string { return toldIn(text, now, time.Local) }

func toldIn(text string, now time.Time, zone *time.Location) string {
	return limiter.TellInstants(text, func(t time.Time) string { return clockIn(t, now, zone) })
}

// shortDay is the day of a time in a narrow column; within two days the hour too.
func shortDay(t, now time.Time) string {
	if t.Sub(now).Abs() < 48*time.Hour {
		return t.Local().Format("Mon 15:04")
	}
	return t.Local().Format("2 Jan")
}

// ago prints a distance in the coarse words of a status line.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// lastWords is a time that follows "the last": "minute", "5 minutes", "1m30s".
func lastWords(d time.Duration) string {
	switch {
	case d == time.Minute:
		return "minute"
	case d > 0 && d < time.Hour && d%time.Minute == 0:
		return plural(int(d/time.Minute), "minute")
	}
	return ago(d)
}

// usd prints micro-dollars.
func usd(micro int64) string { return limiter.Dollars(micro) }

// usdWhole prints micro-dollars with as many digits as they have, at least cents: what
// somebody set is read back as it was set.
func usdWhole(micro int64) string {
	if micro%10_000 == 0 {
		return usd(micro)
	}
	text := strings.TrimRight(fmt.Sprintf("%06d", micro%1_000_000), "0")
	return fmt.Sprintf("$%s.%s", humanize.Comma(micro/1_000_000), text)
}

// usdApart prints amounts that are read beside one another: with as many digits as it
// takes that different ones look different, and that something is not nothing.
func usdApart(micro ...int64) []string {
	for _, step := range []int64{10_000, 100, 1} { // a cent, a hundredth of it, all
		out, seen, apart := []string{}, map[string]int64{}, true
		for _, n := range micro {
			rounded := (n + step/2) / step * step
			text := fmt.Sprintf("$%s.%06d", humanize.Comma(rounded/1_000_000), rounded%1_000_000)
			text = text[:len(text)-len(fmt.Sprint(step))+1]
			was, ok := seen[text]
			apart = apart && (!ok || was == n) && (rounded > 0 || n == 0)
			seen[text], out = n, append(out, text)
		}
		if apart || step == 1 {
			return out
		}
	}
	return nil
}
