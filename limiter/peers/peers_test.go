package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func newHarness(t *testing.T) *harness {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the peers must run on a real Redis under CI:", err)
		}
		t.Skip("needs a redis-server")
	}
	rdb, stop, err := startRedis(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return &harness{rdb: rdb}
}

// TestAnyWindow holds ours to the limit under traffic that takes every bucket far
// above it, so that the traffic proves something.
func TestAnyWindow(t *testing.T) {
	h := newHarness(t)
	rows, err := h.windows(context.Background(), 1, 15*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		t.Logf("%s: factor %.3f, use %.3f", r.name, r.factor, r.use)
		switch {
		case i == 0 && (r.factor > windowBar || r.use < 0.95):
			t.Errorf("factor %.3f, use %.3f; want at most 1 and at least 0.95", r.factor, r.use)
		case i > 0 && r.factor < 1.2:
			t.Errorf("%s: factor %.3f: the traffic finds nothing", r.name, r.factor)
		}
	}
}

// TestSettlements: ours gets all five right; what a peer gets wrong is found.
func TestSettlements(t *testing.T) {
	rows, err := newHarness(t).settling(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		wrong := 0
		for c, ok := range r.right {
			if ok {
				continue
			}
			wrong++
			if i == 0 {
				t.Errorf("ours: %s is wrong", settlements[c].name)
			}
		}
		if i > 0 && wrong == 0 {
			t.Errorf("%s: all five are right: the cases find nothing", r.name)
		}
	}
}

// TestTables runs what is printed once, shortly: the figures are noise, the tables are whole.
func TestTables(t *testing.T) {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("needs a redis-server")
	}
	var out strings.Builder
	_, err = run(context.Background(), &out, options{only: []string{"cost", "settle"}, rounds: 1, calls: 20, server: bin})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| redis_rate, 1 dimension |", "÷ redis_rate", "| nightshift | right | right | right | right | right |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
