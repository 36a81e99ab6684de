package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// TestMonthHasOneEnd: a cap of the month ends where spend forecast says, whatever its
// pace of the last minutes; and while that is not known, nobody claims to know.
func TestMonthHasOneEnd(t *testing.T) {
	t.Parallel()
	now := at(12, 0)
	month := limiter.CapState{Node: "project/demo", Name: "usd_per_month", Limit: limiter.Limit{Unit: limiter.MicroUSD, Window: limiter.Month, Amount: 500_000_000}, Used: 3_180_000, Held: 3_000_000, End: now.AddDate(0, 0, 20)}
	day := month
	day.Name, day.Window = "usd_per_day", limiter.Day
	hasty := scheduler.CapOutlook{CapState: month, PerHour: 900_000, AtEnd: 628_480_000, Since: now.Add(-time.Hour), Reached: now.AddDate(0, 0, 10)}
	for _, c := range []struct {
		f           gemini.SpendForecast
		end         int64
		reached     bool
		words, show string
	}{
		{gemini.SpendForecast{Spent: 104_800, Low: 104_800}, 0, true, "its end is not known yet, for no whole day is", ""},
		{gemini.SpendForecast{Spent: 104_800, Expected: 32_560_000, Days: 3}, 32_560_000, false, "at its end about $32.56, as spend forecast has it by 3 days", "$32.56"},
		{gemini.SpendForecast{Spent: 104_800, Expected: 632_560_000, Days: 3}, 632_560_000, true, "at its end about $632.56, as spend forecast has it by 3 days", "$632.56"},
	} {
		going, got := capsGoing{months: map[string]gemini.SpendForecast{"project/demo": c.f}}, hasty
		going.endMonth(&got)
		if got.AtEnd != c.end || got.Reached.IsZero() == c.reached || going.words(got, now) != c.words || monthEnd(c.f) != c.show {
			t.Errorf("%+v: %+v, %q, %q", c.f, got, going.words(got, now), monthEnd(c.f))
		}
	}
	going, got := capsGoing{months: map[string]gemini.SpendForecast{"project/demo": {}}}, hasty
	got.CapState = day
	if going.endMonth(&got); got.AtEnd != hasty.AtEnd || !strings.HasPrefix(going.words(got, now), "at its end about $628.48, as since ") {
		t.Errorf("a cap of the day goes by its own pace: %+v, %q", got, going.words(got, now))
	}
}

// TestMoneyHasOneAnswer: the command, the page and the caps say the same of a month that
// has just begun, and what is held is not called spent.
func TestMoneyHasOneAnswer(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	cost, now := int64(104_800), time.Now()
	meter := gemini.NewMeter(s.be.rdb, s.be.conf.scope(), gemini.MeterOptions{})
	meter.Put(gemini.Record{Time: now, Method: "generateContent", Lane: s.run.Spec.Lane, Class: "interactive", Feature: "chat", Sent: true,
		Used: limiter.Amounts{limiter.Requests: 1}, MicroUSD: &cost})
	s.check(meter.Close())
	forecast, err := s.be.spendForecast(t.Context(), "", now)
	s.check(err)
	page, err := s.be.forecastView(t.Context(), "", now)
	s.check(err)
	shown, err := s.be.spending(t.Context(), "feature", "", now)
	s.check(err)
	if forecast.Spent != cost || forecast.Expected != 0 || shown.AtEnd != 0 || shown.MicroUSD != cost || page.Expected != "not known yet" {
		t.Errorf("%+v, page %+v, shown %d of %d", forecast, page, shown.AtEnd, shown.MicroUSD)
	}
	shown.print(s.f)
	if out := s.out.String(); !strings.Contains(out, "at the month's end: ?. Not known yet") {
		t.Errorf("%s", out)
	}
}
