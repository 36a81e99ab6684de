package worker

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestLargeFleetIsReadSeldom: what a beat of one of many costs does not grow with their
// number, and each tells of itself at every beat all the same.
func TestLargeFleetIsReadSeldom(t *testing.T) {
	t.Parallel()
	rdb := client(t, realRedis(t))
	for i := range 120 {
		info, err := json.Marshal(WorkerInfo{ID: fmt.Sprintf("w%03d", i), Lanes: []LaneInfo{{Lane: "x", Slots: 3, Busy: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fleetCall(t.Context(), rdb, fmt.Sprintf("w%03d", i), string(info), true); err != nil {
			t.Fatal(err)
		}
	}
	self := WorkerInfo{ID: "self"}
	r := &registry{rdb: rdb, self: func() WorkerInfo { return self }}
	beat := func() {
		t.Helper()
		if err := r.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	beat()
	if n, idle := r.serving("x"), r.idleElsewhere("x"); n != 120 || idle != 240 {
		t.Fatalf("%d others serve the lane with %d idle slots, want 120 and 240", n, idle)
	}
	if err := rdb.Del(t.Context(), fleetKey).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // of 121 workers
		self.Done++
		beat()
		if n := r.serving("x"); n != 120 {
			t.Errorf("beat %d has read the fleet: %d serve the lane", i, n)
		}
		if seen, err := Fleet(t.Context(), rdb); err != nil || len(seen) != 1 || seen[0].Done != self.Done {
			t.Errorf("beat %d has not told of itself: %+v (%v)", i, seen, err)
		}
	}
	beat()
	if n := r.serving("x"); n != 0 {
		t.Errorf("the third beat has not read the fleet: %d serve the lane", n)
	}
}

func TestPullersShareTheWork(t *testing.T) {
	t.Parallel()
	others := 0
	p := &puller{others: func() int { return others }, late: map[string]late{}}
	for n, want := range map[int]time.Duration{0: pullEvery, 1: pullEvery, 15: pullEvery, 16: 2 * pullEvery, 80: 10 * pullEvery, 1000: 20 * pullEvery} {
		if others = n; p.pause() != want {
			t.Errorf("beside %d others each offers every %v, want %v", n, p.pause(), want)
		}
	}
	p.late["a task"] = late{}
	if p.pause() != pullEvery {
		t.Error("a released task is looked for as seldom as tickets are")
	}
}

func TestBlindBeats(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 0, 49: 0, 50: 1, 499: 9, 500: 9, 5000: 9} {
		if got := blindBeats(n); got != want {
			t.Errorf("a fleet of %d is read after %d blind beats, want %d", n, got, want)
		}
	}
}
