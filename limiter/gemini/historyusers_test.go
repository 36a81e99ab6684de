package gemini

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"nightshift/limiter"
)

// TestUsersAreWhatMinutesAddUpTo: of random calls, what is read by class and feature is
// what the meter's minutes of every lane add up to, durations and all, whichever blocks
// have it; and a ranking of it is the same.
func TestUsersAreWhatMinutesAddUpTo(t *testing.T) {
	t.Parallel()
	r, rng := newHistoryRig(t, dialEmbedded(t), nil), rand.New(rand.NewPCG(3, 4))
	check := func(from time.Time) {
		t.Helper()
		now := r.clock.now()
		got, whole, err := r.read.users(t.Context(), from, now, now)
		if err != nil || !whole {
			t.Fatalf("%s back: whole %t, %v", now.Sub(from), whole, err)
		}
		slow := readStep(t, r.rdb, r.scope, StepMinute, from, now)
		if want := byUser(slow); !reflect.DeepEqual(byUser(got), want) || len(got) != len(want) {
			t.Fatalf("%s back: %d samples of %d users and minutes\n%v\nwant\n%v", now.Sub(from), len(got), len(want), byUser(got), want)
		}
		q := WhoQuery{From: from, To: now, Waiting: []string{"interactive"}}
		fast, err := r.read.Who(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		byLane := q.Rank(slow, slow, time.Minute, fast.Limits)
		if fast.Samples, byLane.Samples = nil, nil; !reflect.DeepEqual(fast, byLane) {
			t.Errorf("%s back: ranked\n%+v\nby lane\n%+v", now.Sub(from), fast, byLane)
		}
	}
	for i := range 170 {
		for range rng.IntN(6) {
			r.meter.Put(randomCall(r.scope, rng))
		}
		r.pass(time.Minute - time.Duration(rng.IntN(9))*time.Second)
		if i%17 == 16 {
			check(r.clock.now().Add(-time.Duration(rng.Int64N(int64(r.clock.now().Sub(meterNoon))))))
			check(meterNoon)
		}
	}
}

// randomCall is of one of a few lanes, classes and features, answered or refused.
func randomCall(scope limiter.Scope, rng *rand.Rand) Record {
	class := []string{"interactive", "bulk"}[rng.IntN(2)]
	c := goodCall(scope, class, fmt.Sprintf("f%d", rng.IntN(3)))
	c.Lane = fmt.Sprintf("%s/global/gemini-%d", scope, rng.IntN(5))
	c.Used = limiter.Amounts{limiter.Requests: 1, limiter.InputTokens: rng.Int64N(4000), limiter.OutputTokens: rng.Int64N(800)}
	c.TookMS = rng.Int64N(9000)
	if rng.IntN(9) == 0 {
		c.Sent, c.Refusal, c.Used = false, limiter.ReasonQuota, limiter.Amounts{}
	}
	return c
}

// byUser adds samples up by minute, class and feature.
func byUser(samples []UsageSample) map[string]UsageSample {
	out := map[string]UsageSample{}
	for _, s := range samples {
		name := fmt.Sprint(s.At.UnixMilli(), s.Class, s.Feature)
		sum, ok := out[name]
		if !ok {
			sum = UsageSample{At: s.At, Class: s.Class, Feature: s.Feature}
		}
		sum.Merge(s)
		out[name] = sum
	}
	return out
}

// TestUsersOfAnOlderHistory: where blocks were made without what a ranking reads, it is
// made of the meter's own minutes, all of it where a block ends within one.
func TestUsersOfAnOlderHistory(t *testing.T) {
	t.Parallel()
	r := newHistoryRig(t, dialEmbedded(t), nil)
	for range 12 {
		r.call("gemini-x", "bulk", "tags", "", 10)
		r.pass(time.Minute)
	}
	now := r.clock.now()
	if err := r.rdb.Del(t.Context(), r.read.keys.block(tierFine, tierFine.index(meterNoon), viewUsers)).Err(); err != nil {
		t.Fatal(err)
	}
	ranked := func() {
		t.Helper()
		if w, err := r.read.Who(t.Context(), WhoQuery{From: meterNoon, To: now}); err != nil || len(w.Rows) != 1 || w.Rows[0].Sum.Calls != 12 {
			t.Errorf("%+v, %v", w, err)
		}
	}
	if got, whole, err := r.read.users(t.Context(), meterNoon, now, now); !whole || err != nil || len(got) != 12 {
		t.Errorf("a block is away: %d samples, whole %t, %v", len(got), whole, err)
	}
	ranked()
	r.rewrite(tierFine.index(meterNoon.Add(tierFine.block)), meterNoon.Add(tierFine.block+70*time.Second))
	if _, whole, err := r.read.users(t.Context(), meterNoon, now, now); whole || err != nil {
		t.Errorf("a block ends within a minute, and all is there: %v", err)
	}
	ranked()
}

// TestUsersAreBounded: beyond so many features the smallest are one.
func TestUsersAreBounded(t *testing.T) {
	t.Parallel()
	b := newBlock(meterNoon, tierFine.step, 30)
	for i := range mostUsers + 5 {
		b.add(seriesName(fmt.Sprintf("global/gemini-%d", i%3), "bulk", fmt.Sprintf("f%04d", i)), i%30, fieldRequests, int64(mostUsers+6-i))
	}
	got := b.users()
	if len(got.series) != mostUsers+1 || addUp(got.series["|bulk|"+OtherFeature][fieldRequests]) != 6+5+4+3+2 {
		t.Errorf("%d series, of others %v", len(got.series), got.series["|bulk|"+OtherFeature])
	}
	if cols := got.series["|bulk|f0007"]; got.n != 5 || got.step != time.Minute || len(cols[fieldRequests]) != 5 || cols[fieldRequests][1] != mostUsers-1 {
		t.Errorf("%d steps of %s: %v", got.n, got.step, cols)
	}
}

// TestLimitsOfAllLanesHaveTheirOwnBlocks: they are what the blocks by lane say, which are
// read where there are no others.
func TestLimitsOfAllLanesHaveTheirOwnBlocks(t *testing.T) {
	t.Parallel()
	lane := limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "gemini-x"}
	lanes := &lanesSeen{limiter.LaneState{Lane: lane, Limits: []limiter.LimitState{{
		Limit: limiter.Limit{Unit: limiter.Requests, Window: limiter.Minute, Amount: 1000}, Name: "rpm", Effective: 900, Used: 40, Classes: []limiter.ClassUse{{Class: "bulk", Used: 40}}}}}}
	r := newHistoryRig(t, dialEmbedded(t), lanes)
	for range 80 {
		r.pass(time.Minute)
	}
	q := HistoryQuery{From: meterNoon, To: r.clock.now(), Step: 5 * time.Minute, Levels: true}
	own := r.ask(q).Levels
	keys, err := r.rdb.Keys(t.Context(), "*:"+string(viewLimits)).Result()
	if err != nil || len(keys) < 10 || len(own) != 2 || own[0].Points[1].Limit != 1000 {
		t.Fatalf("%d blocks, %+v, %v", len(keys), own, err)
	}
	for i, k := range keys {
		if i%2 == 0 {
			r.rdb.Del(t.Context(), k)
		}
	}
	if byLane := r.ask(q).Levels; !reflect.DeepEqual(own, byLane) {
		t.Errorf("%+v\nby lane %+v", own, byLane)
	}
}

// rewrite has a block end at a time: as if its historian had ended then.
func (r *historyRig) rewrite(index int64, until time.Time) {
	r.t.Helper()
	key := r.read.keys.block(tierFine, index, viewUsers)
	text, err := r.rdb.Get(r.t.Context(), key).Bytes()
	if err != nil {
		r.t.Fatal(err)
	}
	p, err := openBlock(text)
	if err != nil {
		r.t.Fatal(err)
	}
	b := newBlock(p.begin, p.step, p.n)
	b.until = until
	if err := r.rdb.Set(r.t.Context(), key, b.pack(), 0).Err(); err != nil {
		r.t.Fatal(err)
	}
}
