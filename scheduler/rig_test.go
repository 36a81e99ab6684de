package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"github.com/redis/go-redis/v9"
)

var testClasses = []limiter.Class{
	{Name: "interactive", GuaranteePPM: 300_000},
	{Name: "agent", Smooth: true},
	{Name: "bulk", Pausable: true, Smooth: true, Tickets: true},
	{Name: "evaluation", Pausable: true, Smooth: true, Tickets: true},
}

var testScope = limiter.Scope{Provider: "gemini", Project: "test"}

const testQueue = "bulk-normal.test.m"

// rig is a provider project with limits, and one process's way to it.
type rig struct {
	*testing.T
	rdb   redis.UniversalClient
	lim   *limiter.Redis
	store *jobs.Store
	c     *Control
}

func newRig(t *testing.T, rdb redis.UniversalClient) *rig {
	t.Helper()
	r := &rig{T: t, rdb: rdb, lim: limiter.NewRedis(rdb, testScope, limiter.RedisOptions{})}
	r.store = jobs.NewStore(rdb, jobs.StoreOptions{Batch: 1})
	r.c = &Control{Redis: rdb, Limiter: r.lim, Store: r.store, Scope: testScope, Classes: testClasses}
	r.configure()
	return r
}

func (r *rig) configure() {
	r.Helper()
	lane, err := limiter.ParseLane(testLane)
	r.must(err)
	r.must(r.lim.Configure(r.ctx(), limiter.Config{Scope: testScope, Classes: testClasses,
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: 1000, RPD: 100_000}, Lend: "now"}}}))
}

// as is another process's way to the same project.
func (r *rig) as(t *testing.T, rdb redis.UniversalClient) *rig {
	o := *r
	o.rdb, o.lim = rdb, limiter.NewRedis(rdb, testScope, limiter.RedisOptions{})
	o.store = jobs.NewStore(rdb, jobs.StoreOptions{Batch: 1})
	o.c = &Control{Redis: rdb, Limiter: o.lim, Store: o.store, Scope: testScope, Classes: testClasses}
	return &o
}

func (r *rig) ctx() context.Context { return context.Background() }

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// starts tells whether a call of the class is not closed out now. That it has to
// go slowly is no matter.
func (r *rig) starts(class string, path limiter.Path) (limiter.Reason, bool) {
	r.Helper()
	lane, err := limiter.ParseLane(testLane)
	r.must(err)
	_, err = r.lim.Acquire(r.ctx(), limiter.Request{ID: uniqueID(), Lane: lane, Class: class, Path: path, Feature: "x", Amounts: limiter.Amounts{limiter.Requests: 1}})
	var d *limiter.Denied
	if errors.As(err, &d) {
		return d.Reason, d.Reason != limiter.ReasonPaused
	}
	r.must(err)
	return "", true
}

var ids struct {
	sync.Mutex
	n int
}

func uniqueID() string {
	ids.Lock()
	defer ids.Unlock()
	ids.n++
	return "call-" + time.Unix(int64(ids.n), 0).UTC().Format("150405")
}

func (r *rig) wantStarts(class string, want bool) {
	r.Helper()
	if why, got := r.starts(class, limiter.Path{}); got != want {
		r.Errorf("a call of %s starts: %v (%s), want %v", class, got, why, want)
	}
}

// pauseValue is what asynq finds at the queue.
func (r *rig) pauseValue(queue string) string {
	v, err := r.rdb.Get(r.ctx(), pausedKey(queue)).Result()
	if !errors.Is(err, redis.Nil) {
		r.must(err)
	}
	return v
}

// events are the kinds and texts since the test began.
func (r *rig) events(kind string) (texts []string) {
	r.Helper()
	all, err := r.lim.Events(r.ctx(), time.Time{}, 0)
	r.must(err)
	for _, e := range all {
		if e.Kind == kind {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// pauses are those that hold, as "target/reason/owner".
func (r *rig) pauses() (out []string) {
	r.Helper()
	all, err := r.lim.Pauses(r.ctx())
	r.must(err)
	for _, p := range all {
		out = append(out, strings.Join([]string{targetOf(p).String(), p.Reason, p.Owner}, "/"))
	}
	return out
}

// ill is a source of health that tests set.
type ill struct {
	mu      sync.Mutex
	samples func(now time.Time) []gemini.UsageSample
	err     error
}

func (s *ill) set(f func(now time.Time) []gemini.UsageSample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = f
}

func (s *ill) Samples(_ context.Context, _, to time.Time) ([]gemini.UsageSample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.samples == nil || s.err != nil {
		return nil, s.err
	}
	return s.samples(to), nil
}

// slow are twenty slow calls just now.
func slow(now time.Time) []gemini.UsageSample {
	s := calls("interactive", "chat", 20, 9*time.Second)
	s.At = now.Add(-5 * time.Second)
	return []gemini.UsageSample{s}
}

// logged collects what is logged.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(p))
	return len(p), nil
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(s string) bool { return strings.Contains(s, text) })
}
