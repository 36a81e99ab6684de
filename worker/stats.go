package worker

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nightshift/jobs"
)

// Stats is what a worker has done since it started and what its lanes wait for.
type Stats struct {
	InFlight int   // calls
	Done     int64 // rows with a good result
	Bad      int64 // rows that ended otherwise
	Retries  int64 // failures that will be tried again
	Waits    int64 // times a row was put back without blame
	Spooled  int64 // results that Redis refused, kept here
	Lanes    []LaneStats
}

// LaneStats is one lane's part. Waiting is empty while nothing was put back in
// the last seconds.
type LaneStats struct {
	Lane    string
	Slots   int
	Busy    int
	Waiting string    // why the last row was put back, for people: "waiting for quota (rpm)"
	Until   time.Time // when that row comes back at the latest
}

// counters are the worker's running sums.
type counters struct {
	done, bad, retries, waited, spooled, started atomic.Int64

	ends [jobs.NumStates]atomic.Int64 // rows, by what they ended as
	back [jobs.NumWaits]atomic.Int64  // looks, by what the row waits for since

	mu   sync.Mutex
	last map[string]lastWait // by lane
}

type lastWait struct {
	why   string
	until time.Time
}

func (c *counters) finished(s jobs.State) {
	c.ends[s].Add(1)
	if s.Good() {
		c.done.Add(1)
	} else {
		c.bad.Add(1)
	}
}

// waits notes why a row was put back at now. Rows that only get their places in
// the line say nothing of a lane that is closed for a reason of its own.
func (c *counters) waits(lane, why string, until, now time.Time) {
	c.waited.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[string]lastWait{}
	}
	if old := c.last[lane]; old.until.After(now) && forQuota(why) && !forQuota(old.why) {
		return
	}
	c.last[lane] = lastWait{why: why, until: until}
}

func forQuota(why string) bool { return strings.HasPrefix(why, "waiting for quota") }

// waiting is a lane's last wait, while it may still hold.
func (c *counters) waiting(lane string, now time.Time) lastWait {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.last[lane]
	if now.After(w.until) {
		return lastWait{}
	}
	return w
}

// Stats gives the worker's sums and its lanes in order of their names.
func (w *Worker) Stats() Stats {
	s := Stats{Done: w.stats.done.Load(), Bad: w.stats.bad.Load(), Retries: w.stats.retries.Load(),
		Waits: w.stats.waited.Load(), Spooled: w.stats.spooled.Load()}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, l := range w.lanes {
		wait := w.stats.waiting(name, w.cfg.Now())
		s.InFlight += l.slots.busy()
		s.Lanes = append(s.Lanes, LaneStats{Lane: name, Slots: l.slots.size(), Busy: l.slots.busy(), Waiting: wait.why, Until: wait.until})
	}
	slices.SortFunc(s.Lanes, func(a, b LaneStats) int { return strings.Compare(a.Lane, b.Lane) })
	return s
}
