package main

import (
	"context"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// morning: bulk has had a thousand requests a minute to itself and borrowed
// all that nobody used. Then a hundred people ask within a second, as many as the
// floor has room for, and others come after them: all are answered, and the
// provider refuses nobody. Default settings, every process on its own.
func morning(t *testing.T) {
	n := newNight(t, 1000, "")
	n.scheduler("scheduler")
	n.startWorkers(1)
	n.enqueue("rows", 3000, jobs.Normal, func(int) string { return "one lamp" })
	chat := n.people(n.client("interactive", "chat"))
	n.await("bulk has borrowed all that it may", 2*time.Minute, func() bool { return n.used("rpm") >= 820 }) // of 1000 less 50 outside and 120 floors

	ctx := context.Background()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { chat.ask(ctx) })
		<-time.After(10 * time.Millisecond) // a hundred within a second
	}
	all.Wait()
	spike := len(chat.answers())
	if bad := failed(chat.answers()); len(bad) > 1 {
		t.Errorf("%d of %d were refused in a spike up to the floor: %s", len(bad), spike, bad[0].why)
	}
	chat.come(ctx, 7, func(time.Duration) float64 { return 150 }, 150, 25*time.Second)
	if bad := failed(chat.answers()[spike:]); len(bad) > 0 {
		t.Errorf("%d of %d were refused in the morning: %s", len(bad), len(chat.answers())-spike, bad[0].why)
	}
	for _, c := range n.calls() {
		if c.Status == 429 {
			t.Fatalf("the provider refused %s", c.ID)
		}
	}
	most := 300 * time.Millisecond
	if racing {
		most = time.Second // a permit itself takes several times as long
	}
	if wait := n.waited("interactive", len(chat.answers())); wait > most {
		t.Errorf("p95 of the wait for a permit is %v", wait)
	}
	if len(of(n.calls(), "rows")) < 900 {
		t.Error("bulk did not run beside")
	}
}

func failed(all []answer) (bad []answer) {
	for _, a := range all {
		if a.failed {
			bad = append(bad, a)
		}
	}
	return bad
}

// used is what is in use of the lane's limit.
func (n *night) used(limit string) int64 {
	lanes, err := n.limits.Lanes(context.Background())
	n.must(err)
	s, err := n.limits.State(context.Background(), lanes[0].Lane)
	n.must(err)
	for _, l := range s.Limits {
		if l.Name == limit {
			return l.Used
		}
	}
	return 0
}

// waited is the p95 of a class's wait for permits, once all its calls are counted.
func (n *night) waited(class string, calls int) time.Duration {
	now := time.Now()
	var h gemini.Histogram
	n.await("the gateway's figures are there", 20*time.Second, func() bool {
		samples, err := gemini.ReadMeter(context.Background(), n.rdb, n.scope, gemini.StepMinute, now.Add(-10*time.Minute), now.Add(time.Minute))
		n.must(err)
		h = gemini.Histogram{}
		for _, s := range samples {
			if s.Class == class {
				h.Merge(s.Waited)
			}
		}
		return h.N() >= int64(calls)
	})
	return h.Quantile(0.95)
}
