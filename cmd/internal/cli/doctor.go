package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

func newDoctorCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a night depends on, and say how to mend it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), f) },
	}
	f.addOutputFlag(cmd)
	return cmd
}

type verdict string

const (
	verdictGood    verdict = "ok"
	verdictBad     verdict = "BAD"
	verdictUnknown verdict = "?"
)

// checkup is one thing that doctor looked at.
type checkup struct {
	What    string  `json:"what"`
	Verdict verdict `json:"verdict"`
	Is      string  `json:"is"`
	Remedy  string  `json:"remedy,omitempty"`
}

func runDoctor(ctx context.Context, f *factory) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	list := []checkup{c.checkFile(), c.checkModelsSet(), c.checkKey(), checkDay(f.now())}
	list = append(list, f.checkState(ctx, c)...)
	t := newTable("CHECK", "", "IS", "REMEDY")
	bad := 0
	for _, k := range list {
		t.row(k.What, k.Verdict, k.Is, k.Remedy)
		if k.Verdict == verdictBad {
			bad++
		}
	}
	if err := f.print(t, list); err != nil {
		return err
	}
	if bad > 0 {
		return &codedError{exitError, fmt.Errorf("%s to mend", plural(bad, "thing"))}
	}
	return nil
}

func (l *loaded) checkFile() checkup {
	if l.File == "" {
		return checkup{"configuration", verdictUnknown, "no file here", "nightshift init"}
	}
	return checkup{"configuration", verdictGood, l.File, ""}
}

func (l *loaded) checkModelsSet() checkup {
	if len(l.Models) == 0 {
		return checkup{"models", verdictBad, "none", "add a model with its rpm, input_tpm and rpd; " + limitsPage + " shows them"}
	}
	return checkup{"models", verdictGood, plural(len(l.Models), "model") + " with limits", ""}
}

func (l *loaded) checkKey() checkup {
	if l.Gemini.API == "simulated" {
		return checkup{"API key", verdictGood, "not needed: the API is simulated", ""}
	}
	if l.vertexByToken() {
		return l.checkCredentials()
	}
	if _, err := l.apiKey(); err != nil {
		return checkup{"API key", verdictBad, "missing", err.Error()}
	}
	return checkup{"API key", verdictGood, "present (not tried: that would cost a request)", ""}
}

// checkCredentials looks whether there are any; a token of them would be a call.
func (l *loaded) checkCredentials() checkup {
	if _, err := l.vertex(); err != nil {
		return checkup{"credentials", verdictBad, "missing", err.Error()}
	}
	return checkup{"credentials", verdictGood, "present, for project " + l.Gemini.Vertex.Project + " (not tried)", ""}
}

// checkDay shows the day's end in both clocks: a wrong zone costs a night.
func checkDay(now time.Time) checkup {
	reset := gemini.NextPacificMidnight(now)
	return checkup{"day quota", verdictGood, fmt.Sprintf("turns at %s here, midnight Pacific", reset.Local().Format("Mon 15:04 MST")), ""}
}

// checkState looks at Redis, or says that the embedded one needs no look.
func (f *factory) checkState(ctx context.Context, c *loaded) []checkup {
	if c.Redis == "embedded" {
		return []checkup{{"Redis", verdictGood, "embedded: for `run` in one process; its queue ends with the process", ""}}
	}
	be, err := f.connect(ctx, c)
	if err != nil {
		return []checkup{{"Redis", verdictBad, redisHost(c.Redis), err.Error()}}
	}
	defer be.close()
	out := append([]checkup{{"Redis", verdictGood, redisHost(c.Redis), ""}}, redisSettings(ctx, be.rdb)...)
	out = append(out, checkScripts(ctx, be.lim), checkClock(ctx, be.rdb, f.now), be.checkMemory(ctx))
	return append(out, checkFleet(ctx, be.rdb), be.checkScheduler(ctx))
}

// redisSettings are those that lose jobs when they are wrong. A managed Redis
// may forbid CONFIG: then they are unknown, not wrong.
func redisSettings(ctx context.Context, rdb redis.UniversalClient) []checkup {
	return []checkup{
		redisSetting(ctx, rdb, "maxmemory-policy", func(v string) bool { return v == "noeviction" },
			"CONFIG SET maxmemory-policy noeviction; any other evicts jobs and locks"),
		redisSetting(ctx, rdb, "appendonly", func(v string) bool { return v == "yes" },
			"CONFIG SET appendonly yes; without it a restart loses the queue"),
	}
}

func redisSetting(ctx context.Context, rdb redis.UniversalClient, name string, good func(string) bool, remedy string) checkup {
	v, err := rdb.ConfigGet(ctx, name).Result()
	if err != nil || v[name] == "" {
		return checkup{name, verdictUnknown, "this Redis does not tell", "ask its operator: " + remedy}
	}
	if good(v[name]) {
		return checkup{name, verdictGood, v[name], ""}
	}
	return checkup{name, verdictBad, v[name], remedy}
}

// checkScripts tries what every permit needs. Rights that are lacking otherwise show
// as a Redis that cannot be reached.
func checkScripts(ctx context.Context, lim *limiter.Redis) checkup {
	refused, err := lim.Probe(ctx)
	switch {
	case err != nil:
		return checkup{"scripts", verdictBad, firstLine(err.Error()), "let the Redis user run them: ACL SETUSER NAME +@scripting ~nightshift:* ~asynq:*"}
	case len(refused) > 0:
		command, why, _ := strings.Cut(refused[0], " ")
		return checkup{"scripts", verdictBad, command + ": " + firstLine(why), "give the Redis user the right to it, or Redis the memory: ACL SETUSER NAME +" + strings.ToLower(command)}
	}
	return checkup{"scripts", verdictGood, "may do all that permits need", ""}
}

// checkClock compares our clock with Redis's. Permits go by Redis's; asynq's
// due times go by ours.
func checkClock(ctx context.Context, rdb redis.UniversalClient, now func() time.Time) checkup {
	before := now()
	t, err := rdb.Time(ctx).Result()
	if err != nil {
		return checkup{"clock", verdictUnknown, firstLine(err.Error()), ""}
	}
	off := t.Sub(before.Add(now().Sub(before) / 2)).Round(time.Millisecond)
	if off.Abs() > 2*time.Second {
		return checkup{"clock", verdictBad, fmt.Sprintf("%s away from Redis's", off.Abs()), "synchronise both hosts (NTP): jobs come too early or late"}
	}
	return checkup{"clock", verdictGood, fmt.Sprintf("%s from Redis's", off.Abs()), ""}
}

func checkFleet(ctx context.Context, rdb redis.UniversalClient) checkup {
	fleet, err := worker.Fleet(ctx, rdb)
	if err != nil {
		return checkup{"workers", verdictUnknown, firstLine(err.Error()), ""}
	}
	if len(fleet) == 0 {
		return checkup{"workers", verdictUnknown, "none at work now", "nightshift worker"}
	}
	var hosts []string
	for _, w := range fleet {
		hosts = append(hosts, fmt.Sprintf("%s:%d", w.Host, w.PID))
	}
	return checkup{"workers", verdictGood, strings.Join(hosts, ", "), ""}
}
