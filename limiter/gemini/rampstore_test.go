package gemini

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestRampStore(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		s := NewRampStore(rdb, meterScope())
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		read := func() []Ramp {
			t.Helper()
			all, err := s.Ramps(t.Context())
			must(err)
			return all
		}
		want := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		r := chatRamp(func(r *Ramp) {
			r.Started = time.Unix(1_790_000_000, 0).UTC()
			r.Seen.Unfit = map[string]int64{"tools": 3}
		})
		must(s.Put(t.Context(), r))
		got := read()[0]
		rev := got.rev
		if got.rev = 0; !reflect.DeepEqual(got, r) || rev == 0 {
			t.Fatalf("read %+v, wrote %+v", got, r)
		}
		got.rev = rev
		want("another one of its name", s.Put(t.Context(), r), ErrRampChanged)

		got.Step = 1
		must(s.PutFenced(t.Context(), got, 7))
		want("what was read before", s.PutFenced(t.Context(), got, 7), ErrRampChanged)
		want("an older leader", s.PutFenced(t.Context(), read()[0], 6), ErrRampFenced)
		changed, err := s.Change(t.Context(), r.Scope, r.From, func(r *Ramp) error { r.Phase = RampRolledBack; return nil })
		must(err)
		want("the leader after a person", s.PutFenced(t.Context(), got, 7), ErrRampChanged)
		if got = read()[0]; got.Phase != RampRolledBack || got.Step != 1 || changed.Phase != RampRolledBack {
			t.Errorf("changed to %+v", got)
		}
		stale := read()[0]
		must(s.Remove(t.Context(), stale))
		must(s.Put(t.Context(), r))
		want("of the one before", s.PutFenced(t.Context(), stale, 7), ErrRampChanged)
		bad := r
		bad.Steps = []int64{1, 2}
		if err := s.Put(t.Context(), bad); err == nil {
			t.Error("steps without an end are kept")
		}
		for i := range mostRamps - 1 { // and the one that is there
			r.Scope.Name = fmt.Sprint("f", i)
			must(s.Put(t.Context(), r))
		}
		r.Scope.Name = "one-more"
		want("too many", s.Put(t.Context(), r), ErrManyRamps)
	})
}

// TestRampMeter: calls of ramps are counted by ramp and side, in buckets of their
// own, and others are not.
func TestRampMeter(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		scope, clock := meterScope(), &handClock{at: time.Now()}
		plain := meterAt(t, rdb, scope, clock, clock)
		ramps := meterAt(t, rdb, scope, clock, clock, func(o *MeterOptions) { o.ramps = true })
		for _, side := range []string{SideMoved, SideMoved, SideStayed, SideUnfit + "tools", ""} {
			r := goodCall(scope, "interactive", "chat")
			if r.RampSide = side; side != "" {
				r.Ramp, r.rampSeed = "feature/chat", "seed-1"
			}
			Fan(plain, ramps).Put(r)
		}
		plain.flush(true)
		ramps.flush(true)
		got, err := ReadRampMeter(t.Context(), rdb, scope, clock.at.Add(-time.Minute), clock.at.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		calls := map[string]int64{}
		for _, s := range got {
			calls[s.Feature+" "+s.Class] += s.Calls
		}
		want := map[string]int64{"seed-1 moved": 2, "seed-1 stayed": 1, "seed-1 unfit tools": 1}
		if !reflect.DeepEqual(calls, want) {
			t.Errorf("counted %v, want %v", calls, want)
		}
		if all := sum(readStep(t, rdb, scope, Step5s, clock.at.Add(-time.Minute), clock.at.Add(time.Minute))); all.Calls != 5 {
			t.Errorf("the plain meter has %d calls, want 5", all.Calls)
		}
	})
}

func TestRampIsChecked(t *testing.T) {
	for what, change := range map[string]func(*Ramp){
		"scope":        func(r *Ramp) { r.Scope.Kind = "planet" },
		"name":         func(r *Ramp) { r.Scope.Name = "" },
		"from":         func(r *Ramp) { r.From = "" },
		"to":           func(r *Ramp) { r.To = "a b" },
		"sticky":       func(r *Ramp) { r.Sticky = "" },
		"over":         func(r *Ramp) { r.Over = 0 },
		"no steps":     func(r *Ramp) { r.Steps = nil },
		"no end":       func(r *Ramp) { r.Steps = []int64{50_000} },
		"falling":      func(r *Ramp) { r.Steps = []int64{50_000, 40_000, ppmWhole} },
		"nothing":      func(r *Ramp) { r.Steps = []int64{0, ppmWhole} },
		"beyond a end": func(r *Ramp) { r.Steps = []int64{ppmWhole, ppmWhole + 1} },
	} {
		if r := chatRamp(change); r.Check() == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	if r := chatRamp(); r.Check() != nil {
		t.Error(r.Check())
	}
}
