package limiter

import (
	"fmt"

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
