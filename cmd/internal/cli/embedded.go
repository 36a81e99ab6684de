package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/adrg/xdg"
	"github.com/alicebob/miniredis/v2"
	"github.com/gofrs/flock"
	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// embedded is a Redis inside this process, for `run` alone: its limiter holds
// for this process only, so one project has one at a time.
type embedded struct {
	server *miniredis.Miniredis
	lock   *flock.Flock
	dir    string
	state  embeddedState // as written for other terminals
	stop   context.CancelFunc
	done   chan struct{}
}

// embeddedState lets commands in another terminal reach the embedded Redis.
type embeddedState struct {
	Addr     string    `json:"addr"`
	Password string    `json:"password"`
	PID      int       `json:"pid"`
	Since    time.Time `json:"since"`
}

// stateDir is where a provider project's files are.
func (l *loaded) stateDir() string {
	dir := l.StateDir
	if dir == "" {
		dir = filepath.Join(xdg.StateHome, "nightshift")
	}
	if l.Gemini.API == "simulated" {
		return filepath.Join(dir, l.Gemini.Project+".simulated") // a trial takes nothing of the real day's quota
	}
	return filepath.Join(dir, l.Gemini.Project)
}

// startEmbedded starts a Redis on loopback under a password of its own, and
// writes how to reach it. It refuses while another one of the project runs.
func startEmbedded(dir string) (*embedded, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w (choose another with --state-dir)", err)
	}
	lock := flock.New(filepath.Join(dir, "embedded.lock"))
	if ok, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	} else if !ok {
		return nil, inUseError(dir)
	}
	e := &embedded{server: miniredis.NewMiniRedis(), lock: lock, dir: dir, done: make(chan struct{})}
	if err := e.start(); err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return e, nil
}

func inUseError(dir string) error {
	who := ""
	if st, err := readEmbeddedState(dir); err == nil {
		who = fmt.Sprintf(" (pid %d, since %s)", st.PID, st.Since.Local().Format("15:04:05 MST"))
	}
	return fmt.Errorf("another run of this project is going%s; `nightshift status` shows it. "+
		"Two embedded ones would each use the whole quota: wait for it, or share a Redis with --redis URL", who)
}

func (e *embedded) start() error {
	password := rand.Text()
	e.server.RequireAuth(password)
	if err := e.server.StartAddr("127.0.0.1:0"); err != nil {
		return fmt.Errorf("embedded Redis: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	go e.tick(ctx)
	e.state = embeddedState{Addr: e.server.Addr(), Password: password, PID: os.Getpid(), Since: time.Now()}
	return writeJSON(e.path("embedded.json"), e.state)
}

func (e *embedded) path(name string) string { return filepath.Join(e.dir, name) }

// tick moves the embedded Redis's expiries on, which do not run by themselves.
func (e *embedded) tick(ctx context.Context) {
	defer close(e.done)
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			e.server.FastForward(time.Second)
		}
	}
}

// options are how this process reaches its own embedded Redis.
func (e *embedded) options() *redis.Options { return e.state.options() }

func (st embeddedState) options() *redis.Options {
	return &redis.Options{Addr: st.Addr, Password: st.Password, PoolSize: 64}
}

// close ends the embedded Redis: with it goes all that the state file does not keep.
func (e *embedded) close() {
	e.stop()
	<-e.done
	e.server.Close()
	_ = os.Remove(e.path("embedded.json"))
	_ = e.lock.Unlock()
}

// attachEmbedded finds the embedded Redis of a run that is going now.
func attachEmbedded(dir string) (*redis.Options, error) {
	lock := flock.New(filepath.Join(dir, "embedded.lock"))
	st, err := readEmbeddedState(dir)
	if err == nil {
		var free bool
		if free, err = lock.TryRLock(); free {
			_ = lock.Unlock()
			err = errors.New("it has ended")
		}
	}
	if err != nil {
		return nil, errors.New("no run with the embedded Redis is going; its results are in the file that `run -o` named. " +
			"For a fleet's runs give --redis URL")
	}
	return st.options(), nil
}

func readEmbeddedState(dir string) (embeddedState, error) {
	var st embeddedState
	b, err := os.ReadFile(filepath.Join(dir, "embedded.json"))
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal(b, &st)
}

// writeJSON replaces a file at once, readable by its owner alone.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// countersFile keeps day and month counters across embedded runs: the
// provider's day does not start anew with our process.
const countersFile = "counters.json"

// counterStore is the limiter's side of countersFile.
type counterStore interface {
	Counters(ctx context.Context) (limiter.Snapshot, error)
	Restore(ctx context.Context, s limiter.Snapshot) error
}

// restoreCounters puts back what the last embedded run had used of the day.
func (e *embedded) restoreCounters(ctx context.Context, lim counterStore) error {
	b, err := os.ReadFile(e.path(countersFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var s limiter.Snapshot
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; the day's use so far is unknown. Remove the file to count from zero", e.path(countersFile), err)
	}
	return lim.Restore(ctx, s)
}

// keepCounters saves them every two seconds and once more at the end.
func (e *embedded) keepCounters(ctx context.Context, lim counterStore) {
	t := time.NewTicker(2 * time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			e.saveCounters(context.WithoutCancel(ctx), lim)
			return
		case <-t.C:
			e.saveCounters(ctx, lim)
		}
	}
}

func (e *embedded) saveCounters(ctx context.Context, lim counterStore) {
	if s, err := lim.Counters(ctx); err == nil {
		_ = writeJSON(e.path(countersFile), s)
	}
}

// moneyFile keeps across embedded runs who spent how much of this month and the
// last.
const moneyFile = "money.json"

// restoreMoney puts back what earlier embedded runs spent.
func (e *embedded) restoreMoney(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope) error {
	b, err := os.ReadFile(e.path(moneyFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var samples []gemini.MoneySample
	if err == nil {
		err = json.Unmarshal(b, &samples)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; it says who spent what. Remove the file to begin anew", e.path(moneyFile), err)
	}
	return gemini.RestoreMoney(ctx, rdb, scope, samples)
}

func (e *embedded) saveMoney(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, now time.Time) error {
	samples, err := gemini.ReadMoney(ctx, rdb, scope, now.AddDate(0, 0, -62), now)
	if err != nil {
		return err
	}
	return writeJSON(e.path(moneyFile), samples)
}
