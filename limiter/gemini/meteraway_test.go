package gemini

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// meterNoon is a full hour, not yet over: what is written then does not expire
// during a test.
var meterNoon = time.Now().UTC().Truncate(time.Hour).Add(time.Hour)

// TestMeterKeepsWhatRedisMissed: two hours of calls while Redis is away are
// counted afterwards, each at its own time, within the bound of what is kept.
func TestMeterKeepsWhatRedisMissed(t *testing.T) {
	rdb, scope, clock := dialReal(t), meterScope(), &handClock{at: meterNoon}
	away := true
	way := redis.NewClient(cloneOptions(rdb))
	t.Cleanup(func() { _ = way.Close() })
	way.AddHook(faulty{before: func() error {
		if away {
			return errBroken
		}
		return nil
	}})
	m := meterAt(t, way, scope, clock, clock, func(o *MeterOptions) { o.Pending = 60 })
	for i := range 720 {
		m.Put(goodCall(scope, "interactive", fmt.Sprint("f", i%3)))
		if m.flush(false); m.failed == nil {
			t.Fatal("Redis is away")
		}
		if n := m.pending(); n > 60+3 { // and one sum of money a feature
			t.Fatalf("%d counts kept apart", n)
		}
		clock.turn(10 * time.Second)
	}
	away = false
	m.flush(false)
	hours := readStep(t, rdb, scope, StepHour, meterNoon, clock.now())
	byHour := map[time.Time]int64{}
	for _, s := range hours {
		byHour[s.At.UTC()] += s.Good
	}
	if len(byHour) != 2 || byHour[meterNoon] != 360 || byHour[meterNoon.Add(time.Hour)] != 360 {
		t.Errorf("by hour: %v", byHour)
	}
	if late := sum(readStep(t, rdb, scope, Step5s, meterNoon, clock.now().Add(-15*time.Minute-5*time.Second))); late.Calls != 0 {
		t.Errorf("%d calls in buckets that should have expired", late.Calls)
	}
}

// TestMeterBoundsFeatures: callers choose features; neither a process nor all of
// them together fill Redis with them, and no call is lost in it.
func TestMeterBoundsFeatures(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		scope, clock := meterScope(), &handClock{at: meterNoon}
		for p := range 7 {
			m := meterAt(t, rdb, scope, clock, clock)
			for i := range 300 {
				m.Put(goodCall(scope, "interactive", fmt.Sprintf("f%d-%d", p, i)))
			}
			m.flush(false)
		}
		got := readStep(t, rdb, scope, StepMinute, meterNoon, meterNoon.Add(time.Minute))
		var other int64
		for _, s := range got {
			if s.Feature == OtherFeature {
				other += s.Good
			}
		}
		// Each process tells 200 apart; a bucket has the first 999 beside the others.
		if all := sum(got).Good; all != 2100 || len(got) != 1000 || other != 2100-999 {
			t.Errorf("%d calls in %d samples, %d of other features", all, len(got), other)
		}
	})
}

func TestMeterTellsFeaturesApartAgainNextHour(t *testing.T) {
	rdb, scope, clock := dialEmbedded(t), meterScope(), &handClock{at: meterNoon}
	m := meterAt(t, rdb, scope, clock, clock, func(o *MeterOptions) { o.Features = 2 })
	for _, f := range []string{"a", "b", "c", "a"} {
		m.Put(goodCall(scope, "interactive", f))
	}
	clock.turn(time.Hour)
	m.Put(goodCall(scope, "interactive", "c"))
	m.flush(false)
	got := map[string]int64{}
	for _, s := range readStep(t, rdb, scope, StepHour, meterNoon, clock.now().Add(time.Hour)) {
		got[fmt.Sprint(s.At.Sub(meterNoon).Hours(), s.Feature)] = s.Good
	}
	if len(got) != 4 || got["0a"] != 2 || got["0b"] != 1 || got["0other"] != 1 || got["1c"] != 1 {
		t.Errorf("%v", got)
	}
}

// TestMeterPutNeverWaits: a flush that hangs in Redis holds up no call.
func TestMeterPutNeverWaits(t *testing.T) {
	rdb, scope, clock := dialEmbedded(t), meterScope(), &handClock{at: meterNoon}
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	rdb.AddHook(faulty{before: func() error {
		once.Do(func() { close(begun) })
		<-goOn
		return nil
	}})
	m := meterAt(t, rdb, scope, clock, clock)
	m.Put(goodCall(scope, "bulk", "a"))
	flushed := make(chan struct{})
	go func() {
		m.flush(false)
		close(flushed)
	}()
	<-begun
	for range 100 {
		m.Put(goodCall(scope, "bulk", "a"))
	}
	close(goOn)
	<-flushed
	m.flush(false)
	if got := sum(readStep(t, rdb, scope, StepHour, meterNoon, meterNoon.Add(time.Second))); got.Good != 101 {
		t.Errorf("%d calls", got.Good)
	}
}

// TestMeterFlushes runs the flusher on virtual time: calls are seen within a
// second, a process says that it is alive, and Close sends the rest.
func TestMeterFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		rdb := pipeClient(t, server)
		scope := meterScope()
		server.SetTime(time.Now())
		m := NewMeter(rdb, scope, MeterOptions{Process: "gateway a", redisNow: time.Now})
		m.Put(goodCall(scope, "interactive", "chat"))
		pass(1001 * time.Millisecond)
		synctest.Wait()
		begin := time.Now().Add(-time.Hour)
		if got := sum(readStep(t, rdb, scope, StepMinute, begin, time.Now())); got.Good != 1 {
			t.Errorf("%d calls after a second", got.Good)
		}
		pass(20 * time.Second)
		synctest.Wait()
		who, err := MeterProcesses(t.Context(), rdb, scope)
		if err != nil || len(who) != 1 || who[0].Name != "gateway a" || time.Since(who[0].Last) > 5*time.Second {
			t.Errorf("%+v, %v", who, err)
		}
		m.Put(goodCall(scope, "interactive", "chat"))
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		m.Put(goodCall(scope, "interactive", "chat")) // too late
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if got := sum(readStep(t, rdb, scope, StepMinute, begin, time.Now().Add(time.Second))); got.Good != 2 {
			t.Errorf("%d calls in the end", got.Good)
		}
	})
}

// TestMeterSendsABacklogBitByBit: what an outage has left must not hold Redis
// for long at once, but Close leaves nothing behind.
func TestMeterSendsABacklogBitByBit(t *testing.T) {
	rdb, scope, clock := dialReal(t), meterScope(), &handClock{at: meterNoon}
	scripts := 0
	rdb.AddHook(faulty{before: func() error { scripts++; return nil }})
	m := meterAt(t, rdb, scope, clock, clock)
	for range 1200 {
		m.Put(goodCall(scope, "bulk", "a"))
		clock.turn(time.Second)
	}
	if m.flush(false); scripts > flushParcels+1 || m.pending() != 1200-flushParcels*parcelRows {
		t.Errorf("%d scripts, %d pending", scripts, m.pending())
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if got := sum(readStep(t, rdb, scope, StepMinute, meterNoon, clock.now())); got.Good != 1200 {
		t.Errorf("%d of 1200", got.Good)
	}
}

// TestMeterCloseWithoutRedis says what is lost, once, and does not hang.
func TestMeterCloseWithoutRedis(t *testing.T) {
	rdb, scope, clock := dialEmbedded(t), meterScope(), &handClock{at: meterNoon}
	rdb.AddHook(faulty{before: func() error { return errBroken }})
	m := meterAt(t, rdb, scope, clock, clock)
	m.Put(goodCall(scope, "bulk", "a"))
	if err := m.Close(); err == nil || !strings.Contains(err.Error(), "not counted") {
		t.Errorf("%v", err)
	}
}

// TestMeterBucketsExpire: what a step keeps is gone after its time.
func TestMeterBucketsExpire(t *testing.T) {
	rdb, scope := dialReal(t), meterScope()
	m := NewMeter(rdb, scope, MeterOptions{Every: time.Hour})
	m.Put(goodCall(scope, "bulk", "a"))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	keys, err := rdb.Keys(t.Context(), newMeterKeys(scope).root+":*").Result()
	if err != nil || len(keys) != len(steps)+1 { // and the day's money
		t.Fatalf("%v, %v", keys, err)
	}
	for _, step := range []Step{Step5s, StepMinute, StepHour} {
		var left time.Duration
		for _, k := range keys {
			if strings.Contains(k, fmt.Sprintf(":%d:", step.Width().Milliseconds())) {
				left = rdb.PTTL(t.Context(), k).Val()
			}
		}
		if left < step.Kept()-time.Minute || left > step.Kept()+step.Width() {
			t.Errorf("step %s: gone in %s, kept %s", step.Width(), left, step.Kept())
		}
	}
}

// TestReadMeterTakesWholeBuckets: those that the time touches, no others, and no
// more of them than are kept.
func TestReadMeterTakesWholeBuckets(t *testing.T) {
	rdb, scope, clock := dialReal(t), meterScope(), &handClock{at: meterNoon}
	m := meterAt(t, rdb, scope, clock, clock)
	for range 200 {
		m.Put(goodCall(scope, "bulk", "a"))
		clock.turn(time.Minute)
	}
	m.flush(false)
	for _, c := range []struct {
		from, to time.Duration
		want     int64
	}{
		{0, time.Minute, 1},
		{30 * time.Second, 61 * time.Second, 2},
		{0, 0, 0},
		{time.Hour, time.Minute, 0},
		{0, 2 * time.Hour, 120},
		{-10000 * time.Hour, 200 * time.Minute, 200},
	} {
		got := readStep(t, rdb, scope, StepMinute, meterNoon.Add(c.from), meterNoon.Add(c.to))
		if int64(len(got)) != c.want || sum(got).Good != c.want {
			t.Errorf("%s to %s: %d samples, %d calls, want %d", c.from, c.to, len(got), sum(got).Good, c.want)
		}
	}
	if _, err := ReadMeter(t.Context(), rdb, scope, Step(9), meterNoon, clock.now()); err == nil {
		t.Error("a step that does not exist")
	}
}

// TestReadMeterIsCheap counts round trips: three for two hours of minutes, four
// for a week of hours.
func TestReadMeterIsCheap(t *testing.T) {
	rdb, scope := dialEmbedded(t), meterScope()
	if _, err := ReadMeter(t.Context(), rdb, scope, StepHour, meterNoon, meterNoon.Add(time.Hour)); err != nil {
		t.Fatal(err) // loads the script
	}
	trips := 0
	rdb.AddHook(faulty{before: func() error { trips++; return nil }})
	readStep(t, rdb, scope, StepMinute, meterNoon, meterNoon.Add(2*time.Hour))
	if trips != 3 {
		t.Errorf("two hours: %d", trips)
	}
	trips = 0
	readStep(t, rdb, scope, StepHour, meterNoon, meterNoon.Add(7*24*time.Hour))
	if trips != 4 {
		t.Errorf("a week: %d", trips)
	}
}

// TestMeterNamesAreSafe: whatever a caller calls itself is one field.
func TestMeterNamesAreSafe(t *testing.T) {
	rdb, scope, clock := dialReal(t), meterScope(), &handClock{at: meterNoon}
	m := meterAt(t, rdb, scope, clock, clock)
	names := []string{"a|b", "a\nb", "\xff\xfe", "größe", strings.Repeat("é", 100), "", "x\x00y"}
	for _, n := range names {
		m.Put(goodCall(scope, "interactive", n))
	}
	m.flush(false)
	got := readStep(t, rdb, scope, StepMinute, meterNoon, meterNoon.Add(time.Minute))
	if sum(got).Good != int64(len(names)) {
		t.Errorf("%d calls", sum(got).Good)
	}
	for _, s := range got {
		if len(s.Feature) > 64 || s.Class != "interactive" || s.Model != "gemini-x" || s.Region != "global" {
			t.Errorf("%+v", s)
		}
	}
}
