package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// RunWatch looks after how runs are steered while they go on: their timetables,
// deadlines, caps and weights. It looks only at runs that have any of it and are
// not finished, and everything that it does may be done twice.
type RunWatch struct {
	Control *Control
	Owner   string         // names this process in the lease and in pauses; no two may use the same
	Zone    *time.Location // of timetables that name none, and of the times that people read; default UTC
	Every   time.Duration  // between two looks; default 2 s
	// Ramp is how long a share that grows takes from what it was to what it is.
	// 0 means WindowRamp, less is none.
	Ramp time.Duration
	// Dearer is how many times the price of one service tier another has, for a run's
	// model; 0 where that is not known. May be nil.
	Dearer func(run jobs.Run, from, to string) float64

	tables map[string]tableNow  // timetables that were read, by text and zone; only Look's
	tidied time.Time            // when settings of runs that are gone were looked for; only Look's
	slow   map[string]time.Time // until when runs are noted to have a part only, by their window; only Look's
}

// followed is a run at one look.
type followed struct {
	jobs.Run
	counts jobs.Counts
	mark   runMark
	was    runMark
	now    time.Time

	table Window
	rate  Rate // of its timetable, now
	next  Rate // from until on
	until time.Time
	ramp  int64 // ppm that the share has while it grows; 0: it does not

	stops []limiter.Closing // a person's pauses; read when its pace is looked at

	starts int64 // ppm that the run has of its rate while it starts; a million: it has started
}

// ended tells that no row is open. One that was recorded just now has none yet.
func (f *followed) ended() bool {
	return f.counts.Open() == 0 && f.now.Sub(f.Updated) > time.Minute
}

// Run looks after runs while this process leads, and stands by while another does,
// until the context ends.
func (w *RunWatch) Run(ctx context.Context) {
	lease := Lease{Redis: w.Control.Redis, Name: "runs:" + w.Control.Scope.String(), Owner: w.Owner}
	lease.Lead(ctx, func(ctx context.Context, _ int64) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			repeat(ctx, w.every(), w.Control.log(), "ending rows after their run's deadline", w.EndLate)
		}()
		repeat(ctx, w.every(), w.Control.log(), "looking after runs", w.Look)
		<-done
	})
}

func (w *RunWatch) every() time.Duration { return cmp.Or(w.Every, 2*time.Second) }

// Look looks once at every run that is steered, and puts into force what follows.
// What is wrong with one run keeps no other from being looked at.
func (w *RunWatch) Look(ctx context.Context) error {
	now, err := w.Control.now(ctx)
	if err != nil {
		return err
	}
	runs, err := w.follow(ctx, now)
	if len(runs) == 0 && now.Sub(w.tidied).Abs() < tidyEvery {
		return err
	}
	errs := []error{err}
	for _, f := range runs {
		w.readTable(f)
		if f.ended() {
			errs = append(errs, w.tellMissed(ctx, f)) // it is forgotten now
		} else {
			errs = append(errs, w.lookAt(ctx, f))
		}
	}
	errs = append(errs, w.apply(ctx, runs, now), w.keepMarks(ctx, runs))
	return errors.Join(errs...)
}

// lookAt decides about one run that goes on.
func (w *RunWatch) lookAt(ctx context.Context, f *followed) error {
	err := errors.Join(w.cap(ctx, f), w.deadline(ctx, f))
	if err != nil {
		return fmt.Errorf("run %s: %w", f.ID, err)
	}
	return nil
}

// follow reads the runs of our provider project that are steered.
func (w *RunWatch) follow(ctx context.Context, now time.Time) ([]*followed, error) {
	ids, err := w.Control.Store.Watched(ctx)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	marks, err := w.marks(ctx)
	if err != nil {
		return nil, err
	}
	var out []*followed
	var errs []error
	for _, id := range ids {
		f, err := w.load(ctx, id)
		switch {
		case errors.Is(err, jobs.ErrNoRun):
			errs = append(errs, w.Control.Store.Unwatch(ctx, id), w.dropMark(ctx, id))
		case err != nil:
			errs = append(errs, fmt.Errorf("run %s: %w", id, err))
		case w.ours(f.Run):
			f.now, f.mark, f.was = now, marks[id].copy(), marks[id]
			out = append(out, f)
		}
	}
	return out, errors.Join(errs...)
}

func (w *RunWatch) load(ctx context.Context, id string) (*followed, error) {
	run, err := w.Control.Store.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	counts, err := w.Control.Store.Counts(ctx, id)
	return &followed{Run: run, counts: counts}, err
}

// ours tells whether a run's lane is of our provider project: others have their own
// schedulers.
func (w *RunWatch) ours(r jobs.Run) bool {
	lane, err := limiter.ParseLane(r.Spec.Lane)
	return err == nil && lane.Scope() == w.Control.Scope
}

// zone is that of a run's timetable that names none.
func (w *RunWatch) zone(r jobs.Run) *time.Location {
	if z, err := time.LoadLocation(r.Spec.Steer.Zone); err == nil && r.Spec.Steer.Zone != "" {
		return z
	}
	if w.Zone == nil {
		return time.UTC
	}
	return w.Zone
}

// clock is a moment as the run's people read it.
func (w *RunWatch) clock(f *followed, t time.Time) string {
	return Window{zone: f.Spec.Steer.Location(w.zone(f.Run))}.Clock(t, f.now)
}

// shown is a run as a shell takes it.
func shown(r jobs.Run) string {
	name := r.Title()
	plain := func(c rune) bool {
		return c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if strings.ContainsFunc(name, func(c rune) bool { return !plain(c) }) {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}
