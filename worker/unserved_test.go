package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// nothingClosed is a limiter in which nothing was ever closed.
type nothingClosed struct{}

func (nothingClosed) Closings(context.Context, limiter.Lane, string, limiter.Path, string) ([]limiter.Closing, error) {
	return nil, nil
}

// TestUnserved: while no worker serves a lane its rows wait for one. One that serves
// another lane, one that drains, and a beat that comes late are no difference.
func TestUnserved(t *testing.T) {
	t.Parallel()
	mini, began := miniredis.RunT(t), time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	rdb := redis.NewClient(&redis.Options{Addr: mini.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	at := 0
	reads := func(seconds int, want string) {
		t.Helper()
		at = seconds
		mini.SetTime(began.Add(time.Duration(at) * time.Second))
		got, err := ClosedBy(nothingClosed{}, rdb)(t.Context(), jobs.Run{ID: "r1", Spec: jobs.Spec{Lane: testLane, Class: "bulk"}})
		var text []string
		for _, s := range got {
			to := "on"
			if !s.To.IsZero() {
				to = fmt.Sprint(s.To.Sub(began).Seconds())
			}
			text = append(text, fmt.Sprintf("%s %v-%s", s.Cause, s.From.Sub(began).Seconds(), to))
		}
		if all := strings.Join(text, ", "); err != nil || all != want {
			t.Errorf("at %d: %q (%v), want %q", seconds, all, err, want)
		}
	}
	beats := func(w WorkerInfo, lanes ...string) {
		t.Helper()
		for _, l := range lanes {
			w.Lanes = append(w.Lanes, LaneInfo{Lane: l, Slots: 3})
		}
		r := &registry{rdb: rdb, self: func() WorkerInfo { return w }}
		if err := r.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reads(0, "")
	beats(WorkerInfo{ID: "a"}, testLane)
	reads(10, "")
	beats(WorkerInfo{ID: "a"}, testLane)
	reads(20, "")
	reads(21, "queue 10-on")
	beats(WorkerInfo{ID: "b"}, testLane+"-other")
	beats(WorkerInfo{ID: "a", Draining: true}, testLane)
	reads(3600, "queue 10-on")
	beats(WorkerInfo{ID: "c"}, testLane, testLane+"-other")
	beats(WorkerInfo{ID: "b"}, testLane)
	reads(3605, "queue 10-3600")
	beats(WorkerInfo{ID: "c"}, testLane)
	reads(3620, "queue 10-3600, queue 3605-on")
	for range 2000 {
		at += 20
		mini.SetTime(began.Add(time.Duration(at) * time.Second))
		beats(WorkerInfo{ID: "c"}, testLane)
	}
	if n := len(mini.HGet(servedKey, "g:"+testLane)); n > 16_000 || n < 15_900 {
		t.Errorf("%d bytes say when nobody was there", n)
	}
}
