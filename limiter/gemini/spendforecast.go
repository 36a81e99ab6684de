package gemini

import (
	"math"
	"time"
)

// SpendForecast is what a month is likely to cost.
type SpendForecast struct {
	Month string `json:"month"`           // 2026-11
	Spent int64  `json:"spent_micro_usd"` // since its first day, today included
	Today int64  `json:"today_micro_usd"` //
	// Expected is what it will have cost at its end; 0 while no whole day is known (Days),
	// when nobody can say.
	Expected int64 `json:"expected_micro_usd"`
	// Low and High are the range in which four months of five end, if the days go on as
	// the last ones did. They are Spent and 0 while too few days are known.
	Low  int64 `json:"low_micro_usd"`
	High int64 `json:"high_micro_usd"`
	Days int   `json:"days"` // whole days it is worked out from, at most 28
	// ByWeekday: each day is expected to cost what its day of the week did; else what the
	// last seven days did on average.
	ByWeekday bool `json:"by_weekday"`
}

// forecastDays is how far back the forecast looks; fewDays of them say no range.
const forecastDays, fewDays = 28, 3

// ForecastSpend works the forecast out for the month of now, which is in the zone of the
// samples' days: those of 31 days, of all or of one tenant alone. Days begin to count with the first that cost something.
func ForecastSpend(samples []MoneySample, now time.Time) SpendForecast {
	days := map[string]int64{}
	f := SpendForecast{Month: now.Format("2006-01")}
	for _, s := range samples {
		days[s.Day] += s.MicroUSD
		if len(s.Day) > 7 && s.Day[:7] == f.Month {
			f.Spent += s.MicroUSD
		}
	}
	f.Today = days[now.Format(time.DateOnly)]
	past := pastDays(days, now)
	f.Days, f.ByWeekday = len(past), len(past) >= 7
	if f.Low = f.Spent; len(past) == 0 {
		return f
	}
	rest, left := f.rest(past, now)
	f.Expected = f.Spent + int64(rest)
	if len(past) >= fewDays {
		off := 1.28 * scatter(past) * math.Sqrt(left+left*left/float64(len(past))) // 80 % of a normal distribution
		f.Low, f.High = max(f.Spent, f.Expected-int64(off)), f.Expected+int64(off)
	}
	return f
}

// pastDays are what whole days cost, the latest first.
func pastDays(days map[string]int64, now time.Time) (out []float64) {
	for i := 1; i <= forecastDays; i++ {
		out = append(out, float64(days[noonOf(now).AddDate(0, 0, -i).Format(time.DateOnly)]))
	}
	for len(out) > 0 && out[len(out)-1] == 0 { // before the first
		out = out[:len(out)-1]
	}
	return out
}

// noonOf is a time of the day that every day has once.
func noonOf(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, now.Location())
}

// expected is what the day before which so many days are known costs: the mean of the
// same days of the week, or of the last seven days.
func expected(past []float64, ahead int) float64 {
	sum, n := 0.0, 0
	for i := range past {
		if len(past) >= 7 && (i+1+ahead)%7 != 0 || len(past) < 7 && i >= 7 {
			continue
		}
		sum, n = sum+past[i], n+1
	}
	return sum / float64(max(1, n))
}

// rest is what is still to come in the month, and how many days that is.
func (f SpendForecast) rest(past []float64, now time.Time) (rest, left float64) {
	y, m, d := now.Date()
	midnight := time.Date(y, m, d+1, 0, 0, 0, 0, now.Location())
	today := expected(past, 0)
	left = float64(midnight.Sub(now)) / float64(24*time.Hour)
	rest = max(0, min(today, max(today-float64(f.Today), today*left/4))) // a day that began dear goes on, if slower
	for i, day := 1, noonOf(now).AddDate(0, 0, 1); day.Month() == m; i, day = i+1, day.AddDate(0, 0, 1) {
		rest, left = rest+expected(past, i), left+1
	}
	return rest, left
}

// scatter is how far days are from what would have been expected of them.
func scatter(past []float64) float64 {
	sum := 0.0
	for i, x := range past {
		others := append(append([]float64{}, past[:i]...), past[i+1:]...)
		mean := 0.0
		if len(past) >= 14 { // there is another of the same day
			n := 0.0
			for j := i % 7; j < len(past); j += 7 {
				if j != i {
					mean, n = mean+past[j], n+1
				}
			}
			mean /= n
		} else {
			for _, o := range others {
				mean += o / float64(len(others))
			}
		}
		sum += (x - mean) * (x - mean)
	}
	return math.Sqrt(sum / float64(len(past)))
}
