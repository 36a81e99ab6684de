package limiter

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Dollars is an amount of micro-dollars for people: to the cent; below a dollar to a
// hundredth of a cent where it is no whole number of cents, and below that in full.
func Dollars(micro int64) string {
	sign := ""
	if micro < 0 {
		sign, micro = "-", -micro
	}
	switch {
	case micro == 0:
		return "$0"
	case micro < 10_000:
		return fmt.Sprintf("%s$0.%06d", sign, micro)
	case micro < million && micro%10_000 != 0:
		return fmt.Sprintf("%s$%d.%04d", sign, (micro+50)/million, (micro+50)/100%10_000)
	}
	cents := (micro + 5_000) / 10_000
	return fmt.Sprintf("%s$%s.%02d", sign, humanize.Comma(cents/100), cents%100)
}

// Share is a share in ppm that was worked out or set, for people: to the tenth of a per
// cent where it has one: "25 %", "2.5 %". What is something is not nothing.
func Share(ppm int64) string {
	if ppm > 0 && ppm < 500 {
		return "<0.1 %"
	}
	return percent((ppm + 500) / 1000 * 1000)
}

// Length is a length of time for people, in two units at most: "90 ms", "1.5 s",
// "1 min 20 s", "7 h 30 min", "3 days 4 h".
func Length(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s")
	case d < 2*day:
		return units(d, time.Hour, "h", time.Minute, "min")
	}
	return units(d, day, "days", time.Hour, "h")
}

// units writes a length of time in a large unit and what is left of it in a small one.
func units(d, large time.Duration, ofLarge string, small time.Duration, ofSmall string) string {
	d = d.Round(small)
	var parts []string
	if n := d / large; n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", n, ofLarge))
	}
	if n := d % large / small; n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", n, ofSmall))
	}
	return strings.Join(parts, " ")
}

// Percent is a part of a whole for people, to the tenth of a per cent. What is
// something is not nothing, and what is less than all is not all.
func Percent(part float64) string {
	switch p := part * 100; {
	case p > 0 && p < 0.05:
		return "<0.1 %"
	case p > 99.9 && p < 100:
		return "99.9 %"
	default:
		return fmt.Sprintf("%.1f %%", p)
	}
}
