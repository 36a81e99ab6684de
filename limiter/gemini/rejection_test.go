package gemini

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// rejected is a call that we admitted and the provider refused.
func rejected(scope limiter.Scope, feature, limit string, value int64) Record {
	r := goodCall(scope, "interactive", feature)
	r.Status, r.Verdict, r.Reason, r.Limit, r.QuotaValue = 429, Wait, limit, limit, value
	r.Decision, r.TraceID = limiter.AdmittedThenProviderRejected, feature+"-trace"
	return r
}

// TestRejections are evidence with the time by Redis's clock, merged within a
// second, oldest first.
func TestRejections(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		scope, clock, own := meterScope(), &handClock{at: meterNoon}, &handClock{at: meterNoon.Add(-5 * time.Hour)}
		m := meterAt(t, rdb, scope, own, clock)
		for range 3 {
			m.Put(rejected(scope, "chat", "rpm", 60))
		}
		m.Put(goodCall(scope, "interactive", "chat"))
		clock.turn(10 * time.Second)
		own.turn(10 * time.Second)
		m.Put(rejected(scope, "mail", "input_tpm", 0))
		observed := rejected(scope, "chat", "rpm", 60)
		observed.Over = "rpm" // we would have refused it: no sign of others
		direct := rejected(scope, "chat", "rpm", 60)
		direct.Direct = true
		m.Put(observed)
		m.Put(direct)
		m.flush(false)
		got, err := ReadRejections(t.Context(), rdb, scope, meterNoon)
		lane := scope.String() + "/global/gemini-x"
		want := []Rejection{
			{meterNoon, lane, "rpm", 60, "interactive", "chat", "chat-trace", 3},
			{meterNoon.Add(10 * time.Second), lane, "input_tpm", 0, "interactive", "mail", "mail-trace", 1},
		}
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		for i := range want {
			if !got[i].At.Equal(want[i].At) {
				t.Errorf("at %s, want %s", got[i].At, want[i].At)
			}
			if got[i].At = want[i].At; got[i] != want[i] {
				t.Errorf("%+v\nwant %+v", got[i], want[i])
			}
		}
		if got, err = ReadRejections(t.Context(), rdb, scope, meterNoon.Add(time.Second)); err != nil || len(got) != 1 || got[0].Feature != "mail" {
			t.Errorf("since later: %+v, %v", got, err)
		}
		if all := sum(readStep(t, rdb, scope, StepMinute, meterNoon, clock.now())); all.Provider429 != 6 {
			t.Errorf("%d counted", all.Provider429)
		}
	})
}

// TestRejectionsAreBounded: of a storm the newest are kept.
func TestRejectionsAreBounded(t *testing.T) {
	rdb, scope, clock := dialReal(t), meterScope(), &handClock{at: meterNoon}
	m := meterAt(t, rdb, scope, clock, clock)
	for i := range 150 {
		m.Put(rejected(scope, fmt.Sprint("f", i), "rpm", 60))
		clock.turn(time.Second)
	}
	m.flush(false)
	got, err := ReadRejections(t.Context(), rdb, scope, time.Time{})
	if err != nil || len(got) != 100 || got[0].Feature != "f50" || got[99].Feature != "f149" {
		t.Fatalf("%d waited, first %+v, %v", len(got), got[0], err)
	}
	for range 6 {
		for i := range 90 {
			m.Put(rejected(scope, fmt.Sprint("f", i), "rpm", 60))
		}
		clock.turn(time.Second)
		m.flush(false)
	}
	if got, err = ReadRejections(t.Context(), rdb, scope, time.Time{}); err != nil || len(got) != rejectionsKept {
		t.Errorf("%d kept, %v", len(got), err)
	}
}
