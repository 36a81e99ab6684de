package worker

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

// TestOnCluster runs rows on a cluster of one node: it refuses, as every cluster
// does, commands and scripts whose keys are not in one slot.
func TestOnCluster(t *testing.T) {
	port := startRedis(t, "--save", "", "--cluster-enabled", "yes")
	plain := client(t, "redis://127.0.0.1:"+port)
	if err := plain.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	runOn(t, "redis-cluster://127.0.0.1:"+port)
}

// TestOnSentinel runs rows on a master that a sentinel names.
func TestOnSentinel(t *testing.T) {
	master := startRedis(t, "--save", "", "--appendonly", "no")
	awaitRedis(t, "redis://127.0.0.1:"+master)
	conf := filepath.Join(t.TempDir(), "sentinel.conf") // a sentinel rewrites its file
	if err := os.WriteFile(conf, []byte("sentinel monitor ours 127.0.0.1 "+master+" 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := startRedis(t, conf, "--sentinel")
	awaitRedis(t, "redis://127.0.0.1:"+sentinel)
	runOn(t, "redis-sentinel://127.0.0.1:"+sentinel+"/1?master=ours")
}

// runOn lets a worker do some rows, refused now and then, on the Redis of url.
func runOn(t *testing.T, url string) {
	t.Helper()
	rdb := client(t, url)
	r := &rig{TB: t, rdb: rdb, store: jobs.NewStore(rdb, jobs.StoreOptions{}), log: &logLines{}, sim: geminitest.MustNew(geminitest.Config{Latency: geminitest.Latency{Base: 30 * time.Millisecond}})}
	gate := limiter.NewRedis(rdb, testScope, limiter.RedisOptions{})
	eventually(t, 10*time.Second, "the cluster is up", func() bool { return rdb.Set(t.Context(), "x", 1, 0).Err() == nil })
	configure(t, gate, limiter.Limits{RPM: 6000, Concurrency: 3})
	web := httptest.NewServer(r.sim)
	t.Cleanup(web.Close)
	tr, err := gemini.NewTransport(gemini.TransportConfig{BaseURL: web.URL, APIKey: "test-key", Gate: gate, Lanes: testLanes()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := gemini.NewClient(t.Context(), tr, "")
	if err != nil {
		t.Fatal(err)
	}
	run := r.enqueue(15, spec())
	w, stop := r.start(Config{Redis: rdb, Store: r.store, Gate: gate, Client: c, Concurrency: 8, Logger: r.log.logger()})
	if c := r.await(run, 30*time.Second); c[jobs.Done] != 15 {
		t.Errorf("rows are %s\n%s", tally(c), r.log.text())
	}
	if s := w.Stats(); s.Waits == 0 {
		t.Error("no row was refused: the scripts of waiting and pulling were not tried")
	}
	if fleet, err := Fleet(t.Context(), rdb); err != nil || len(fleet) != 1 {
		t.Errorf("fleet %+v, err %v", fleet, err)
	}
	if err := Abort(t.Context(), rdb, run.ID, time.Now()); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
