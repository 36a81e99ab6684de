package scheduler

import (
	"strings"
	"time"
)

// days takes "Mon", "Mon-Fri" or "Sat-Mon" off the beginning of a stretch; without
// them it is of every day.
func (p *windowParser) days(s string, at int) (weekdays, string) {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return everyDay, s
	}
	word, clocks, _ := strings.Cut(s, " ")
	first, last, several := strings.Cut(word, "-")
	from, ok := dayOf(first)
	to := from
	if several && ok {
		to, ok = dayOf(last)
	}
	if !ok {
		p.fail(at, word, "want a time of day such as 22:00-07:00, or before it days such as Mon-Fri")
		return everyDay, s
	}
	days := weekdays(0)
	for day := from; ; day = (day + 1) % 7 {
		days |= 1 << day
		if day == to {
			return days, strings.TrimLeft(clocks, " \t")
		}
	}
}

// dayOf reads a day of the week by its first three letters or its whole name.
func dayOf(s string) (day int, ok bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := d.String()
		if strings.EqualFold(s, name) || strings.EqualFold(s, name[:3]) {
			return int(d), true
		}
	}
	return 0, false
}
