package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"nightshift/jobs"
)

// newReused is a fleet whose configuration has a schedule of two rows, one of which the
// run "first" has answered.
func newReused(t *testing.T) (s *steered, enqueue func(args ...string) error) {
	t.Helper()
	s = newSteered(t)
	dir := t.TempDir()
	rows, conf := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "nightshift.yaml")
	s.check(os.WriteFile(rows, []byte("id,w\na,x\nb,y\n"), 0o600))
	s.check(os.WriteFile(conf, []byte("redis: redis://"+s.redis.Addr()+"\nmodels: {m: {rpm: 60}}\nrun: {model: m}\nschedules:\n"+
		"  - {name: nightly, cron: '@daily', input: rows.csv, prompt: 'say {{.w}}'}\n"+
		"  - {name: anew, cron: '@daily', input: rows.csv, prompt: 'say {{.w}}', force: true}\n"), 0o600))
	c, err := loadConfig(conf, nil, nil)
	s.check(err)
	s.f.conf, s.be.conf = c, c
	enqueue = func(args ...string) error {
		o, cmd := &enqueueOptions{}, &cobra.Command{}
		o.addFlags(cmd)
		s.check(cmd.ParseFlags(append(args, "--prompt", "say {{.w}}")))
		return o.enqueue(t.Context(), s.f, s.be, cmd, []string{rows})
	}
	s.check(enqueue("--name", "first"))
	s.answerFirst(c)
	return s, enqueue
}

// answerFirst gives the first row of the run "first" its answer.
func (s *steered) answerFirst(c *loaded) {
	s.Helper()
	b, _, err := c.prepareSchedule(s.Context(), c.Schedules[0], "first")
	s.check(err)
	s.run, err = s.be.store.Find(s.Context(), "first")
	s.check(err)
	s.check(b.Each(s.Context(), func(row jobs.RenderedRow) error {
		if row.ID != "a" {
			return nil
		}
		task := jobs.Task{Run: s.run.ID}
		if _, err := s.be.store.Begin(s.Context(), task); err != nil {
			return err
		}
		_, err := s.be.store.Finish(s.Context(), task, jobs.Result{Row: row.ID, Status: jobs.Done.String(), Key: row.Key, Fields: row.Fields, Output: "hello", Attempts: 1})
		return err
	}))
	s.check(b.Close())
}

// made counts the cached rows of a run and its tasks that wait.
func (s *steered) made(name string) (cached, tasks int64) {
	s.Helper()
	run, err := s.be.store.Find(s.Context(), name)
	s.check(err)
	c, err := s.be.store.Counts(s.Context(), run.ID)
	s.check(err)
	for _, key := range s.redis.Keys() {
		if !strings.HasPrefix(key, "asynq:") || !strings.HasSuffix(key, ":pending") {
			continue
		}
		list, err := s.redis.List(key)
		s.check(err)
		for _, id := range list {
			if strings.HasPrefix(id, run.ID) {
				tasks++
			}
		}
	}
	return c[jobs.Cached], tasks
}

// TestEnqueueTakesAnswersOver: by hand and by a schedule a row that is answered makes
// no task, and enqueue says so; --force asks again.
func TestEnqueueTakesAnswersOver(t *testing.T) {
	t.Parallel()
	s, enqueue := newReused(t)
	for _, c := range []struct {
		name   string
		make   func(name string) error
		cached int64
		says   string
	}{
		{"second", func(name string) error { return enqueue("--name", name) }, 1, "1 are answered already and cost nothing (from first)"},
		{"forced", func(name string) error { return enqueue("--name", name, "--force") }, 0, "2 new"},
		{"nightly@1", s.scheduled(0), 1, ""},
		{"anew@1", s.scheduled(1), 0, ""},
	} {
		said := s.said(func(context.Context) error { return c.make(c.name) })
		if cached, tasks := s.made(c.name); cached != c.cached || tasks != 2-c.cached {
			t.Errorf("%s: %d cached, %d tasks; want %d and %d", c.name, cached, tasks, c.cached, 2-c.cached)
		}
		if !strings.Contains(said, c.says) {
			t.Errorf("%s says\n%s\nwant %q", c.name, said, c.says)
		}
	}
}

// scheduled starts a period's run of a schedule.
func (s *steered) scheduled(at int) func(string) error {
	return func(name string) error {
		_, err := s.be.startScheduled(s.Context(), s.be.conf.Schedules[at], name)
		return err
	}
}
