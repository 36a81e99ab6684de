package gemini

import (
	"testing"
	"time"
)

// month gives each day before now what it costs by f.
func month(now time.Time, days int, f func(time.Weekday) int64) (out []MoneySample) {
	for i := 1; i <= days; i++ {
		d := now.AddDate(0, 0, -i)
		out = append(out, MoneySample{Day: d.Format(time.DateOnly), MicroUSD: f(d.Weekday())})
	}
	return out
}

func TestForecastSpend(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC) // a Monday at noon: half a day and 14 whole ones are left
	even := func(time.Weekday) int64 { return 100 }
	for name, c := range map[string]struct {
		samples       []MoneySample
		want          int64
		weekday, wide bool
	}{
		"nothing known":  {nil, 0, false, false},
		"two days":       {month(now, 2, even), 200 + 100 + 1400, false, false},
		"even days":      {month(now, 28, even), 1500 + 100 + 1400, true, true},
		"only on Sunday": {month(now, 28, func(d time.Weekday) int64 { return map[time.Weekday]int64{time.Sunday: 700}[d] }), 3*700 + 2*700, true, true},
	} {
		f := ForecastSpend(c.samples, now)
		if f.Expected != c.want || f.ByWeekday != c.weekday || (f.High > 0) != c.wide || f.Low > f.Expected || c.wide && f.High < f.Expected {
			t.Errorf("%s: %+v, want %d", name, f, c.want)
		}
	}
	if f := ForecastSpend([]MoneySample{{Day: "2026-11-16", MicroUSD: 5}}, now); f.Spent != 5 || f.Low != 5 || f.Expected != 0 || f.Days != 0 {
		t.Errorf("what is spent is no forecast: %+v", f)
	}
	cheap := append(month(now, 7, even), MoneySample{Day: "2026-11-16", MicroUSD: 5})
	if f := ForecastSpend(cheap, now); f.Today != 5 || f.Expected != 705+95+1400 {
		t.Errorf("a cheap morning: %+v", f)
	}
}
