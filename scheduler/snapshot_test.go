package scheduler

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// dayUse is what bulk used today.
func (r *rig) dayUse() (n int64) {
	r.Helper()
	s, err := r.lim.Counters(r.ctx())
	r.must(err)
	for _, c := range s.Counters {
		if c.Window == limiter.Day && c.Class == "bulk" {
			n += c.Used
		}
	}
	return n
}

// TestCountersOutliveRedis: what was used today is known again after Redis lost
// everything, limits too; a leader that comes later does not bring old use back.
func TestCountersOutliveRedis(t *testing.T) {
	r := newRig(t, realRedis(t))
	ctx := t.Context()
	s := &Snapshots{Control: r.c, Dir: t.TempDir(), Every: time.Nanosecond,
		Configure: func(context.Context) error { r.configure(); return nil }}
	r.must(s.Keep(ctx)) // marks that the counters are there
	for range 7 {
		r.wantStarts("bulk", true)
	}
	r.must(s.Keep(ctx))
	used := r.dayUse()
	if used == 0 {
		t.Fatal("nothing was used")
	}
	r.must(r.rdb.FlushAll(ctx).Err())
	r.must(s.Keep(ctx))
	if got := r.dayUse(); got != used {
		t.Errorf("after the loss %d are used today, want %d", got, used)
	}
	if got := r.events(limiter.EventAlert); len(got) != 2 || !strings.Contains(got[0], "lost its data") || !strings.Contains(got[1], "brought back") {
		t.Errorf("alerts %q", got)
	}
	r.wantStarts("bulk", true)
	later := r.dayUse()
	other := &Snapshots{Control: r.c, Dir: s.Dir}
	r.must(other.Keep(ctx))
	if got := r.dayUse(); got != later || len(r.events(limiter.EventAlert)) != 2 {
		t.Errorf("another leader made %d of %d", got, later)
	}
}

// TestSnapshotWaitsForLimits: counters belong to limits; without them nothing is
// marked as brought back.
func TestSnapshotWaitsForLimits(t *testing.T) {
	r := newRig(t, realRedis(t))
	s := &Snapshots{Control: r.c, Dir: t.TempDir(), Every: time.Nanosecond}
	r.must(s.Keep(t.Context()))
	r.wantStarts("bulk", true)
	r.must(s.Keep(t.Context()))
	used := r.dayUse()
	r.must(r.rdb.FlushAll(t.Context()).Err())
	if err := s.Keep(t.Context()); err == nil {
		t.Error("counters came back without limits")
	}
	r.configure() // some process does
	if err := s.Keep(t.Context()); err != nil || r.dayUse() != used {
		t.Errorf("with limits: err %v, %d used, want %d", err, r.dayUse(), used)
	}
}

// TestSnapshotPace: between two snapshots the file is left alone.
func TestSnapshotPace(t *testing.T) {
	r := newRig(t, realRedis(t))
	now := time.Now()
	r.c.Now = func() time.Time { return now }
	s := &Snapshots{Control: r.c, Dir: t.TempDir()}
	for range 2 {
		r.must(s.Keep(t.Context()))
	}
	r.must(os.Remove(s.path()))
	now = now.Add(9 * time.Second)
	r.must(s.Keep(t.Context()))
	if _, err := os.Stat(s.path()); err == nil {
		t.Error("written again after nine seconds")
	}
	now = now.Add(time.Second)
	r.must(s.Keep(t.Context()))
	if kept, err := s.read(); err != nil || kept == nil {
		t.Errorf("after ten seconds: %v, err %v", kept, err)
	}
	info, err := os.ReadDir(s.Dir)
	if err != nil || len(info) != 1 {
		t.Errorf("%d files in the directory, want no leftovers", len(info))
	}
}

// TestSnapshotUnreadable: a file that cannot be read is told of by its name, and
// stays.
func TestSnapshotUnreadable(t *testing.T) {
	r := newRig(t, realRedis(t))
	s := &Snapshots{Control: r.c, Dir: t.TempDir()}
	for _, text := range []string{"{", `{"scope":{"provider":"gemini","project":"other"}}`} {
		r.must(os.WriteFile(s.path(), []byte(text), 0o600))
		if err := s.Keep(t.Context()); err == nil || !strings.Contains(err.Error(), s.path()) {
			t.Errorf("%s: %v", text, err)
		}
		if got, err := os.ReadFile(s.path()); err != nil || string(got) != text {
			t.Errorf("the file is %q now, err %v", got, err)
		}
	}
}

// TestOldSnapshot: what an old snapshot brings back does not let bulk go on, since
// nobody knows what was used after it.
func TestOldSnapshot(t *testing.T) {
	for _, c := range []struct {
		age  time.Duration
		goes bool
	}{{10 * time.Second, true}, {3 * time.Hour, false}} {
		r := newRig(t, realRedis(t))
		s := &Snapshots{Control: r.c, Dir: t.TempDir(), Every: time.Nanosecond, Configure: func(context.Context) error { r.configure(); return nil }}
		r.must(s.Keep(t.Context()))
		r.wantStarts("bulk", true)
		r.must(s.Keep(t.Context()))
		used := r.dayUse()
		r.must(r.rdb.FlushAll(t.Context()).Err())
		now := time.Now().Add(c.age)
		r.c.Now = func() time.Time { return now }
		r.must(s.Keep(t.Context()))
		if got := r.dayUse(); got != used {
			t.Errorf("%s: %d used, want %d", c.age, got, used)
		}
		r.wantStarts("bulk", c.goes)
	}
}
