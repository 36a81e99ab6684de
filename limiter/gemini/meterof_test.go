package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// TestMeterReadsSome: of some models, or of one run, the same is read as of all with the
// others left out, packed or not.
func TestMeterReadsSome(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		r := newHistoryRig(t, rdb, nil)
		for i := range 40 {
			c := goodCall(r.scope, "bulk", fmt.Sprintf("f%d", i%3))
			c.Lane, c.Run = fmt.Sprintf("%s/global/gemini-%d", r.scope, i%4), fmt.Sprintf("r%d", i%2)
			c.Used[limiter.MicroUSD] = 5
			r.meter.Put(c)
			r.pass(time.Minute)
		}
		for range 10 { // the first of them are packed
			r.pass(10 * time.Minute)
		}
		end := r.clock.now()
		for _, step := range []Step{StepMinute, StepHour} {
			want := slices.DeleteFunc(readStep(t, rdb, r.scope, step, meterNoon, end), func(s UsageSample) bool { return s.Model != "gemini-1" && s.Model != "gemini-3" })
			got, err := ReadMeterOf(t.Context(), rdb, r.scope, step, meterNoon, end, "gemini-3", "gemini-1", "gemini")
			if err != nil || len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v\n%v, want\n%v", err, got, want)
			}
		}
		if got, err := ReadMeterOf(t.Context(), rdb, r.scope, StepMinute, meterNoon, end); err != nil || got != nil {
			t.Errorf("of none: %v, %v", got, err)
		}
		all, err := ReadMoney(t.Context(), rdb, r.scope, meterNoon.AddDate(0, 0, -1), end.AddDate(0, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(all), func(s MoneySample) bool { return s.Run != "r1" })
		got, err := ReadMoneyOf(t.Context(), rdb, r.scope, meterNoon.AddDate(0, 0, -1), end.AddDate(0, 0, 1), "r1")
		if err != nil || len(want) == 0 || len(want) == len(all) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v\n%v, want\n%v", err, got, want)
		}
	})
}

// TestReadNumbers: what encoding/json writes is read, and what is no list of integers is
// refused.
func TestReadNumbers(t *testing.T) {
	t.Parallel()
	for _, want := range [][]int64{{}, {0}, {-1, 7, 1 << 62}, {9_223_372_036_854_775_807, -9_223_372_036_854_775_808}} {
		text, _ := json.Marshal(want)
		if got, err := readNumbers(string(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "[", "]", "1,2", "[1,2", "1,2]", "[1,,2]", "[1,]", "[1.5]", "[3e14]", `["1"]`, "[[1]]"} {
		if got, err := readNumbers(text); err == nil {
			t.Errorf("%s is read as %v", text, got)
		}
	}
}
