package worker

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestOtherFieldsMeanwhile: an update gives a row another price while its call is under
// way. There is one call, and the run's result and the sink's last line have the price.
func TestOtherFieldsMeanwhile(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		path := filepath.Join(t.TempDir(), "rows.csv")
		enqueue := func(price string) jobs.Run {
			if err := os.WriteFile(path, []byte("id,word,price\nr0,w,"+price+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return r.enqueueFile(path, spec(func(s *jobs.Spec) { s.Name = "n" }))
		}
		run := enqueue("1")
		var mu sync.Mutex
		var put []string
		cfg := r.config()
		cfg.Sink = sinkFunc(func(res jobs.Result) error {
			mu.Lock()
			defer mu.Unlock()
			put = append(put, string(res.Fields))
			return nil
		})
		r.start(cfg)
		r.until(run, time.Minute, "the call is under way", func(c jobs.Counts) bool { return c[jobs.Running] == 1 })
		r.update = true
		enqueue("2")
		r.await(run, time.Minute)
		const now = `{"id":"r0","word":"w","price":"2"}`
		if got := string(r.results(run)["r0"].Fields); got != now {
			t.Errorf("the result has %s, want %s", got, now)
		}
		mu.Lock()
		defer mu.Unlock()
		if want := []string{`{"id":"r0","word":"w","price":"1"}`, now}; !slices.Equal(put, want) {
			t.Errorf("the sink got %q, want %q", put, want)
		}
		if n := len(r.sim.Calls()); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}
