package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Drainer keeps the results of all runs small in Redis: it folds them, writes
// them to files and takes out of Redis what the files have. One process of a
// fleet runs it, always with the same directory. Store and Dir are needed.
type Drainer struct {
	Store *Store
	Dir   string // each run gets a directory in it
	// After says whether a run is drained now, from its rows and the bytes that
	// its results take in Redis. Nil: when it has ended, or at more than 64 MB.
	After func(c Counts, bytes int64) bool
	// Keep is how long the results of a run that has ended stay in Redis beside
	// the files, so that every host can read them. Default 24 h; negative: not at
	// all. At more than 64 MB what is in the files goes at once.
	Keep   time.Duration
	Every  time.Duration // between two looks; default 30 s
	Logger *slog.Logger  // nil discards
}

// drainBytes is what a run's results may take in Redis.
const drainBytes = 64 << 20

// Run drains until the context ends.
func (d Drainer) Run(ctx context.Context) {
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	seen := map[string]drainLook{}
	said := ""
	for {
		if err := d.pass(ctx, seen); ctx.Err() == nil {
			said = d.tell(err, said)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(cmp.Or(d.Every, 30*time.Second)):
		}
	}
}

// tell says once what keeps results from their files, such as a full disk, and
// when that is over. It returns what was said.
func (d Drainer) tell(err error, said string) string {
	switch {
	case err == nil && said == "":
	case err == nil:
		d.Logger.Info("results are written to files again")
	case err.Error() != said:
		d.Logger.Warn("results stay in Redis for now, and writing them is tried again", "err", err)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// drainLook is what a run was like when nothing more was to be done for it.
type drainLook struct {
	counts   Counts
	bytes    int64
	told     bool // that its files are elsewhere
	settled  bool // nothing is to be done until something changes
	trimFrom time.Time
}

// pass looks at all runs once. A failure of one does not keep the others.
func (d Drainer) pass(ctx context.Context, seen map[string]drainLook) error {
	runs, err := d.Store.Runs(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, run := range runs {
		look, err := d.look(ctx, run.ID, seen[run.ID])
		var elsewhere *DrainedElsewhereError
		if errors.As(err, &elsewhere) {
			if err = nil; !look.told {
				d.Logger.Warn("a run's results stay in Redis: its files are elsewhere", "run", run.ID, "dir", elsewhere.Dir, "host", elsewhere.Host, "here", d.Dir)
			}
			look.told = true
		}
		if err != nil && !errors.Is(err, ErrNoRun) {
			errs = append(errs, fmt.Errorf("run %s: %w", run.ID, err))
		}
		seen[run.ID] = look
	}
	return errors.Join(errs...)
}

// look does for one run what is due.
func (d Drainer) look(ctx context.Context, run string, was drainLook) (drainLook, error) {
	now := was
	var err error
	if now.counts, err = d.Store.Counts(ctx, run); err != nil {
		return was, err
	}
	if now.bytes, err = d.Store.ResultBytes(ctx, run); err != nil {
		return was, err
	}
	changed := now.counts != was.counts || now.bytes != was.bytes || !was.settled
	if !changed && (was.trimFrom.IsZero() || d.Store.now().Before(was.trimFrom)) {
		return was, nil
	}
	now.settled = false
	if _, err := d.Store.Fold(ctx, run); err != nil {
		return now, err
	}
	if d.due(now) {
		if err := d.drain(ctx, run, &now); err != nil {
			return now, err
		}
	}
	if now.bytes, err = d.Store.ResultBytes(ctx, run); err != nil {
		return now, err
	}
	now.settled = true
	return now, nil
}

func (d Drainer) due(l drainLook) bool {
	if d.After != nil {
		return d.After(l.counts, l.bytes)
	}
	return l.bytes > 0 && (l.counts.Open() == 0 || l.bytes > drainBytes)
}

// drain writes what is missing in the files, and trims when it is time.
func (d Drainer) drain(ctx context.Context, run string, l *drainLook) error {
	r, err := d.Store.Drain(ctx, run, d.Dir)
	if err != nil {
		return err
	}
	if r.Rows > 0 {
		d.Logger.Info("results were drained", "run", run, "rows", r.Rows, "files", r.Parts, "dir", r.Dir)
	}
	m, err := readManifest(r.Dir)
	if err != nil {
		return err
	}
	l.trimFrom = m.Updated.Add(cmp.Or(d.Keep, 24*time.Hour))
	ended := l.counts.Open() == 0 && !d.Store.now().Before(l.trimFrom)
	if !ended && l.bytes <= drainBytes {
		return nil
	}
	l.trimFrom = time.Time{}
	freed, err := d.Store.Trim(ctx, run)
	if freed > 0 {
		d.Logger.Info("drained results were taken out of Redis", "run", run, "bytes", freed, "dir", r.Dir)
	}
	return err
}
