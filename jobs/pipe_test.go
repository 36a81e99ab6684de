package jobs

import (
	"context"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// TestWithoutPipelines: in-memory connections have no buffer, so that a
// pipeline would wait for ever; a batch of one sends none.
func TestWithoutPipelines(t *testing.T) {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	rdb := redis.NewClient(&redis.Options{
		Dialer:                   func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer rdb.Close()
	b := newBench(t, rdb)
	b.opts.Batch = 1
	r := b.enqueue(named("n"), numbered(5), EnqueueOptions{})
	b.want(b.enqueue(named("n"), numbered(5), EnqueueOptions{}), tally{known: 5})
	rdbLose(b, r.Run.ID, 2)
	if got := b.sweep(r.Run.ID); got.Recreated != 1 {
		t.Errorf("swept %+v", got)
	}
	b.everyTaskOnce(r.Queue, 5)
	for i := range int64(5) {
		b.finish(Task{Run: r.Run.ID, Index: i}, Failed)
	}
	if n, err := b.Retry(b.ctx, r.Run.ID, RetryFilter{}); err != nil || n != 5 {
		t.Errorf("retried %d (%v)", n, err)
	}
}
