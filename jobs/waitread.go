package jobs

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// RowWait is what an open row has waited until now, and for what it waits.
type RowWait struct {
	Waits Waits     // what it has waited, the wait that goes on included
	For   WaitCause // of the wait that goes on, as the row was told
	Since time.Time // when that began; zero when it is not known
}

// RowWait reads it of a row that is open.
func (s *Store) RowWait(ctx context.Context, r Run, t Task) (RowWait, error) {
	list, err := s.waitsOf(ctx, r, []int64{t.Index})
	if err != nil {
		return RowWait{}, err
	}
	return list[0], nil
}

// waitsOf reads it of several rows of a run.
func (s *Store) waitsOf(ctx context.Context, r Run, indexes []int64) ([]RowWait, error) {
	args := make([]any, 0, 1+len(indexes))
	args = append(args, runPrefix(r.ID))
	for _, n := range indexes {
		args = append(args, n)
	}
	out, err := s.call(ctx, waitsScript, []string{runKey(r.ID)}, args, 1+2*len(indexes))
	if err != nil {
		return nil, fmt.Errorf("waits: %w", err)
	}
	now, closed := time.UnixMilli(integer(out[0])), s.closedOf(ctx, r)
	list := make([]RowWait, len(indexes))
	for i := range list {
		list[i] = readWait(str(out[1+2*i]), str(out[2+2*i]), now)
		oneWait{list[i].For, list[i].Since, now}.blame(&list[i].Waits, closed)
	}
	return list, nil
}

func readWait(record, at string, now time.Time) (w RowWait) {
	switch {
	case record != "":
		w.For, w.Since = w.Waits.noted(record, now)
	case len(at) == bytesPerTime:
		w.Since = time.Unix(int64(binary.BigEndian.Uint32([]byte(at))), 0)
		w.Waits[WaitQueue] = max(now.Sub(w.Since), 0)
	}
	return w
}

// oneWait is one stretch of waiting, and what the row was told that it was for.
type oneWait struct {
	cause        WaitCause
	since, until time.Time // since is zero when it is not known
}

// leastWait is what is worth to be put right: it bounds what rows that hardly wait cost.
const leastWait = 500 * time.Millisecond

func (o oneWait) long() bool { return !o.since.IsZero() && o.until.Sub(o.since) >= leastWait }

func (o oneWait) blame(w *Waits, k Closed) {
	if o.long() {
		w.blame(o.cause, o.since, o.until, k)
	}
}

// Blame gives the time in which the run was closed while the row waited to what closed
// it: a row that stands in line keeps what it was told when it was looked at last.
func (s *Store) Blame(ctx context.Context, r Run, b *Begun) {
	if b.wait.long() {
		b.wait.blame(&b.Waits, s.closedOf(ctx, r))
	}
}

const (
	// closedFor is how long what is known of a run is used: many rows begin in it.
	closedFor = time.Second
	// mostClosed bounds for how many runs it is kept.
	mostClosed = 1000
)

// closedCache is when runs were closed.
type closedCache struct {
	mu   sync.Mutex
	runs map[string]closedAt
}

type closedAt struct {
	at time.Time
	Closed
}

// closedOf gives when a run was closed; nothing where nobody can say.
func (s *Store) closedOf(ctx context.Context, r Run) Closed {
	if s.opts.Closed == nil {
		return nil
	}
	now, c := s.now(), &s.closed
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.runs[r.ID]; ok && now.Sub(have.at).Abs() < closedFor {
		return have.Closed
	}
	stretches, err := s.opts.Closed(ctx, r)
	if err != nil {
		s.log.Debug("rows' waits are as they were told", "run", r.ID, "err", err)
	}
	if c.runs == nil || len(c.runs) >= mostClosed {
		c.runs = map[string]closedAt{}
	}
	c.runs[r.ID] = closedAt{now, NewClosed(stretches)}
	return c.runs[r.ID].Closed
}
