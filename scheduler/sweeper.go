package scheduler

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"nightshift/jobs"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/stuck.lua
var stuckLua string

var stuckScript = redis.NewScript(stuckLua)

// newLease is how long a task that had no lease gets: asynq's own LeaseDuration.
const newLease = 30 * time.Second

// Sweeper finds what got lost between asynq and the ledger and mends it.
type Sweeper struct {
	Redis redis.UniversalClient
	Store *jobs.Store
	Owner string        // names this process in the lease
	Every time.Duration // between two sweeps; default 30 s, longer when a sweep takes long
	// Young is how long after an enqueue began a run is left alone: rows stand in
	// the ledger before their tasks are written. Default 1 min; negative: not at all.
	Young  time.Duration
	Logger *slog.Logger // nothing is logged when nil
}

// Report says what one sweep over all queues and open runs mended.
type Report struct {
	Leases int64 // active tasks that had no lease got one
	Ghosts int64 // entries of tasks that no longer exist were removed
	Runs   int   // open runs looked at
	jobs.SweepReport
}

// Mended is how many things were not as they should be.
func (r Report) Mended() int64 {
	return r.Leases + r.Ghosts + r.Recreated + r.Unarchived + r.Leaseless + r.Requeued + r.Demoted
}

// Run sweeps at once and then regularly while this process leads, and stands by
// while another does, until the context ends.
func (s *Sweeper) Run(ctx context.Context) {
	Lease{Redis: s.Redis, Name: "sweeper", Owner: s.Owner}.Lead(ctx, func(ctx context.Context, _ int64) {
		for ctx.Err() == nil {
			pause(ctx, s.sweepAndLog(ctx))
		}
	})
}

// idleShare bounds what sweeping costs: it rests at least so many times as long
// as it took.
const idleShare = 20

// sweepAndLog returns how long to rest.
func (s *Sweeper) sweepAndLog(ctx context.Context) time.Duration {
	log := s.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	begin := time.Now()
	r, err := s.Sweep(ctx)
	took := time.Since(begin)
	if err != nil && ctx.Err() == nil {
		log.Warn("sweep is incomplete and will be repeated", "err", err)
	}
	if r.Mended() > 0 {
		log.Warn("sweep mended tasks", "leases_given", r.Leases, "ghosts", r.Ghosts, "recreated", r.Recreated,
			"unarchived", r.Unarchived, "leaseless", r.Leaseless, "requeued", r.Requeued, "demoted", r.Demoted)
	}
	if r.Expired > 0 {
		log.Info("rows waited longer than they may", "expired", r.Expired)
	}
	return max(cmp.Or(s.Every, 30*time.Second), idleShare*took)
}

// Sweep looks at everything once. An error of one queue or run does not keep
// the others from being looked at.
func (s *Sweeper) Sweep(ctx context.Context) (Report, error) {
	var r Report
	err1 := s.sweepQueues(ctx, &r)
	err2 := s.sweepRuns(ctx, &r)
	return r, errors.Join(err1, err2)
}

func (s *Sweeper) sweepQueues(ctx context.Context, r *Report) error {
	lanes, err := s.Store.Lanes(ctx)
	if err != nil {
		return fmt.Errorf("listing lanes: %w", err)
	}
	var errs []error
	for _, lane := range lanes {
		for _, queue := range jobs.Queues(lane) {
			errs = append(errs, s.sweepQueue(ctx, queue, r))
		}
	}
	return errors.Join(errs...)
}

func (s *Sweeper) sweepQueue(ctx context.Context, queue string, r *Report) error {
	ends := time.Now().Add(newLease).Unix()
	n, err := stuckScript.Run(ctx, s.Redis, []string{activeKey(queue), holdKey(queue)}, ends, taskPrefix(queue)).Int64Slice()
	if err != nil {
		return fmt.Errorf("looking for stuck tasks of %s: %w", queue, err)
	}
	if len(n) != 2 {
		return fmt.Errorf("looking for stuck tasks of %s: unexpected answer of %d numbers", queue, len(n))
	}
	r.Leases += n[0]
	r.Ghosts += n[1]
	return nil
}

func (s *Sweeper) sweepRuns(ctx context.Context, r *Report) error {
	runs, err := s.Store.Runs(ctx)
	if err != nil {
		return fmt.Errorf("listing runs: %w", err)
	}
	var errs []error
	for _, run := range runs {
		if time.Since(run.Updated) < cmp.Or(s.Young, time.Minute) {
			continue
		}
		if err := s.sweepRun(ctx, run.ID, r); err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", run.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Sweeper) sweepRun(ctx context.Context, id string, r *Report) error {
	counts, err := s.Store.Counts(ctx, id)
	if err != nil || counts.Open() == 0 {
		return err
	}
	got, err := s.Store.Sweep(ctx, id)
	r.Runs++
	r.add(got)
	return err
}

func (r *Report) add(g jobs.SweepReport) {
	r.Open += g.Open
	r.Recreated += g.Recreated
	r.Unarchived += g.Unarchived
	r.Leaseless += g.Leaseless
	r.Requeued += g.Requeued
	r.Demoted += g.Demoted
	r.Expired += g.Expired
}
