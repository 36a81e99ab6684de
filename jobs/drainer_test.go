package jobs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// virtual runs a test in virtual time, on an embedded Redis without a network.
func virtual(t *testing.T, test func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		m := miniredis.NewMiniRedis()
		rdb := redis.NewClient(&redis.Options{
			Dialer:                   func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
			DisableIdentity:          true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			ConnMaxIdleTime:          -1,
		})
		defer m.Close()
		defer rdb.Close()
		b := newBench(t, rdb)
		b.opts.Batch = 1
		test(t, b)
	})
}

// later lets virtual time go by, and what falls into it happen.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// startDrainer runs a drainer until the test ends it.
func (b *bench) startDrainer(d Drainer) (log *bytes.Buffer, stop func()) {
	log = &bytes.Buffer{}
	d.Store, d.Logger = b.Store, slog.New(slog.NewTextHandler(log, nil))
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.Run(ctx)
	}()
	return log, func() {
		cancel()
		<-ended
	}
}

// TestDrainer: a run that has ended is in files within a look, and in Redis for a
// day more; an open one is left alone; what ends later follows.
func TestDrainer(t *testing.T) {
	virtual(t, func(t *testing.T, b *bench) {
		dir := t.TempDir()
		open := b.enqueue(named("open"), numbered(3), EnqueueOptions{}).Run.ID
		run := b.enqueue(named("n"), numbered(5), EnqueueOptions{}).Run.ID
		b.end(halfGood(run, 5)...)
		b.end(halfGood(open, 2)...)
		log, stop := b.startDrainer(Drainer{Dir: dir})
		defer stop()
		later(time.Minute)
		if len(b.inFiles(filepath.Join(dir, run))) != 5 || b.bytes(run) == 0 {
			t.Errorf("of the run that has ended %d are in files, %d bytes in Redis", len(b.inFiles(filepath.Join(dir, run))), b.bytes(run))
		}
		if _, err := os.Stat(filepath.Join(dir, open)); err == nil {
			t.Error("a run with open rows was drained")
		}
		if later(22 * time.Hour); b.bytes(run) == 0 {
			t.Error("trimmed within the day")
		}
		if n, err := b.Retry(b.ctx, run, RetryFilter{}); err != nil || n != 2 {
			t.Fatalf("retried %d (%v)", n, err)
		}
		b.end(ended(Task{Run: run, Index: 1, Gen: 1}, Done, "better"), ended(Task{Run: run, Index: 3, Gen: 1}, Done, "better"))
		later(time.Minute)
		if got := b.inFiles(filepath.Join(dir, run)); got["r3"] != "done better" || len(got) != 5 {
			t.Errorf("the files have %v", got)
		}
		if later(3 * time.Hour); b.bytes(run) == 0 {
			t.Error("trimmed within a day of what came last")
		}
		want := b.outputs(run)
		if later(22 * time.Hour); b.bytes(run) != 0 {
			t.Error("not trimmed after a day")
		}
		b.same(run, want)
		if strings.Contains(log.String(), "WARN") {
			t.Errorf("logged:\n%s", log)
		}
	})
}

// TestDrainerTakesMuch: a run that takes much room goes to files while it runs,
// and leaves Redis at once.
func TestDrainerTakesMuch(t *testing.T) {
	virtual(t, func(t *testing.T, b *bench) {
		dir := t.TempDir()
		run := b.enqueue(named("n"), numbered(300), EnqueueOptions{Have: allBut(0, 299)}).Run.ID
		b.end(ended(Task{Run: run}, Done, "answer"))
		want := b.outputs(run)
		if err := b.rdb.HIncrBy(b.ctx, runKey(run), "bytes", drainBytes).Err(); err != nil {
			t.Fatal(err)
		}
		_, stop := b.startDrainer(Drainer{Dir: dir})
		defer stop()
		later(time.Second)
		if got := b.inFiles(filepath.Join(dir, run)); len(got) != 1 {
			t.Errorf("the files have %v", got)
		}
		if n, err := b.ResultBytes(b.ctx, run); err != nil || n != drainBytes {
			t.Errorf("%d bytes are left in Redis (%v)", n-drainBytes, err)
		}
		b.same(run, want)
	})
}

// TestDrainerOfAnotherHost: a leader that does not see a run's files says so
// once, leaves that run's results where they are, and does the others.
func TestDrainerOfAnotherHost(t *testing.T) {
	virtual(t, func(t *testing.T, b *bench) {
		dir := t.TempDir()
		run := b.enqueue(named("n"), numbered(2), EnqueueOptions{}).Run.ID
		b.end(halfGood(run, 2)...)
		away := b.drain(run, filepath.Join(dir, "away")).Dir
		if err := os.Remove(filepath.Join(away, manifestName)); err != nil {
			t.Fatal(err)
		}
		other := b.enqueue(named("other"), numbered(1), EnqueueOptions{}).Run.ID
		b.end(halfGood(other, 1)...)
		log, stop := b.startDrainer(Drainer{Dir: dir, Keep: -1})
		defer stop()
		later(10 * time.Minute)
		if n := strings.Count(log.String(), "WARN"); n != 1 || !strings.Contains(log.String(), away) {
			t.Errorf("%d warnings:\n%s", n, log)
		}
		if b.bytes(run) == 0 || b.bytes(other) != 0 || len(b.outputs(run)) != 2 || len(b.outputs(other)) != 1 {
			t.Error(fmt.Sprint("in Redis: ", b.bytes(run), ", of the other: ", b.bytes(other)))
		}
	})
}

// TestDrainGoesOn: while files cannot be written, as on a full disk, results stay
// in Redis, which is said once; then they are written, and nothing is lost.
func TestDrainGoesOn(t *testing.T) {
	virtual(t, func(t *testing.T, b *bench) {
		dir := filepath.Join(t.TempDir(), "results")
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder should be
			t.Fatal(err)
		}
		run := b.enqueue(named("n"), numbered(5), EnqueueOptions{}).Run.ID
		b.end(halfGood(run, 5)...)
		want := b.outputs(run)
		log, stop := b.startDrainer(Drainer{Dir: dir, Keep: -1})
		defer stop()
		later(time.Hour)
		if n := strings.Count(log.String(), "results stay in Redis"); n != 1 || b.bytes(run) == 0 {
			t.Errorf("said %d times, %d bytes in Redis; logged:\n%s", n, b.bytes(run), log)
		}
		b.same(run, want)
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		later(time.Minute)
		if !strings.Contains(log.String(), "are written to files again") || len(b.inFiles(filepath.Join(dir, run))) != 5 || b.bytes(run) != 0 {
			t.Errorf("%d in files, %d bytes in Redis; logged:\n%s", len(b.inFiles(filepath.Join(dir, run))), b.bytes(run), log)
		}
		b.same(run, want)
	})
}
