package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nightshift/limiter"
)

// Scheduler is one process of the schedulers of a provider project. One leads,
// the others stand by.
type Scheduler struct {
	Control   *Control
	Monitor   *Monitor   // nil: nobody's health is watched
	Ramps     *RampWatch // nil: ramps stay where they are
	Windows   *Windows   // nil: every class may always work
	Runs      *RunWatch  // nil: others look after how runs are steered
	Sweeper   *Sweeper   // nil: others sweep
	Snapshots *Snapshots // nil: counters live in Redis alone
	Bypass    *BypassWatch
	Learner   *Learner    // nil: floors are the configured ones
	Spend     *SpendWatch // nil: nobody tells how far caps are spent
	Keeper    *Keeper     // nil: runs are kept until they are purged
	Periodic  *Periodic   // nil: no runs come again
	Alerts    *AlertWatch // nil: nobody tells what needs a look
	// Also runs while this process leads; each ends when its context does.
	Also []func(context.Context)

	Owner  string // names this process; no two may use the same
	Digest string // of the configuration: schedulers with different ones are told of
	Logger *slog.Logger

	fence atomic.Int64
}

// reconcileEvery bounds how long asynq's pause keys may differ from the pauses.
const reconcileEvery = 5 * time.Second

// Check names the first setting that is wrong.
func (s *Scheduler) Check() error {
	if s.Owner == "" {
		return &ConfigError{"owner", "is empty"}
	}
	if s.Monitor != nil {
		if err := s.Monitor.Check(); err != nil {
			return err
		}
	}
	if s.Ramps != nil {
		if err := s.Ramps.Check(); err != nil {
			return err
		}
	}
	if s.Windows != nil {
		return s.Windows.Check()
	}
	return nil
}

// Run stands by, and leads when nobody else does, until the context ends.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.Check(); err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Go(func() { s.register(ctx) })
	Lease{Redis: s.Control.Redis, Name: "scheduler:" + s.Control.Scope.String(), Owner: s.Owner}.Lead(ctx, s.lead)
	all.Wait()
	return nil
}

func (s *Scheduler) log() *slog.Logger { return orDiscard(s.Logger) }

// Leads says that this process is the one that leads now.
func (s *Scheduler) Leads() bool { return s.fence.Load() > 0 }

// lead does all of the leader's work. Each part runs for itself, so that one that
// hangs keeps no other from renewing what it holds.
func (s *Scheduler) lead(ctx context.Context, fence int64) {
	s.fence.Store(fence)
	defer s.fence.Store(0)
	s.Control.note(ctx, limiter.EventLease, Target{}, s.Owner, fmt.Sprintf("scheduler %s leads (term %d)", s.Owner, fence))
	var all sync.WaitGroup
	every := func(d time.Duration, what string, do func(context.Context) error) {
		all.Go(func() { repeat(ctx, d, s.log(), what, do) })
	}
	if s.Monitor != nil {
		all.Go(func() { s.Monitor.Run(ctx, fence) })
	}
	if s.Ramps != nil {
		all.Go(func() { s.Ramps.Run(ctx, fence) })
	}
	if s.Windows != nil {
		every(reconcileEvery, "keeping work windows", s.Windows.Apply)
	}
	if s.Runs != nil {
		all.Go(func() { s.Runs.Run(ctx) })
	}
	every(reconcileEvery, "closing and opening queues", func(ctx context.Context) error {
		_, err := s.Control.Reconcile(ctx)
		return err
	})
	every(time.Minute, "telling of old pauses", s.Control.TellOld)
	if s.Bypass != nil {
		every(reconcileEvery, "estimating what bypasses the gate", s.Bypass.Look)
	}
	if s.Learner != nil {
		every(learnEvery, "learning the week", s.Learner.Look)
	}
	if s.Spend != nil {
		every(spendEvery, "looking at what is spent", s.Spend.Look)
	}
	if s.Keeper != nil {
		every(keepEvery, "removing runs whose time is over", s.Keeper.Look)
	}
	if s.Snapshots != nil {
		every(lossEvery, "keeping counters", s.Snapshots.Keep)
	}
	if s.Periodic != nil {
		every(reconcileEvery, "starting the runs of schedules", s.Periodic.Look)
	}
	if s.Alerts != nil {
		every(alertsEvery, "looking for alerts", func(ctx context.Context) error { return s.Alerts.Look(ctx, fence) })
	}
	if s.Sweeper != nil {
		all.Go(func() { s.Sweeper.Run(ctx) })
	}
	for _, f := range s.Also {
		all.Go(func() { f(ctx) })
	}
	all.Wait()
}

// register tells the others that this process is there, and everybody when they
// do not agree.
func (s *Scheduler) register(ctx context.Context) {
	host, _ := os.Hostname()
	self := Member{ID: s.Owner, Host: host, PID: os.Getpid(), Started: time.Now(), Digest: s.Digest}
	said := ""
	repeat(ctx, beatEvery, s.log(), "telling that this scheduler is there", func(ctx context.Context) error {
		self.Fence = s.fence.Load()
		members, err := s.Control.beat(ctx, self)
		if err == nil {
			said = s.tellDisagreement(ctx, members, said)
		}
		return err
	})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery)
	defer cancel()
	_ = s.Control.leave(ctx, s.Owner) // otherwise it is forgotten
}

// tellDisagreement warns once of schedulers with different configurations; the
// leader also keeps it as an event. It returns what was said.
func (s *Scheduler) tellDisagreement(ctx context.Context, members []Member, said string) string {
	if leader(members) == nil {
		return said // while nobody leads there is nothing to agree with
	}
	text := strings.Join(slices.Compact(disagree(members)), "; ")
	if text == said || text == "" {
		return text
	}
	if s.fence.Load() > 0 {
		s.Control.note(ctx, limiter.EventAlert, Target{}, s.Owner, text)
		return text
	}
	s.log().Warn(text)
	return text
}
