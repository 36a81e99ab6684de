package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	only := flag.String("only", "", "some of the tables, by commas: window, settle, cost, callers, flat, memory (default: all)")
	check := flag.Bool("check", false, "end with 1 when ours misses a bar")
	rounds := flag.Int("rounds", 7, "alternating rounds")
	calls := flag.Int("calls", 1000, "decisions in a round")
	server := flag.String("redis-server", "redis-server", "the Redis that is measured")
	flag.Parse()
	o := options{rounds: *rounds, calls: *calls, server: *server}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	missed, err := run(context.Background(), os.Stdout, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, m := range missed {
		fmt.Fprintln(os.Stderr, "missed:", m)
	}
	if *check && len(missed) > 0 {
		os.Exit(1)
	}
}

type options struct {
	only          []string
	rounds, calls int
	server        string
}

// run prints the tables that are asked for and gives the bars that ours misses.
func run(ctx context.Context, w io.Writer, o options) (missed []string, err error) {
	rdb, stop, err := startRedis(o.server)
	if err != nil {
		return nil, err
	}
	defer stop()
	h, t := &harness{rdb: rdb}, &table{w}
	parts := []struct {
		name string
		do   func() ([]string, error)
	}{
		{"window", func() ([]string, error) { return h.showWindows(ctx, t) }},
		{"settle", func() ([]string, error) { return h.showSettling(ctx, t) }},
		{"cost", func() ([]string, error) { return h.showCosts(ctx, t, o) }},
		{"callers", func() ([]string, error) { return h.showCallers(ctx, t, o) }},
		{"flat", func() ([]string, error) { return h.showFlat(ctx, t, o) }},
		{"memory", func() ([]string, error) { return h.showMemory(ctx, t) }},
	}
	for _, p := range parts {
		if !wanted(o.only, p.name) {
			continue
		}
		m, err := p.do()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		missed = append(missed, m...)
	}
	return missed, nil
}
