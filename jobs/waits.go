package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// WaitCause is what a row waits for.
type WaitCause byte

// The causes. A time that nobody accounts for, since a worker died with it, is
// WaitQueue.
const (
	WaitQueue  WaitCause = iota // nobody has looked at the row yet, or no worker was there
	WaitTurn                    // others are before it in line
	WaitQuota                   // a limit is used up, held for a class above, or the provider asked for a rest
	WaitWindow                  // its work window is closed
	WaitPaused                  // somebody, or the run's brake, has paused it
	WaitHealth                  // interactive callers suffer
	WaitSpend                   // a spend limit is reached, or a price is missing
	WaitErrors                  // its last attempt failed, or the provider cannot be reached or used
	WaitSlots                   // as many calls are under way as a limit of concurrency lets
	NumWaits   = 9
)

var waitNames = [NumWaits]string{"queue", "turn", "quota", "window", "paused", "health", "spend", "errors", "slots"}

// waitCodes stand for the causes in Redis.
const waitCodes = "qtowphsel"

// WaitCauses are the causes' names, in order.
func WaitCauses() []string { return waitNames[:] }

func (c WaitCause) String() string { return waitNames[c] }

// Waits are times by cause.
type Waits [NumWaits]time.Duration

// Total is all of them.
func (w Waits) Total() (d time.Duration) {
	for _, v := range w {
		d += v
	}
	return d
}

// Upto is the waits in whole milliseconds that are together what was waited in all: what
// nobody accounts for is the queue's.
func (w Waits) Upto(all time.Duration) Waits {
	for i := range w {
		w[i] = w[i].Truncate(time.Millisecond)
	}
	w[WaitQueue] += max(all.Truncate(time.Millisecond)-w.Total(), 0)
	return w
}

// Millis is what a line of results has: milliseconds by the cause's name, without
// those that are none; nil when all are.
func (w Waits) Millis() map[string]int64 {
	var m map[string]int64
	for i, d := range w {
		if d < time.Millisecond {
			continue
		}
		if m == nil {
			m = make(map[string]int64, 2)
		}
		m[waitNames[i]] = d.Milliseconds()
	}
	return m
}

// WaitsOf reads what Millis gave; names that it does not know are left out.
func WaitsOf(millis map[string]int64) (w Waits) {
	for i, name := range waitNames {
		w[i] = time.Duration(max(millis[name], 0)) * time.Millisecond
	}
	return w
}

// encode is how they stand in Redis: " t3500 o200", without those that are none.
func (w Waits) encode() string {
	var buf [64]byte
	b := buf[:0]
	for i, d := range w {
		if d >= time.Millisecond {
			b = append(b, ' ', waitCodes[i])
			b = strconv.AppendInt(b, d.Milliseconds(), 10)
		}
	}
	return string(b)
}

func (w *Waits) decode(s string) {
	for _, part := range strings.Fields(s) {
		i := strings.IndexByte(waitCodes, part[0])
		ms, err := strconv.ParseInt(part[1:], 10, 64)
		if i >= 0 && err == nil && ms > 0 {
			w[i] += time.Duration(ms) * time.Millisecond
		}
	}
}

// noted is what a row's record says at now: what it has waited, and for what it
// waits since when. The record is "o1764509000123 t3500": the cause and since when
// (ms), then what it had waited before.
func (w *Waits) noted(record string, now time.Time) (c WaitCause, since time.Time) {
	head, before, _ := strings.Cut(record, " ")
	w.decode(before)
	if head == "" {
		return WaitQueue, now
	}
	ms, err := strconv.ParseInt(head[1:], 10, 64)
	if i := strings.IndexByte(waitCodes, head[0]); i >= 0 && err == nil {
		c, since = WaitCause(i), time.UnixMilli(ms)
		w[c] += max(now.Sub(since), 0)
	}
	return c, since
}

// Waits is what the rows of a run that have ended waited, together, from when they
// were enqueued to their last permit.
func (s *Store) Waits(ctx context.Context, run string) (Waits, error) {
	h, err := s.rdb.HGetAll(ctx, waitsKey(run)).Result()
	if err != nil {
		return Waits{}, fmt.Errorf("waits: %w", err)
	}
	var w Waits
	for code, ms := range h {
		w.decode(code + ms)
	}
	return w, nil
}
