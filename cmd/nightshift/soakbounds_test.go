package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// bound is the most that may grow within an hour: a part of what is there, or so much
// where that is more.
type bound struct{ part, amount float64 }

// The bounds, by what is looked at. An hour in which a leak stays below them is one of
// a thousand before memory is short.
var soakBounds = map[string]bound{
	"resident memory":  {0.10, 8e6},
	"heap":             {0.10, 4e6},
	"goroutines":       {0.10, 10},
	"file descriptors": {0.10, 10},
	redisMemory:        {0.10, 2e6},
	redisHistories:     {0, 40e6},
	redisKeys:          {0.20, 30},
}

const (
	redisMemory    = "memory without histories"
	redisHistories = "memory of histories"
	redisKeys      = "keys"
)

// histories are the kinds of keys that grow by design, and how long each key of theirs
// is kept: what falls out of them is not to be seen within an hour.
var histories = map[string]string{
	"limiter meter:60000":   "50 h",
	"limiter meter:3600000": "36 days",
	"limiter meter:history": "7 days",
	"limiter meter:money":   "by the day",
	"limiter meter:use":     "100 days",
	"limiter events":        "the latest 10,000",
	"limiter audit":         "the latest 100,000",
	"limiter learned":       "30 days",
	"scheduler hours":       "36 days",
	"scheduler told":        "60 days, two a run",
	"jobs purged":           "the latest 5,000",
}

// track is one figure over the time.
type track struct {
	of, what string
	at, v    []float64 // hours; in the unit that its bound has
	bound    bound
}

func (x track) name() string { return x.of + ": " + x.what }

// slope is what it grows by in an hour: the median of those of all pairs of looks
// (Theil and Sen), which a few large ones do not move.
func (x track) slope() float64 {
	var all []float64
	for i := range x.v {
		for j := range i {
			if dt := x.at[i] - x.at[j]; dt > 0 {
				all = append(all, (x.v[i]-x.v[j])/dt)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	return medianOf(all)
}

func (x track) level() float64 { return medianOf(x.v) }
func (x track) most() float64  { return max(x.bound.part*x.level(), x.bound.amount) }
func (x track) grows() bool    { return x.slope() > x.most() }

func (x track) growth() string {
	return fmt.Sprintf("%+.3g an hour at a level of %.3g; at most %.3g", x.slope(), x.level(), x.most())
}

// tracksOf are all figures, in the order of the looks' processes, Redis last.
func tracksOf(looks []soakSample) (out []track) {
	add := func(of, what string, limit bound, v func(soakSample) float64) {
		x := track{of: of, what: what, bound: limit}
		for _, l := range looks {
			x.at, x.v = append(x.at, l.at.Hours()), append(x.v, v(l))
		}
		out = append(out, x)
	}
	for i, p := range looks[0].parts {
		add(p.name, "resident memory", soakBounds["resident memory"], func(l soakSample) float64 { return l.parts[i].rss })
		add(p.name, "heap", soakBounds["heap"], func(l soakSample) float64 { return l.parts[i].heap })
		add(p.name, "goroutines", soakBounds["goroutines"], func(l soakSample) float64 { return l.parts[i].goroutines })
		add(p.name, "file descriptors", soakBounds["file descriptors"], func(l soakSample) float64 { return l.parts[i].fd })
	}
	add("Redis", redisMemory, soakBounds[redisMemory], func(l soakSample) float64 { return l.memory - l.ofHistories() })
	add("Redis", redisHistories, soakBounds[redisHistories], soakSample.ofHistories)
	for _, kind := range kindsOf(looks) {
		add("Redis, "+redisKeys, kind, soakBounds[redisKeys], func(l soakSample) float64 { return float64(l.keys[kind].n) })
	}
	return out
}

func (l soakSample) ofHistories() (bytes float64) {
	for kind := range histories {
		bytes += float64(l.keys[kind].bytes)
	}
	return bytes
}

// kindsOf are those that were seen and are no histories.
func kindsOf(looks []soakSample) (kinds []string) {
	for _, l := range looks {
		for kind := range l.keys {
			if _, grows := histories[kind]; !grows && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// TestSoakBounds: noise and teeth are no growth, and a slow leak below them is.
func TestSoakBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at    func(i int) float64
		grows bool
	}{
		"flat":                   {func(int) float64 { return 100 }, false},
		"teeth of a heap":        {func(i int) float64 { return 100 + float64(i%7)*20 }, false},
		"one large look":         {func(i int) float64 { return 100 + float64(i/200)*float64(201-i)*1e6 }, false},
		"a leak below the teeth": {func(i int) float64 { return 100 + float64(i%7)*20 + float64(i)/6 }, true}, // one a minute
		"what goes down":         {func(i int) float64 { return 400 - float64(i) }, false},
	} {
		x := track{bound: bound{0.10, 10}}
		for i := range 240 { // forty minutes, every ten seconds
			x.at, x.v = append(x.at, (time.Duration(i)*10*time.Second).Hours()), append(x.v, c.at(i))
		}
		if x.grows() != c.grows {
			t.Errorf("%s: %s; grows is %v", name, x.growth(), x.grows())
		}
	}
}

func TestKindOfKeys(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"nightshift:jobs:{r_1}:row:3":                               "jobs row",
		"nightshift:jobs:runs":                                      "jobs runs",
		"nightshift:fleet":                                          "fleet",
		"nightshift:{limiter:gemini/default}:meter:5000:35":         "limiter meter:5000",
		"nightshift:{limiter:gemini/default}:node:tenant/t1:leaves": "limiter node:tenant",
		"nightshift:{scheduler:gemini/default}:health":              "scheduler health",
		"nightshift:{lead:default}:owner":                           "lead owner",
		"asynq:{bulk-normal.default.m}:t:r_1-5":                     "asynq t",
		"asynq:{bulk-normal.default.m}:processed:2026-12-01":        "asynq processed",
		"asynq:servers:{host:1:ab}":                                 "asynq servers",
		"asynq:queues":                                              "asynq queues",
	} {
		if got := kindOf(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}
