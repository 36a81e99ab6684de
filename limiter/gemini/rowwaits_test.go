package gemini

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// TestHistoryHasWhatRowsWaited: by cause, in steps of ten seconds and of five minutes, told
// apart by model, class and feature, all that was counted and nothing twice; not by tenant.
func TestHistoryHasWhatRowsWaited(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		r := newHistoryRig(t, rdb, nil)
		begin, want := r.clock.now(), map[string]int64{}
		rows := int64(0)
		for i := range 150 { // two and a half hours
			r.call("gemini-x", "bulk", "tags", "acme", 10)
			w := RowWaits{Lane: r.lane("gemini-x"), Class: "bulk", Feature: []string{"tags", "titles"}[i%2], Rows: int64(1 + i%3), WaitedMS: map[string]int64{"quota": int64(1000 + i), "window": int64(i % 7 * 3_600_000)}}
			if i%5 == 0 {
				w.Lane, w.WaitedMS["slots"], w.WaitedMS["queue"] = r.lane("gemini-y"), 7, 9
			}
			r.meter.PutRows(w)
			for cause, ms := range w.WaitedMS {
				want[cause] += ms
			}
			rows += w.Rows
			r.pass(time.Minute)
		}
		r.meter.PutRows(RowWaits{Lane: limiter.Lane{Provider: "gemini", Project: "another", Model: "gemini-x"}, Class: "bulk", Rows: 1, WaitedMS: map[string]int64{"quota": 1}})
		r.meter.flush(false)
		for _, by := range []GroupBy{GroupFeature, GroupModel, GroupClass} {
			for _, step := range []time.Duration{10 * time.Second, 20 * time.Second, 10 * time.Minute} {
				d := r.ask(HistoryQuery{From: begin, To: r.clock.now().Add(time.Second), By: by, Step: step})
				var all UsageSample
				for _, g := range d.Groups {
					for _, p := range g.Points {
						all.Merge(p)
					}
				}
				for _, s := range []UsageSample{d.Total.Sum, all} {
					got := map[string]int64{}
					for _, c := range s.RowsWaitedFor() {
						got[c.Name] = c.N
					}
					if fmt.Sprint(got) != fmt.Sprint(want) || s.RowsEnded() != rows || s.Amount("rows_ended") != rows || s.Amount("rows_waited_ms") != sumOf(want) {
						t.Errorf("by %s at %s: %v of %d rows, want %v of %d", by, step, got, s.RowsEnded(), want, rows)
					}
				}
			}
		}
		d := r.ask(HistoryQuery{From: begin, To: r.clock.now(), By: GroupTenant})
		if d.Total.Sum.RowsEnded() != 0 || d.Total.Sum.Amount("rows_waited_ms") != 0 || d.Total.Sum.Calls != 150 {
			t.Errorf("by tenant: %d rows, %d calls", d.Total.Sum.RowsEnded(), d.Total.Sum.Calls)
		}
	})
}

func (r *historyRig) lane(model string) limiter.Lane {
	return limiter.Lane{Provider: r.scope.Provider, Project: r.scope.Project, Model: model}
}

func sumOf(ns map[string]int64) (sum int64) {
	for _, n := range ns {
		sum += n
	}
	return sum
}

// TestRowsAreNoCalls: what rows waited makes neither calls nor waits of callers.
func TestRowsAreNoCalls(t *testing.T) {
	t.Parallel()
	r := newHistoryRig(t, dialEmbedded(t), nil)
	r.meter.PutRows(RowWaits{Lane: r.lane("gemini-x"), Class: "bulk", Feature: "tags", Rows: 3, WaitedMS: map[string]int64{"paused": 5, "": 2}})
	r.meter.PutRows(RowWaits{Lane: r.lane("gemini-x"), Class: "bulk", Feature: "none"})
	r.meter.flush(false)
	got := readStep(t, r.rdb, r.scope, StepMinute, meterNoon, r.clock.now().Add(time.Second))
	if len(got) != 1 || got[0].Calls+got[0].Queued+got[0].Requests != 0 || len(got[0].WaitedFor()) != 0 || fmt.Sprint(got[0].RowsWaitedFor()) != "[{paused 5} {other 2}]" {
		t.Errorf("%+v", got)
	}
}
