package main

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var soakFor time.Duration // 0: the short form

func init() {
	flag.BoolFunc("soak", "TestSoak: load the fleet for an hour, or for a `TIME`, and want it flat", func(s string) (err error) {
		if soakFor = time.Hour; s != "true" {
			soakFor, err = time.ParseDuration(s)
		}
		return err
	})
}

// TestSoak loads a fleet of real processes with people of many tenants and with runs
// that begin, end and go, and looks every ten seconds at what each process and Redis
// hold. After a third of the time, in which caches fill and what is kept for a quarter
// of an hour begins to go, nothing may grow but histories, and they only as fast as is
// stated (soakbounds_test.go). Table and charts are left in the directory of the
// test's artifacts:
//
//	go test ./cmd/nightshift -run 'TestSoak$' -soak -timeout 90m -v -artifacts -outputdir DIR
//
// The short form takes some seconds. It wants each figure to be there, and lets
// connections and keys leak, which has to be noticed.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := newSoak(t)
	s.beginLoad()
	if soakFor == 0 {
		s.sample(2*time.Second, 200*time.Millisecond, func() {})
		s.wantAllFigures()
		s.leave()
		s.wantLeaksNoticed()
		return
	}
	s.sample(soakFor, 10*time.Second, s.tend)
	s.stop()
	s.Logf("in %s\n%s", s.ArtifactDir(), s.leave())
	for _, x := range tracksOf(s.warm()) {
		if x.grows() {
			t.Errorf("%s grows: %s", x.name(), x.growth())
		}
	}
}

const soakRPM = 2400

// soakConf lets runs go two minutes after their end, whether or not somebody has
// fetched their results.
const soakConf = "retention: {results: 2m, unfetched: true}\nspend: {usd_per_month: 100000}\nnodes:\n  tenant/*: {rpm: 600}\n"

// soak is a fleet that is looked at again and again.
type soak struct {
	*night
	began     time.Time
	parts     []soakPart
	dashboard string // its URL
	samples   []soakSample
	done      soakDone
	stop      func() // ends people and visitors, and waits for them
}

// soakPart is a process of ours, and where its figures are.
type soakPart struct {
	name    string
	cmd     *exec.Cmd
	metrics string
}

func newSoak(t *testing.T) *soak {
	sim := filepath.Join(t.TempDir(), "sim.yaml")
	write(t, sim, fmt.Sprintf("models: [{name: %s, limits: {rpm: %d, input_tpm: %d}}]\nkeep_calls: 1000\n", benchModel, soakRPM, soakRPM*1000))
	f := newFleet(t, quota{rpm: soakRPM, inputTPM: soakRPM * 1000, sim: []string{"--sim-config", sim}}, defaultConf+soakConf)
	s := &soak{night: nightOf(f), began: time.Now()}
	gate, board := freeAddr(t), freeAddr(t)
	s.gateway, s.dashboard = "http://"+gate, "http://"+board
	s.spawn("worker1", "worker", "--concurrency", "32")
	s.spawn("worker2", "worker", "--concurrency", "32")
	s.spawn("gateway", "gateway", "--listen", gate)
	s.spawn("scheduler", "scheduler")
	s.spawn("dashboard", "dashboard", "--listen", board)
	for _, addr := range []string{gate, board} {
		s.await(addr+" is served", 30*time.Second, func() bool { return dials(addr) })
	}
	return s
}

func (s *soak) spawn(name string, args ...string) {
	cmd, addr := s.command(args...), freeAddr(s)
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "NIGHTSHIFT_METRICS_LISTEN="+addr)
	s.start(cmd, name+".log")
	s.parts = append(s.parts, soakPart{name, cmd, "http://" + addr + "/metrics"})
	s.await(name+" serves its figures", 30*time.Second, func() bool { return dials(addr) })
}

// fewestLooks is how often a soak looks however long that takes on a busy machine.
const fewestLooks = 10

// sample looks for so long, and does what else there is to do before each look.
func (s *soak) sample(span, every time.Duration, before func()) {
	least := len(s.samples) + fewestLooks
	for end := time.Now().Add(span); len(s.samples) < least || time.Now().Before(end); <-time.After(every) {
		before()
		if s.samples = append(s.samples, s.look()); len(s.samples)%30 == 0 {
			s.leave() // what there is so far, should it not come to its end
		}
	}
}

// warm are the looks of after the first third.
func (s *soak) warm() []soakSample { return s.samples[len(s.samples)/3:] }

func (s *soak) wantAllFigures() {
	for _, x := range tracksOf(s.samples) {
		if len(x.v) < 3 || x.level() <= 0 && !strings.HasSuffix(x.of, redisKeys) {
			s.Errorf("%s has no figures: %v", x.name(), x.v)
		}
	}
	kinds := s.samples[len(s.samples)-1].keys
	for _, want := range []string{"jobs row", "limiter meter:5000", "asynq t"} {
		if kinds[want].n == 0 {
			s.Errorf("no key of kind %q among %v", want, kinds)
		}
	}
}

// wantLeaksNoticed leaks two connections of the gateway and two keys at each look.
func (s *soak) wantLeaksNoticed() {
	from, n := len(s.samples), 0
	s.sample(2*time.Second, 200*time.Millisecond, func() {
		for range 2 {
			n++
			s.holdConnection()
			s.must(s.rdb.Set(s.Context(), fmt.Sprintf("nightshift:{leak:x}:%d", n), "leaked", time.Hour).Err())
		}
	})
	var found []string
	for _, x := range tracksOf(s.samples[from:]) {
		if x.grows() {
			found = append(found, x.name())
		}
	}
	for _, want := range []string{"gateway: file descriptors", "Redis, keys: leak"} {
		if !strings.Contains(strings.Join(found, "\n"), want) {
			s.Errorf("%q leaks and is not among what grows: %q", want, found)
		}
	}
}
