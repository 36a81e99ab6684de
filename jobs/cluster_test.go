package jobs

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterClient runs a Redis Cluster of one node: enough for it to refuse what
// spans hash slots.
func clusterClient(t *testing.T) redis.UniversalClient {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server") // startRedis has refused this in CI
	}
	port := freePort(t)
	cmd := exec.Command(bin, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--cluster-enabled", "yes")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	one := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 100, MaxRetryBackoff: 50 * time.Millisecond})
	defer one.Close()
	if err := one.ClusterAddSlotsRange(context.Background(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, MaxRedirects: 100, MaxRetryBackoff: 50 * time.Millisecond})
	t.Cleanup(func() { _ = c.Close() })
	for c.Set(context.Background(), "up", 1, 0).Err() != nil && t.Context().Err() == nil {
		c.ReloadState(context.Background())
	}
	return c
}

// freePort leaves room for the cluster bus, 10,000 above.
func freePort(t *testing.T) int {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		if port < 50_000 {
			return port
		}
		port -= 20_000
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
}

func TestCluster(t *testing.T) {
	b := newBench(t, clusterClient(t))
	r := b.enqueue(named("n"), numbered(60), EnqueueOptions{})
	b.want(b.enqueue(named("n"), numbered(60), EnqueueOptions{}), tally{known: 60})
	b.want(b.enqueue(named("n"), numbered(61), EnqueueOptions{Update: true}), tally{new: 1, known: 60})
	run := r.Run.ID
	for i := range int64(20) {
		task := Task{Run: run, Index: i}
		b.begin(task)
		if i%2 == 0 {
			b.finish(task, Done)
		} else {
			b.finish(task, Failed)
		}
	}
	if n, err := b.Retry(b.ctx, run, RetryFilter{}); err != nil || n != 10 {
		t.Errorf("retried %d (%v)", n, err)
	}
	rdbLose(b, run, 40)
	if got := b.sweep(run); got.Open != 51 || got.Recreated != 1 {
		t.Errorf("swept %+v", got)
	}
	if got, err := b.Cancel(b.ctx, run); err != nil || got.Cancelled != 51 {
		t.Errorf("cancelled %+v (%v)", got, err)
	}
	if folded := b.fold(run); folded == 0 {
		t.Error("nothing was folded")
	}
	if err := drainAndTrim(b.ctx, b.Store, run, t.TempDir()); err != nil {
		t.Error(err)
	}
	n := 0
	if err := b.Results(b.ctx, run, ResultsOptions{Completed: true}, func(Result) error { n++; return nil }); err != nil || n != 61 {
		t.Errorf("%d results (%v)", n, err)
	}
	late := b.enqueue(patient("late", time.Hour), numbered(2), EnqueueOptions{}).Run.ID
	if gone, err := b.Expire(b.ctx, late, time.Now().Add(2*time.Hour)); err != nil || len(gone) != 2 {
		t.Errorf("%v have expired (%v)", gone, err)
	}
	if _, err := b.Purge(b.ctx, run, PurgeOptions{}); err != nil {
		t.Error(err)
	}
}
