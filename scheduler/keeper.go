package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter"
)

// keepEvery is how often runs are looked at whose time may be over.
const keepEvery = 5 * time.Minute

// Keeper removes runs that were kept long enough after their end, and says so
// before.
type Keeper struct {
	Control   *Control
	Retention jobs.Retention
	Owner     string
	// Removed is called for each run that is gone, to clean up what others keep of
	// it. May be nil.
	Removed func(context.Context, jobs.Run) error
}

// Look looks at all runs once.
func (k *Keeper) Look(ctx context.Context) error {
	list, err := k.Control.Store.Retain(ctx, k.Retention)
	for _, r := range list {
		k.Control.noteSubject(ctx, EventRun, r.Run.ID, k.Owner, retainedText(r))
		if r.Removed && k.Removed != nil && err == nil {
			err = k.Removed(ctx, r.Run)
		}
	}
	return err
}

// retainedText is one line for people.
func retainedText(r jobs.Retained) string {
	until := limiter.Instant(r.Until)
	switch {
	case r.Removed:
		return fmt.Sprintf("run %s was removed with its %s rows and results: its time was over %s", r.Run.Title(), humanize.Comma(r.Rows), until)
	case r.Stays != "":
		return fmt.Sprintf("run %s is over its time (%s) and stays: %s; `nightshift purge %s` removes it", r.Run.Title(), until, r.Stays, r.Run.ID)
	}
	return fmt.Sprintf("run %s will be removed with its %s rows and results %s; `nightshift set %s --keep forever` keeps it", r.Run.Title(), humanize.Comma(r.Rows), until, r.Run.ID)
}
