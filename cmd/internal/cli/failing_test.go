package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"nightshift/jobs"
	"nightshift/worker"
)

// fleet puts a worker on the fleet's list that meets so much at the provider. It was seen
// in an hour from now, so that a slow machine does not take it for gone.
func (s *steered) fleet(f *worker.Failing) {
	s.Helper()
	info, err := json.Marshal(worker.WorkerInfo{ID: "w", Project: s.be.conf.Gemini.Project, Lanes: []worker.LaneInfo{{Lane: s.run.Spec.Lane, Slots: 4, Failing: f}}})
	s.check(err)
	s.check(s.be.rdb.HSet(s.Context(), "nightshift:fleet", "w", fmt.Sprintf("%d|%s", time.Now().Add(time.Hour).UnixMilli(), info)).Err())
}

// retried lets asynq have a row as one that failed of err.
func (s *steered) retried(err error) {
	s.Helper()
	done := make(chan struct{})
	srv := asynq.NewServerFromRedisClient(s.be.rdb, asynq.Config{
		Concurrency: 1, Queues: map[string]int{jobs.Queue(jobs.Normal, s.run.Spec.Lane): 1}, LogLevel: asynq.FatalLevel,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Hour },
	})
	n := 0
	s.check(srv.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if n++; n == 10 {
			close(done)
		}
		return err
	})))
	<-done
	srv.Shutdown()
}

// TestProviderFailsIsSaid: while calls fail, status, why and errors say of what and
// since when; errors says how many rows are tried again, and what they failed of.
func TestProviderFailsIsSaid(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	s.run.Spec.Class = "bulk"
	since := time.Now().Add(-time.Minute)
	s.fleet(&worker.Failing{Since: since, Failed: 18, Of: 20, Causes: []worker.FailCause{{Status: 503, Reason: "overloaded", Calls: 15}, {Status: 504, Reason: "timeout", Calls: 3}}})
	for i := range int64(10) {
		task := jobs.Task{Run: s.run.ID, Index: i}
		_, err := s.be.store.Begin(t.Context(), task)
		s.check(errors.Join(err, s.be.store.RetryWait(t.Context(), task, jobs.Waits{})))
	}
	want := fmt.Sprintf("the provider answers 503 (overloaded), also 504 (timeout) since %s: 18 of the last 20 calls failed; rows wait and are tried again", clock(since, time.Now()))
	why := func(what string) func(context.Context) error {
		return func(ctx context.Context) error {
			o := &whyOptions{factory: s.f, What: what}
			if what == "m" {
				return o.explainLane(ctx, s.be, s.run.Spec.Lane)
			}
			return o.run(ctx, s.be, s.run)
		}
	}
	for name, do := range map[string]func(context.Context) error{
		"status":     func(ctx context.Context) error { return (&statusOptions{factory: s.f}).all(ctx, s.be) },
		"status run": func(ctx context.Context) error { return (&statusOptions{factory: s.f, Ref: "night"}).one(ctx, s.be) },
		"why run":    why("night"), "why lane": why("m"),
		"errors": func(ctx context.Context) error { return runErrors(ctx, &errorsOptions{factory: s.f}, s.be, s.run) },
	} {
		if got := s.said(do); !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("%s: %q is not in\n%s", name, want, got)
		}
	}
	s.fleet(nil)
	s.retried(errors.New("attempt 1 of 5 failed: overloaded: The model is overloaded: try later"))
	got := s.said(func(ctx context.Context) error { return runErrors(ctx, &errorsOptions{factory: s.f}, s.be, s.run) })
	if !strings.Contains(got, "10 rows wait for another attempt, of the last failures: overloaded 10") || strings.Contains(got, "the provider answers") {
		t.Errorf("errors: %s", got)
	}
	if got := s.said(why("night")); strings.Contains(got, "the provider answers") {
		t.Errorf("why: %s", got)
	}
}
