package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
)

// steered is a run of ten rows on a Redis of its own.
type steered struct {
	*testing.T
	f        *factory
	be       *backend
	redis    *miniredis.Miniredis
	run      jobs.Run
	out, err bytes.Buffer
}

func newSteered(t *testing.T) *steered {
	t.Helper()
	m := miniredis.RunT(t)
	s := newSteeredOn(t, redis.NewClient(&redis.Options{Addr: m.Addr()}))
	s.redis = m
	return s
}

// newSteeredOn is one on another Redis.
func newSteeredOn(t *testing.T, rdb *redis.Client) *steered {
	t.Helper()
	s := &steered{T: t}
	s.f = &factory{streams: &streams{Out: &s.out, Err: &s.err}, now: time.Now}
	dir := t.TempDir()
	file, path := filepath.Join(dir, "night.yaml"), filepath.Join(dir, "rows.csv")
	s.check(os.WriteFile(file, []byte("models: {m: {rpm: 60}}\n"), 0o600))
	conf, err := loadConfig(file, nil, nil)
	s.check(err)
	s.be = s.f.backend(conf, rdb)
	t.Cleanup(s.be.close)
	s.check(s.be.lim.Configure(t.Context(), conf.limiterConfig()))
	s.check(os.WriteFile(path, []byte("id\nr0\nr1\nr2\nr3\nr4\nr5\nr6\nr7\nr8\nr9\n"), 0o600))
	spec := jobs.Spec{
		Name: "night", Kind: jobs.Generate, Model: "m", Lane: "gemini/default/global/m", Template: "{{.id}}",
		Priority: jobs.Normal, Feature: "test",
	}
	p, err := jobs.Prepare(t.Context(), jobs.Input{Path: path}, spec, jobs.PrepareOptions{})
	s.check(err)
	rep, err := s.be.store.Enqueue(t.Context(), p, jobs.EnqueueOptions{})
	s.check(errors.Join(err, p.Close()))
	s.run = rep.Run
	return s
}

func (s *steered) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// end gives a row its end; a failed one has that cause.
func (s *steered) end(row int64, state jobs.State, cause string) {
	s.Helper()
	task := jobs.Task{Run: s.run.ID, Index: row}
	_, err := s.be.store.Begin(s.Context(), task)
	s.check(err)
	r := jobs.Result{Row: fmt.Sprintf("r%d", row), Status: state.String(), Key: "k"}
	if cause != "" {
		r.Error = &jobs.RowError{Cause: cause, Message: "of " + cause}
	}
	_, err = s.be.store.Finish(s.Context(), task, r)
	s.check(err)
}

// said gives what a command printed and forgets it.
func (s *steered) said(do func(context.Context) error) string {
	s.Helper()
	s.out.Reset()
	s.err.Reset()
	s.check(do(s.Context()))
	return s.out.String() + s.err.String()
}

// TestCancelIsTheEnd: a cancelled run ended when it was cancelled, not with its last row,
// and who did it is an event.
func TestCancelIsTheEnd(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	s.end(0, jobs.Done, "")
	last, _, err := s.be.store.LastEnd(t.Context(), s.run.ID)
	s.check(err)
	at := last.Finished.Add(57 * time.Second).Truncate(time.Millisecond)
	s.be.store = jobs.NewStore(s.be.rdb, jobs.StoreOptions{Now: func() time.Time { return at }})
	d := &deed{what: "cancel"}
	s.check(d.toRun(t.Context(), s.be, s.run, func() error { return runCancel(t.Context(), &cancelOptions{factory: s.f}, s.be, s.run) }))
	if got, err := s.be.store.EndedAt(t.Context(), s.run.ID); err != nil || !got.Equal(at) {
		t.Errorf("ended %s, %v; cancelled %s", got, err, at)
	}
	if got, err := s.be.store.Ended(t.Context(), s.run); err != nil || got.Unix() != at.Unix() {
		t.Errorf("status has it end %s, %v", got, err)
	}
	events, err := s.be.lim.Events(t.Context(), time.Time{}, 0)
	s.check(err)
	found := false
	for _, e := range events {
		found = found || e.Subject == s.run.ID && e.By == operator() && strings.Contains(e.Text, "run night, cancel: ")
	}
	if !found {
		t.Errorf("no event of it: %v", events)
	}
}

func TestCancelTwice(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	s.end(0, jobs.Done, "")
	cancel := func(ctx context.Context) error { return runCancel(ctx, &cancelOptions{factory: s.f}, s.be, s.run) }
	for _, want := range []string{
		"night: 9 rows cancelled, 1 had finished and stay\n",
		"night: 0 rows cancelled, 9 were cancelled before, 1 had finished and stay\n",
	} {
		if got := s.said(cancel); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	got := s.said(func(ctx context.Context) error { return runErrors(ctx, &errorsOptions{factory: s.f}, s.be, s.run) })
	if !strings.Contains(got, "no row has failed") || !strings.Contains(got, "9 rows are cancelled; to make them: nightshift retry night --only cancelled") {
		t.Errorf("errors: %s", got)
	}
	got = s.said(func(ctx context.Context) error {
		return runResults(ctx, &resultsOptions{factory: s.f, Out: "-"}, s.be, s.run)
	})
	if strings.Count(got, `"status":"cancelled"`) != 9 || strings.Contains(got, `"key":""`) || strings.Contains(got, "0001-01-01") {
		t.Errorf("results: %s", got)
	}
	got = s.said(func(ctx context.Context) error { return runRetry(ctx, &retryOptions{factory: s.f}, s.be, s.run) })
	if got != "night: 9 rows enqueued again\nbefore: 1 done, 9 cancelled\nnow:    9 queued, 1 done\n" {
		t.Errorf("retry: %s", got)
	}
}

func TestRetryOnly(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	retry := func(only ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			return runRetry(ctx, &retryOptions{factory: s.f, Only: only}, s.be, s.run)
		}
	}
	if got := s.said(retry("attempts_exhausted")); !strings.Contains(got, "nothing to retry") {
		t.Errorf("nothing has failed: %s", got)
	}
	s.end(0, jobs.Failed, "schema")
	s.end(1, jobs.Failed, "schema")
	s.end(2, jobs.Blocked, "safety")
	for _, word := range []string{"bogus", "running", "schema,bogus"} {
		err := retry(strings.Split(word, ",")...)(t.Context())
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "there are: schema, safety") {
			t.Errorf("--only %s: %v", word, err)
		}
	}
	if got := s.said(retry("blocked", "schema")); !strings.Contains(got, "3 rows enqueued again") {
		t.Errorf("retry: %s", got)
	}
}
