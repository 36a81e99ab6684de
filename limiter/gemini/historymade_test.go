package gemini

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// TestHistoryOneMakesIt: of two historians one works; the other goes on when that one
// has ended, and what a slow one still wants to write is refused.
func TestHistoryOneMakesIt(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		r := newHistoryRig(t, rdb, nil)
		r.call("gemini-x", "bulk", "a", "", 1)
		r.pass(time.Minute)
		other := NewHistorian(rdb, r.scope, HistorianOptions{redisNow: r.clock.now})
		if mine, err := other.hold(t.Context()); mine || err != nil {
			t.Fatalf("both make it: %v", err)
		}
		r.made.leave(t.Context())
		r.clock.turn(10 * time.Second)
		if err := other.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.made.put(t.Context(), tierFine, 7, true, nil); err == nil {
			t.Error("one that has lost the lock writes")
		}
		if d := r.ask(HistoryQuery{From: meterNoon, To: r.clock.now()}); d.Total.Sum.Calls != 1 {
			t.Errorf("%d calls", d.Total.Sum.Calls)
		}
	})
}

// TestMeterReadsWhatIsPacked: a meter's minutes and hours read the same after they were
// packed, durations and all, with what came late; and Redis has no bucket twice.
func TestMeterReadsWhatIsPacked(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		r := newHistoryRig(t, rdb, nil)
		for i := range 60 {
			r.call("gemini-x", "bulk", fmt.Sprintf("f%d", i%2), "acme", int64(i))
			r.pass(time.Minute)
		}
		before := readStep(t, rdb, r.scope, StepMinute, meterNoon, r.clock.now())
		for range 20 { // and the empty hours before
			r.pass(10 * time.Minute)
		}
		key := newMeterKeys(r.scope).bucket(StepMinute, meterNoon.UnixMilli()/60_000)
		if n := rdb.Exists(t.Context(), key).Val(); n != 0 {
			t.Error("a minute that was packed is still there")
		}
		after := readStep(t, rdb, r.scope, StepMinute, meterNoon, meterNoon.Add(time.Hour))
		if fmt.Sprint(before) != fmt.Sprint(after) || len(after) != 60 {
			t.Errorf("%d minutes before, %d after\n%v\n%v", len(before), len(after), before[0], after[0])
		}
		late := handClock{at: meterNoon}
		r.meter.opts.Now = late.now
		r.call("gemini-x", "bulk", "f0", "acme", 5)
		r.meter.opts.Now = r.clock.now
		r.meter.flush(false)
		if got := sum(readStep(t, rdb, r.scope, StepMinute, meterNoon, meterNoon.Add(time.Minute))); got.Calls != 2 {
			t.Errorf("%d calls with the late one", got.Calls)
		}
	})
}

// lanesSeen are lanes whose limits a test sets.
type lanesSeen struct{ state limiter.LaneState }

func (l *lanesSeen) Lanes(context.Context) ([]limiter.LaneConfig, error) {
	return []limiter.LaneConfig{{Lane: l.state.Lane}}, nil
}

func (l *lanesSeen) States(context.Context, []limiter.Lane) ([]limiter.LaneState, error) {
	return []limiter.LaneState{l.state}, nil
}

// TestHistoryHasLoans: what interactive lends, what bulk borrows of it, and that it was
// taken back.
func TestHistoryHasLoans(t *testing.T) {
	lanes := &lanesSeen{limiter.LaneState{Lane: limiter.Lane{Provider: "gemini", Project: "p", Model: "gemini-x"}}}
	set := func(lent, used int64) {
		lanes.state.Limits = []limiter.LimitState{{
			Limit: limiter.Limit{Unit: limiter.Requests, Window: limiter.Minute, Amount: 1000}, Name: "rpm", Effective: 900, Used: used + 10,
			Classes: []limiter.ClassUse{{Class: "interactive", Used: 10, Protected: 300 - lent, Lent: lent}, {Class: "bulk", Used: used}},
		}}
	}
	r := newHistoryRig(t, dialEmbedded(t), lanes)
	set(200, 750)
	r.pass(time.Minute)
	set(50, 750)
	r.pass(time.Minute)
	r.pass(10 * time.Minute)
	d := r.ask(HistoryQuery{From: meterNoon, To: meterNoon.Add(4 * time.Minute), Step: time.Minute, Model: "GEMINI-X", Levels: true})
	got := map[string][]Level{}
	for _, l := range d.Levels {
		got[l.Class+" "+l.Limit] = l.Points
	}
	if lane := got[" rpm"]; lane[1].Limit != 1000 || lane[1].Effective != 900 || lane[1].Used != 760 {
		t.Errorf("the lane: %+v", lane)
	}
	if i := got["interactive rpm"]; i[1].Lent != 200 || i[2].Lent != 50 || i[1].Revoked != 0 || i[2].Revoked != 150 {
		t.Errorf("interactive: %+v", i)
	}
	if b := got["bulk rpm"]; b[1].Borrowed != 150 || b[3] != (Level{}) {
		t.Errorf("bulk: %+v", b)
	}
	if all := r.ask(HistoryQuery{From: meterNoon, To: meterNoon.Add(4 * time.Minute), Step: time.Minute, Levels: true}); len(all.Levels) != len(d.Levels) || all.Levels[0].Points[1].Limit != 1000 {
		t.Errorf("all lanes: %+v", all.Levels)
	}
}

// TestHistoryRefusesWhatItCannotTell says so instead of answering something else.
func TestHistoryRefusesWhatItCannotTell(t *testing.T) {
	t.Parallel()
	r := newHistoryRig(t, dialEmbedded(t), nil)
	now := r.clock.now()
	for _, q := range []HistoryQuery{
		{From: now, To: now}, {From: now.Add(-time.Hour), To: now, By: "colour"}, {From: now.Add(-time.Hour), To: now, By: GroupTenant, Feature: "chat"},
		{From: now.Add(-time.Hour), To: now, Step: 7 * time.Second}, {From: now.Add(-7 * 24 * time.Hour), To: now, Step: 10 * time.Second},
	} {
		if _, err := r.read.Read(t.Context(), q); err == nil {
			t.Errorf("%+v is answered", q)
		}
	}
}
