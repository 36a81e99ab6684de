package gemini_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

const model = "gemini-2.5-flash"

// startChat starts the service beside a Redis and a simulated Gemini, with so many
// requests a minute. In a fleet the limits are nightshift.yaml's.
func startChat(rpm int64, reg prometheus.Registerer) (*chat, func()) {
	server := miniredis.NewMiniRedis()
	must(server.Start())
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	scope := limiter.Scope{Provider: "gemini", Project: "default"}
	ctx := context.Background()
	must(limiter.NewRedis(rdb, scope, limiter.RedisOptions{}).Configure(ctx, limiter.Config{
		Scope: scope,
		Lanes: []limiter.LaneConfig{{
			Lane:   limiter.Lane{Provider: scope.Provider, Project: scope.Project, Region: "global", Model: model},
			Limits: limiter.Limits{RPM: rpm, InputTPM: 1_000_000}, Lend: "now",
		}},
		Classes: []limiter.Class{{Name: "interactive", GuaranteePPM: 300_000}, {Name: "bulk", Pausable: true, Smooth: true, Tickets: true}},
	}))
	c, err := newChat(ctx, settings{Redis: rdb, Key: "simulated", Registry: reg, Base: geminitest.MustNew(geminitest.Config{Seed: 7})})
	must(err)
	return c, func() {
		must(c.Close())
		must(rdb.Close())
		server.Close()
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A service asks the SDK as ever. Each call has a permit, and says what it took.
func Example() {
	c, stop := startChat(1000, nil)
	defer stop()
	ctx, seen := gemini.Observe(c.as(context.Background(), "acme"))
	text, err := c.answer(ctx, "Say hello to Ada.")
	must(err)
	fmt.Println(text != "", seen.Permit != nil, seen.Usage.Input(), "tokens in,", seen.MicroUSD, "micro-dollars")
	// Output:
	// true true 5 tokens in, 147 micro-dollars
}

// A stream is one permit too, settled by its last event.
func Example_stream() {
	c, stop := startChat(1000, nil)
	defer stop()
	ctx, seen := gemini.Observe(c.as(context.Background(), "acme"))
	shown := 0
	must(c.stream(ctx, "Tell me a long story about a lighthouse.", func(part string) { shown += len(part) }))
	fmt.Println(shown > 0, seen.Sent, "call,", seen.Finish, seen.FirstToken > 0)
	// Output:
	// true 1 call, STOP true
}

// A refusal says why and when to come back, or that no time helps, and passes through
// the SDK.
func Example_refusal() {
	c, stop := startChat(1, nil)
	defer stop()
	ctx := c.as(context.Background(), "acme")
	_, err := c.answer(ctx, "first")
	must(err)
	_, err = c.answer(ctx, "second")
	busy, when, _ := strings.Cut(err.Error(), ", come back in ")
	wait, _ := time.ParseDuration(when)
	fmt.Println(busy, wait > 30*time.Second)
	_, err = c.answer(ctx, strings.Repeat("word ", 2_000_000))
	why, _, _ := strings.Cut(err.Error(), ":")
	fmt.Println(why)
	// Output:
	// busy (quota) true
	// not possible (too_large)
}

// A service's own func answers in the model's place where it can.
func ExampleDegradeFunc() {
	c, stop := startChat(1, nil)
	defer stop()
	_, err := c.answer(c.as(context.Background(), "acme"), "first")
	must(err)
	caller := gemini.Caller{Class: "interactive", Feature: "greeting", Path: limiter.Path{Tenant: "acme"}}
	ctx, seen := gemini.Observe(gemini.WithCaller(context.Background(), caller))
	text, err := c.answer(ctx, "Greet Ada.")
	fmt.Println(text, err, seen.Degraded)
	// Output:
	// Good morning. <nil> light; reason=quota
}

// What is counted goes to any registry; promhttp serves it.
func ExampleNewMetrics() {
	reg := prometheus.NewRegistry()
	c, stop := startChat(1, reg)
	defer stop()
	ctx := c.as(context.Background(), "acme")
	_, _ = c.answer(ctx, "first")
	_, _ = c.answer(ctx, "second")
	families, err := reg.Gather()
	must(err)
	for _, f := range families {
		if f.GetName() != "nightshift_gemini_calls_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			fmt.Println(m.GetLabel()[0].GetValue(), m.GetLabel()[1].GetValue(), m.GetLabel()[2].GetValue(), m.GetCounter().GetValue())
		}
	}
	// Output:
	// interactive admitted gemini-2.5-flash 1
	// interactive rejected_locally gemini-2.5-flash 1
}
