package worker

import (
	"context"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// The pauses between two tries of a way that does not lead to the provider.
const (
	wayFirst = 5 * time.Second
	wayMost  = time.Minute
	wayKey   = 20 * time.Second // with a key that is refused here alone: a new one is to be found soon
)

// way is whether this process can reach the provider at all for a lane. While it
// cannot, one row tries for all of them, at growing intervals: every other one
// would fail for the same reason. It is no rest of the lane over the fleet, since
// other machines may have a way.
type way struct {
	mu      sync.Mutex
	why     string    // "" while it is open
	since   time.Time // when it was lost
	next    time.Time // when the next row tries it
	pause   time.Duration
	probing bool // a row tries it now

	lost      int             // connections in a row that ended before an answer
	lostSince time.Time       // when that began
	lostRows  map[string]bool // whose they were; no more than lostMany
}

// A connection that ends before any byte of an answer may be the row's bad luck.
// So many in a row, over so long, are a way that is no way: a proxy or firewall
// that resets what it lets in. It may also do so for what some rows say, and
// those are the last that a run has left: few rows are believed for lostFew only.
const (
	lostMost = 3
	lostFor  = 10 * time.Second
	lostFew  = 5 * time.Minute
	lostMany = 20
)

// enter asks to make a call. Without a way it gives the time to wait; probe is
// for leave.
func (w *way) enter(now time.Time) (probe bool, wait time.Duration, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.why == "":
		return false, 0, ""
	case w.probing, now.Before(w.next):
		return false, max(w.next.Sub(now), wayFirst), w.why
	}
	w.probing = true
	return true, 0, ""
}

// leave ends a call that entered, whatever came of it.
func (w *way) leave(probe bool) {
	if !probe {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.probing = false
}

// open notes that the provider answered.
func (w *way) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why, w.lost = "", 0
}

// lose notes that a row's connection ended before an answer came, and tells
// whether that means that there is no way.
func (w *way) lose(row string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == 0 {
		w.lostSince, w.lostRows = now, map[string]bool{}
	}
	w.lost++
	if len(w.lostRows) < lostMany {
		w.lostRows[row] = true
	}
	since := now.Sub(w.lostSince)
	return w.lost >= lostMost && since >= lostFor && (len(w.lostRows) >= lostMany || since < lostFew)
}

// doubtful says that several rows' connections have ended so, and none has had an
// answer since: no row should fail of it yet.
func (w *way) doubtful(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost >= lostMost && len(w.lostRows) >= lostMost && now.Sub(w.lostSince) < lostFor
}

// shut notes that a call did not reach the provider, and gives the time to wait.
// Calls that went out together count once.
func (w *way) shut(why string, now time.Time, most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.why == "":
		w.since, w.pause = now, wayFirst
	case now.Before(w.next):
		return w.next.Sub(now)
	default:
		w.pause = min(2*w.pause, most)
	}
	w.why, w.next = why, now.Add(w.pause)
	return w.pause
}

// trouble is what the fleet is told; nil while the way is open.
func (w *way) trouble() *Trouble {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why == "" {
		return nil
	}
	return &Trouble{Why: w.why, Since: w.since, Next: w.next}
}

// noWay puts a row back whose call did not reach the provider, or that the
// provider does not serve at this place: nothing about the row.
func (l *lane) noWay(v gemini.Verdict, now time.Time) outcome {
	why := v.Reason
	if len(v.Evidence) > 0 {
		why += ": " + short(v.Evidence[0])
	}
	most := wayMost
	if v.Credential {
		most = wayKey
	}
	wait := l.way.shut(why, now, most)
	if l.notice.due("way", now) {
		l.w.cfg.Logger.Warn("the provider cannot be reached; rows wait and are not failed",
			"lane", l.name, "why", why, "looks_again_in", wait.Round(time.Second).String())
	}
	out := waysEnd(why, wait)
	out.key = v.Credential
	return out
}

// cutOff says that the call's connection ended before any answer, and that this
// lane's connections have been doing so.
func (l *lane) cutOff(j *job, seen *gemini.Observation, now time.Time) bool {
	if seen.Status != 0 || seen.Verdict.Reason != reasonConnection {
		return false
	}
	return l.way.lose(j.task.ID(), now)
}

// reasonConnection is Verdict.Reason of a connection that was there and broke.
const reasonConnection = "connection"

func waysEnd(why string, wait time.Duration) outcome {
	return outcome{wait: wait, why: "waiting for a way to the provider (" + why + ")", cause: jobs.WaitErrors}
}

// callIfOpen makes the call unless the lane has no way to the provider.
func (l *lane) callIfOpen(ctx context.Context, j *job) outcome {
	probe, wait, why := l.way.enter(l.w.cfg.Now())
	if wait > 0 {
		return waysEnd(why, wait)
	}
	defer l.way.leave(probe)
	return l.call(ctx, j, !j.slot)
}
