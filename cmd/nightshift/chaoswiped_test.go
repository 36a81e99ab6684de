package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// TestChaosWiped takes everything from Redis while the fleet runs. Its processes
// notice, say so, and write down again what they know: limits, the month's money as
// of the snapshot, who works and who leads. Keys and runs are gone; they are given
// again, and the runs end.
func TestChaosWiped(t *testing.T) {
	t.Parallel()
	k := newChaos(t, hastyHealth)
	k.await("a snapshot is kept outside Redis", 30*time.Second, func() bool { return k.keptMoney() > 0 })
	wiped, known, lost := time.Now(), k.keptMoney(), k.runs
	k.must(k.rdb.FlushAll(context.Background()).Err())
	k.runs = nil
	k.await("it is said what was lost", time.Minute, func() bool { return k.alerted(wiped, "Redis lost its data") })
	k.letIn()
	k.await("people are answered again", time.Minute, func() bool { return k.answeredSince(wiped) })
	k.await("the month's money is known again", time.Minute, func() bool { used, _ := k.month(); return used >= known })
	for _, r := range lost {
		k.runs = append(k.runs, chaosRun{r.name, k.enqueue(r.name, chaosRows, jobs.Normal, func(int) string { return bulkText })})
	}
	k.await("both workers serve and somebody leads", time.Minute, func() bool { return k.serves("worker1") && k.serves("worker2") && k.leading() })
	k.await("all rows have ended", 3*time.Minute, func() bool { return k.open() == 0 })
	k.stop()
	k.neverOver("the end")
	k.rowsSum("the end")
	k.oneResultEach()
	t.Logf("well %.0f s after the loss; %s", time.Since(wiped).Seconds(), k.toldPeople(wiped))
}

// keptMoney is what the scheduler's snapshot has of the month's money; 0 without one.
func (k *chaos) keptMoney() (sum int64) {
	files, err := filepath.Glob(filepath.Join(k.dir, "state*", "nightshift", "*", "counters-*.json"))
	k.must(err)
	for _, name := range files {
		var kept limiter.Snapshot
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &kept)
		}
		k.must(err)
		for _, c := range kept.Counters {
			if c.Unit == limiter.MicroUSD && c.Window == limiter.Month {
				sum += c.Used
			}
		}
	}
	return sum
}

// alerted tells whether an event since then has the words.
func (k *chaos) alerted(since time.Time, words string) bool {
	all, err := k.limits.Events(context.Background(), since, 0)
	k.must(err)
	for _, e := range all {
		if e.Kind == limiter.EventAlert && strings.Contains(e.Text, words) {
			return true
		}
	}
	return false
}

// toldPeople is what those heard first who got no answer since then.
func (k *chaos) toldPeople(since time.Time) string {
	for _, a := range k.chat.answers() {
		if a.at.After(since) && a.failed {
			return "the first who got no answer was told: " + a.why
		}
	}
	return "everybody had an answer"
}
