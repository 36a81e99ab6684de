package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Retention is how long runs are kept once they have ended. 0 keeps them until
// somebody purges them. Steering.Keep of a run goes before it.
type Retention struct {
	Done   time.Duration // runs whose rows all have a good answer
	Failed time.Duration // others
	// Unfetched removes runs too whose results are in Redis alone and were never
	// fetched whole.
	Unfetched bool
}

// of is how long a run of these rows is kept; 0: for ever.
func (r Retention) of(run Run, c Counts) time.Duration {
	switch keep := run.Spec.Steer.Keep; {
	case keep == KeepForever:
		return 0
	case keep > 0:
		return keep
	case c.Bad() > 0:
		return r.Failed
	}
	return r.Done
}

// Kept says how long a run is kept.
type Kept struct {
	Open    bool // it has not ended
	Forever bool
	Ended   time.Time
	Until   time.Time
}

// Kept says until when a run is kept, by its last end.
func (s *Store) Kept(ctx context.Context, run Run, c Counts, r Retention) (Kept, error) {
	if c.Open() > 0 {
		return Kept{Open: true}, nil
	}
	ended, err := s.Ended(ctx, run)
	k := Kept{Ended: ended}
	if keep := r.of(run, c); keep > 0 {
		k.Until = ended.Add(keep)
	} else {
		k.Forever = true
	}
	return k, err
}

// Ended is when a row of the run ended last, or the run was enqueued where none has.
func (s *Store) Ended(ctx context.Context, run Run) (time.Time, error) {
	sec, err := s.field(ctx, run.ID, "ended")
	ended := time.Unix(sec, 0).UTC()
	if ended.Before(run.Updated) {
		ended = run.Updated
	}
	return ended, err
}

// field is a number of the run's hash; 0 where it is not there.
func (s *Store) field(ctx context.Context, run, name string) (int64, error) {
	v, err := s.rdb.HGet(ctx, runKey(run), name).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	n, _ := strconv.ParseInt(v, 10, 64)
	return n, err
}

// Fetched notes that somebody has all results of a run, as they are now.
func (s *Store) Fetched(ctx context.Context, run string) error {
	ok, err := s.rdb.HExists(ctx, runKey(run), "record").Result()
	if err != nil || !ok {
		return err
	}
	return s.rdb.HSet(ctx, runKey(run), "fetched", s.now().Unix()).Err()
}

// retainNotice is how long before a run is removed that is said: the least of a
// day and a tenth of the time that it is kept.
func retainNotice(k Kept) time.Duration { return min(24*time.Hour, k.Until.Sub(k.Ended)/10) }

// Retained is what a pass over the runs came to for one of them.
type Retained struct {
	Run     Run
	Until   time.Time
	Removed bool   // it is gone now
	Rows    int64  // that it had
	Files   int    // drained files that were removed with it
	Stays   string // why it was not removed though its time is over; "" otherwise
}

// Retain removes the runs whose time is over, and gives those of which something is
// to be said: a run is told of before it is removed, and once when it stays. One
// that has open rows is never removed, nor one whose results were neither drained
// to files nor fetched, unless r says so.
func (s *Store) Retain(ctx context.Context, r Retention) ([]Retained, error) {
	runs, err := s.Runs(ctx)
	if err != nil {
		return nil, err
	}
	var out []Retained
	var errs []error
	for _, run := range runs {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		got, err := s.retain(ctx, run, r)
		if err != nil && !errors.Is(err, ErrNoRun) {
			errs = append(errs, fmt.Errorf("run %s: %w", run.Title(), err))
		}
		if got != nil {
			out = append(out, *got)
		}
	}
	return out, errors.Join(errs...)
}

func (s *Store) retain(ctx context.Context, run Run, r Retention) (*Retained, error) {
	c, err := s.Counts(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	k, err := s.Kept(ctx, run, c, r)
	now := s.now()
	if err != nil || k.Open || k.Forever || now.Before(k.Until.Add(-retainNotice(k))) {
		return nil, err
	}
	told, err := s.toldOf(ctx, run.ID, k.Until)
	if err != nil {
		return nil, err
	}
	got := &Retained{Run: run, Until: k.Until, Rows: c.Total()}
	if told.IsZero() {
		if at := now.Add(retainNotice(k)); at.After(got.Until) {
			got.Until = at
		}
		return got, s.tell(ctx, run.ID, k.Until, now)
	}
	if now.Before(k.Until) || now.Before(told.Add(retainNotice(k))) {
		return nil, nil
	}
	return s.removeRetained(ctx, got, r)
}

// toldOf is when it was said that the run goes at until; zero when it was not.
func (s *Store) toldOf(ctx context.Context, run string, until time.Time) (time.Time, error) {
	v, err := s.rdb.HGet(ctx, runKey(run), "told").Result()
	if errors.Is(err, redis.Nil) {
		return time.Time{}, nil
	}
	var of, at int64
	if _, serr := fmt.Sscan(v, &of, &at); serr != nil || of != until.Unix() {
		return time.Time{}, err
	}
	return time.Unix(at, 0), err
}

func (s *Store) tell(ctx context.Context, run string, until, now time.Time) error {
	return s.rdb.HSet(ctx, runKey(run), "told", fmt.Sprintf("%d %d", until.Unix(), now.Unix())).Err()
}

// removeRetained purges a run, or says once why it stays.
func (s *Store) removeRetained(ctx context.Context, got *Retained, r Retention) (*Retained, error) {
	safe, err := s.elsewhereToo(ctx, got.Run)
	if err != nil {
		return nil, err
	}
	if !safe && !r.Unfetched {
		return s.stays(ctx, got, "its results are in Redis alone and nobody has fetched them")
	}
	rep, err := s.Purge(ctx, got.Run.ID, PurgeOptions{Drained: true})
	var elsewhere *DrainedElsewhereError
	if errors.As(err, &elsewhere) {
		return s.stays(ctx, got, fmt.Sprintf("its files are in %s on host %s, which this process does not see", elsewhere.Dir, elsewhere.Host))
	}
	got.Removed, got.Files = err == nil, rep.Files
	return got, err
}

// stays says a reason once.
func (s *Store) stays(ctx context.Context, got *Retained, why string) (*Retained, error) {
	first, err := s.rdb.HSetNX(ctx, runKey(got.Run.ID), "stays", why).Result()
	if err != nil || !first {
		return nil, err
	}
	got.Stays = why
	return got, nil
}

// elsewhereToo says that the results are in drained files, all of them, or were
// fetched since the last end.
func (s *Store) elsewhereToo(ctx context.Context, run Run) (bool, error) {
	fetched, err := s.field(ctx, run.ID, "fetched")
	if err != nil {
		return false, err
	}
	ended, err := s.Ended(ctx, run)
	if err != nil || fetched > 0 && fetched >= ended.Unix() {
		return err == nil, err
	}
	m, err := s.meta(ctx, run.ID)
	if err != nil {
		return false, err
	}
	loose, err := s.looseBuckets(ctx, m)
	if err != nil {
		return false, err
	}
	for _, some := range loose {
		if some {
			return false, nil
		}
	}
	for n := int64(0); n*foldsPerPart*rowsPerFold < m.next; n++ {
		chunks, err := s.heads(ctx, m.ID, n*foldsPerPart, foldsPerPart)
		if err != nil {
			return false, err
		}
		for _, c := range chunks {
			if c.fresh() {
				return false, nil
			}
		}
	}
	return true, nil
}
