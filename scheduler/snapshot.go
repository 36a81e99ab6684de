package scheduler

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"

	"github.com/redis/go-redis/v9"
)

// Snapshots keeps the limiter's day and month counters in a file outside Redis,
// and brings them back after Redis lost them.
type Snapshots struct {
	Control *Control
	Dir     string // where the file is; it is made when it is not there
	// Configure writes the limits again when Redis lost these too. Without it
	// the counters come back once some other process has done so.
	Configure func(context.Context) error
	// Every is the time between two snapshots: so much use is lost with Redis.
	// Default 10 s.
	Every time.Duration

	written time.Time // only Keep's
}

// lossEvery bounds how long counters that Redis lost stay at nothing.
const lossEvery = 2 * time.Second

// Keep brings the counters back if Redis lost them since the last time, and
// otherwise writes them down when it is time. That Redis lost them is seen by a
// key of ours beside them that is gone.
func (s *Snapshots) Keep(ctx context.Context) error {
	now, err := s.Control.now(ctx)
	if err != nil {
		return err
	}
	mark, err := s.Control.Redis.Get(ctx, generationKey(s.Control.Scope)).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return s.bringBack(ctx)
	case err != nil:
		return fmt.Errorf("asking whether Redis lost its counters: %w", err)
	}
	if now.Sub(s.written).Abs() < cmp.Or(s.Every, 10*time.Second) {
		return nil
	}
	s.written = now
	return s.write(ctx, mark)
}

// bringBack raises the counters to those of the file. Its day or month may be
// over: then nothing of it counts.
func (s *Snapshots) bringBack(ctx context.Context) error {
	if err := s.haveLanes(ctx); err != nil {
		return err
	}
	kept, err := s.read()
	if err != nil {
		return err
	}
	if kept != nil {
		if err := s.Control.Limiter.Restore(ctx, *kept); err != nil {
			return err
		}
		if err := s.tellBack(ctx, *kept); err != nil {
			return err
		}
	}
	if err := s.Control.Redis.SetNX(ctx, generationKey(s.Control.Scope), rand.Text(), 0).Err(); err != nil {
		return fmt.Errorf("marking the counters as kept: %w", err)
	}
	return nil
}

// freshFor is how old a snapshot may be for bulk to go on by it: a few times the
// pace at which they are written.
const freshFor = time.Minute

// tellBack says what came back. Bulk goes on, unless so much may have been used
// since that only an operator can tell.
func (s *Snapshots) tellBack(ctx context.Context, kept limiter.Snapshot) error {
	now, err := s.Control.now(ctx)
	if err != nil {
		return err
	}
	as := "as of " + limiter.Instant(kept.At)
	text := "Redis had lost the day and month counters: brought back " + as
	if age := now.Sub(kept.At); age > freshFor {
		waits, err := s.waits(ctx)
		if err != nil {
			return err
		}
		if waits {
			text += ", but that is " + age.Round(time.Minute).String() + " old: bulk waits until what was used since is stated with `nightshift quota state`"
		}
	} else if _, err := s.Control.Limiter.CountersKnown(ctx, ownerScheduler, "brought back "+as); err != nil {
		return err
	}
	s.Control.note(ctx, limiter.EventAlert, Target{}, ownerScheduler, text)
	return nil
}

// waits tells whether bulk is paused for the counters.
func (s *Snapshots) waits(ctx context.Context) (bool, error) {
	pauses, err := s.Control.Limiter.Pauses(ctx)
	return slices.ContainsFunc(pauses, func(p limiter.Pause) bool { return p.Reason == ReasonCounters }), err
}

// haveLanes sees to it that there are limits for the counters to belong to.
func (s *Snapshots) haveLanes(ctx context.Context) error {
	for range 2 {
		lanes, err := s.Control.Limiter.Lanes(ctx)
		if err != nil || len(lanes) > 0 {
			return err
		}
		if s.Configure == nil {
			break
		}
		if err := s.Configure(ctx); err != nil {
			return err
		}
	}
	return errors.New("no limits are in Redis yet: the counters come back after some process has written them")
}

func (s *Snapshots) path() string {
	name := strings.NewReplacer("/", ".", string(filepath.Separator), ".").Replace(s.Control.Scope.String())
	return filepath.Join(s.Dir, "counters-"+name+".json")
}

// read gives the snapshot; nil when there is none.
func (s *Snapshots) read() (*limiter.Snapshot, error) {
	text, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var kept limiter.Snapshot
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err == nil && kept.Scope != s.Control.Scope {
		err = fmt.Errorf("is of %s", kept.Scope)
	}
	if err != nil {
		return nil, fmt.Errorf("kept counters: %s: %w", s.path(), err)
	}
	return &kept, nil
}

// write replaces the file as a whole, unless Redis lost the counters between the
// look at the mark and the reading of the counters.
func (s *Snapshots) write(ctx context.Context, mark string) error {
	now, err := s.Control.Limiter.Counters(ctx)
	if err != nil {
		return err
	}
	still, err := s.Control.Redis.Get(ctx, generationKey(s.Control.Scope)).Result()
	if err != nil || still != mark {
		return errors.Join(errors.New("the counters were lost while they were read"), err)
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("kept counters: %w", err)
	}
	if err := replaceFile(s.path(), text); err != nil {
		return fmt.Errorf("kept counters: %w", err)
	}
	return nil
}

// replaceFile writes a file so that a crash leaves the old or the new one.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
