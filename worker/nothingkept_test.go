package worker

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// TestAsynqKeepsNothing: of rows that have ended, well or badly, no task is left in a
// real Redis: nothing lies in asynq's completed or archived tasks, whatever the run's
// retention. Only the names of the queue and asynq's own daily counters stay.
func TestAsynqKeepsNothing(t *testing.T) {
	const rows = 40
	url := realRedis(t)
	r := newRig(t)
	r.rdb = client(t, url)
	r.store = jobs.NewStore(r.rdb, jobs.StoreOptions{})
	gate := limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
	configure(t, gate, limiter.Limits{RPM: 600_000})
	run := r.enqueue(rows, spec())
	cfg := r.config()
	cfg.Gate, cfg.Client = gate, r.clientVia(&sayer{reply: func(body string) string {
		if index(rowInPrompt.FindStringSubmatch(body)[1])%2 == 0 {
			return says("STOP", "fine")
		}
		return says("SAFETY", "")
	}}, gate)
	_, stop := r.start(cfg)
	if got := tally(r.await(run, time.Minute)); got != "done 20, blocked 20" {
		t.Fatalf("rows are %s\n%s", got, r.log.text())
	}
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	keys, err := r.rdb.Keys(t.Context(), "asynq:*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("asynq has %d keys (%v): this test looks in the wrong place", len(keys), err)
	}
	for _, key := range keys {
		if strings.Contains(key, ":processed") || strings.Contains(key, ":failed") || key == "asynq:queues" {
			continue
		}
		t.Errorf("%s is left of %d rows that have ended", key, rows)
	}
	q := r.queue(jobs.Normal)
	if q.Size != 0 || q.Archived+q.Completed+q.Retry != 0 {
		t.Errorf("asynq has %+v", q)
	}
}
