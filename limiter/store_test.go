package limiter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines counts what is logged.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) count() int { return strings.Count(l.String(), "\n") }

// benchOn is a bench whose gate is on a Redis that may be broken.
func benchOn(s *ownRedis) (*bench, *lines) {
	log := &lines{}
	b := &bench{TB: s.TB, now: noon, scope: testScope()}
	b.lane = Lane{Provider: b.scope.Provider, Project: b.scope.Project, Region: "global", Model: "flash"}
	b.gate = NewRedis(s.client(), b.scope, RedisOptions{Now: func() time.Time { return b.now }, Timeout: time.Minute,
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	b.limits(Limits{RPM: 100, InputTPM: 100_000, RPD: 1000, USDPerMonth: 1_000_000, Concurrency: 20})
	return b, log
}

// troubles are what can happen to a store while it keeps its data, what a refusal
// must say, and how it ends.
var troubles = map[string]struct {
	begin, end func(s *ownRedis)
	says       string
}{
	"away": {
		func(s *ownRedis) { s.lead("") },
		func(s *ownRedis) { s.lead(s.socket()) }, "closed"},
	"silent": {
		func(s *ownRedis) { s.hold(true) },
		func(s *ownRedis) { s.hold(false) }, "deadline exceeded"},
	"out of memory": {
		func(s *ownRedis) { s.do("CONFIG", "SET", "maxmemory", 1) },
		func(s *ownRedis) { s.do("CONFIG", "SET", "maxmemory", 0) }, "OOM"},
	"a read-only replica": {
		func(s *ownRedis) { s.do("REPLICAOF", "127.0.0.1", 1) },
		func(s *ownRedis) { s.do("REPLICAOF", "NO", "ONE") }, "READONLY"},
	"a replica that lost its master": {
		func(s *ownRedis) {
			s.do("CONFIG", "SET", "replica-serve-stale-data", "no")
			s.do("REPLICAOF", "127.0.0.1", 1)
		},
		func(s *ownRedis) { s.do("REPLICAOF", "NO", "ONE") }, "MASTERDOWN"},
	"no right to run scripts": {
		func(s *ownRedis) { s.do("ACL", "SETUSER", "default", "-@scripting") },
		func(s *ownRedis) { s.do("ACL", "SETUSER", "default", "+@all") }, "'evalsha'"},
	"no right to write": {
		func(s *ownRedis) { s.do("ACL", "SETUSER", "default", "-hset") },
		func(s *ownRedis) { s.do("ACL", "SETUSER", "default", "+@all") }, "can't run this command"},
	"a password that was changed": {
		func(s *ownRedis) {
			s.do("CONFIG", "SET", "requirepass", "new")
			s.lead(s.socket())
		},
		func(s *ownRedis) { s.do("CONFIG", "SET", "requirepass", "") }, "wants a password"},
	"scripts forgotten": { // no trouble at all: nobody notices
		func(s *ownRedis) { s.do("SCRIPT", "FLUSH") },
		func(s *ownRedis) { s.do("SCRIPT", "FLUSH") }, ""},
}

// TestStoreTrouble is rule 7 at the store: what cannot be decided is refused, with
// the cause and a time, nothing is half done, nothing is said a thousand times,
// and all goes on by itself when the trouble is over.
func TestStoreTrouble(t *testing.T) {
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startOwn(t)
			b, log := benchOn(s)
			cost := Amounts{Requests: 1, InputTokens: 500, MicroUSD: 700}
			first := b.granted(b.request("bulk", cost))
			before, said := jsonOf(b.state().Limits), log.count()
			trouble.begin(s)
			if trouble.says != "" {
				b.suffers(trouble.says, cost, first)
			}
			trouble.end(s)
			b.eventually(before)
			if n := log.count() - said; n > 1 {
				t.Errorf("%d lines of log:\n%s", n, log)
			}
			b.settle(first, Amounts{Requests: 1, InputTokens: 900, MicroUSD: 1500})
			b.granted(b.request("interactive", cost))
			if in, money, held := b.used("input_tpm"), b.used("usd_per_month"), b.used("concurrency"); in != 1400 || money != 2200 || held != 1 {
				t.Errorf("%d tokens, %d µ$ and %d calls in use; want 1400, 2200 and 1", in, money, held)
			}
		})
	}
}

// suffers asks as people and as bulk while nothing can be decided.
func (b *bench) suffers(says string, cost Amounts, open *Permit) {
	b.Helper()
	for i := range 10 {
		q := b.request([]string{"interactive", "bulk"}[i%2], cost)
		ctx, cancel := context.WithTimeout(b.Context(), b.patience(says))
		_, err := b.Acquire(ctx, q)
		cancel()
		var d *Denied
		if !errors.As(err, &d) || d.Reason != ReasonUnavailable || d.Permanent || d.RetryAfterMS <= 0 || !d.RetryAt.After(b.now) {
			b.Fatalf("%v; want a refusal that says when to come back", err)
		}
		if !strings.Contains(err.Error(), says) {
			b.Fatalf("%q does not say %q", err, says)
		}
	}
	ctx, cancel := context.WithTimeout(b.Context(), b.patience(says))
	defer cancel()
	if b.Settle(ctx, Settlement{ID: open.ID + "x", Lane: b.lane, Outcome: Released}) == nil {
		b.Error("a settlement that nobody took is said to be made")
	}
}

// patience is short only where silence is the trouble: elsewhere a slow machine
// must not look like it.
func (b *bench) patience(says string) time.Duration {
	if says == context.DeadlineExceeded.Error()[len("context "):] {
		return 30 * time.Millisecond
	}
	return time.Minute
}

// eventually waits until the lane is as it was: what was granted to callers who
// had gone is given back.
func (b *bench) eventually(want string) {
	b.Helper()
	var got string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		s, err := b.State(b.Context(), b.lane)
		if err == nil {
			if got = jsonOf(s.Limits); got == want {
				return
			}
		}
	}
	b.Fatalf("half done:\n got %s\nwant %s", got, want)
}

// TestFailover: a replica is promoted; it knows the use, not the scripts.
func TestFailover(t *testing.T) {
	t.Parallel()
	s := startOwn(t)
	replica := startOwn(t, "--replicaof", "127.0.0.1 "+itoa(s.port))
	b, _ := benchOn(s)
	p := b.granted(b.request("bulk", Amounts{Requests: 1, InputTokens: 500}))
	if n, err := s.admin.Wait(b.Context(), 1, time.Minute).Result(); err != nil || n != 1 {
		t.Fatalf("%d replicas, %v", n, err)
	}
	before := jsonOf(b.state().Limits)
	s.admin.Wait(b.Context(), 1, time.Minute)
	s.kill()
	replica.do("REPLICAOF", "NO", "ONE")
	s.lead(replica.socket())
	if after := jsonOf(b.state().Limits); after != before {
		t.Fatalf("after the failover\n%s; before\n%s", after, before)
	}
	b.settle(p, Amounts{Requests: 1, InputTokens: 200})
	b.granted(b.request("bulk", Amounts{Requests: 1, InputTokens: 100}))
	if in, held := b.used("input_tpm"), b.used("concurrency"); in != 300 || held != 1 {
		t.Errorf("%d tokens and %d calls in use; want 300 and 1", in, held)
	}
}

// TestRestart: with its data Redis goes on where it was; without, what the limits
// were is written again, once, with one line for all who asked.
func TestRestart(t *testing.T) {
	for _, empty := range []bool{false, true} {
		t.Run(map[bool]string{true: "empty", false: "with its data"}[empty], func(t *testing.T) {
			t.Parallel()
			s := startOwn(t)
			b, log := benchOn(s)
			p := b.granted(b.request("interactive", Amounts{Requests: 1, InputTokens: 500}))
			if !empty {
				s.do("SAVE")
			}
			s.kill()
			s.start()
			s.lead(s.socket())
			qs := make([]Request, 50)
			for i := range qs {
				qs[i] = b.request("interactive", Amounts{})
			}
			var wg sync.WaitGroup
			for _, q := range qs {
				q.Amounts[InputTokens], q.Lease = 1, time.Second
				wg.Go(func() { _, _ = b.Acquire(t.Context(), q) })
			}
			wg.Wait()
			want := int64(500)
			if empty {
				want = 0
			}
			b.wait(2 * time.Second)
			b.settle(p, Amounts{Requests: 1, InputTokens: 500})
			in := b.used("input_tpm")
			if in < want+1 || in > want+20 || b.used("concurrency") != 0 {
				t.Errorf("%d tokens and %d calls in use; want %d and some, and none", in, b.used("concurrency"), want)
			}
			if n := strings.Count(log.String(), "Redis lost"); n > 1 || empty && n == 0 {
				t.Errorf("%d lines of lost data:\n%s", n, log)
			}
		})
	}
}
