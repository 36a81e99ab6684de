package gemini

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// namesAsked notes what commands name.
type namesAsked struct{ all strings.Builder }

func (n *namesAsked) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n *namesAsked) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		fmt.Fprintln(&n.all, cmd.Args()...)
		return next(ctx, cmd)
	}
}

func (n *namesAsked) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestHistoryReadsWhatItAnswers: who asks for no tenants reads none of their buckets, which
// are as many as there are tenants, and who asks for limits alone reads no use at all.
func TestHistoryReadsWhatItAnswers(t *testing.T) {
	t.Parallel()
	rdb := dialEmbedded(t)
	r := newHistoryRig(t, rdb, nil)
	r.call("gemini-x", "bulk", "catalog", "acme", 10)
	r.pass(time.Minute)
	r.call("gemini-x", "bulk", "catalog", "acme", 10)
	r.meter.flush(false)
	keys, now := newMeterKeys(r.scope), r.clock.now()
	tenants, use := keys.tenants(now.UnixMilli()/tenantWidth.Milliseconds()), keys.bucket(Step5s, now.UnixMilli()/Step5s.Width().Milliseconds())
	asked := &namesAsked{}
	rdb.AddHook(asked)
	for _, by := range GroupsBy() {
		asked.all.Reset()
		if d := r.ask(HistoryQuery{From: meterNoon, To: now.Add(time.Second), By: by}); d.Total.Sum.Calls != 2 {
			t.Errorf("by %s: %d calls of 2", by, d.Total.Sum.Calls)
		}
		if got := asked.all.String(); strings.Contains(got, tenants) != (by == GroupTenant) || !strings.Contains(got, use) {
			t.Errorf("by %s it asks for\n%s", by, got)
		}
	}
	asked.all.Reset()
	if _, err := r.read.limits(t.Context(), WhoQuery{From: meterNoon, To: now.Add(time.Second)}); err != nil {
		t.Fatal(err)
	}
	if got := asked.all.String(); strings.Contains(got, use) || strings.Contains(got, tenants) || !strings.Contains(got, string(viewLimits)) {
		t.Errorf("for limits it asks for\n%s", got)
	}
}
