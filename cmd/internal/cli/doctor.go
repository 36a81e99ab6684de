package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
	"nightshift/scheduler"
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
	verdictNote    verdict = "note"
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
	list := slices.Concat([]checkup{c.checkFile(), c.checkModelsSet(), c.checkKey(), checkDay(f.now()), c.checkZones()}, c.checkPrices(f.now()),
		c.checkWorkerSettings(), c.checkPorts(), []checkup{c.checkTold()}, f.checkState(ctx, c))
	bad, err := f.printCheckups(list)
	if err != nil {
		return err
	}
	if bad > 0 {
		return &codedError{exitError, fmt.Errorf("%s to mend", plural(bad, "thing"))}
	}
	return nil
}

// printCheckups prints what was looked at, and below it what is to be done, the worst
// first: on one line with the rest it would not fit a screen.
func (f *factory) printCheckups(list []checkup) (bad int, err error) {
	short, long := newTable("CHECK", "", "IS"), newTable("CHECK", "", "IS", "REMEDY")
	var mend, see []string
	for _, k := range list {
		short.row(k.What, k.Verdict, k.Is)
		long.row(k.What, k.Verdict, k.Is, k.Remedy)
		switch {
		case k.Verdict == verdictBad:
			bad++
			mend = append(mend, "- "+k.What+": "+k.Remedy)
		case k.Remedy != "":
			see = append(see, "- "+k.What+": "+k.Remedy)
		}
	}
	if f.opts.output == "plain" {
		return bad, f.print(long, list)
	}
	if err := f.print(short, list); err != nil || f.opts.output == "json" {
		return bad, err
	}
	for _, part := range []struct {
		head  string
		lines []string
	}{{"to mend", mend}, {"to think of", see}} {
		if len(part.lines) > 0 {
			fmt.Fprintf(f.Out, "\n%s\n%s\n", part.head, strings.Join(part.lines, "\n"))
		}
	}
	return bad, nil
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
	out := slices.Concat([]checkup{{"Redis", verdictGood, redisHost(c.Redis), ""}, checkRedisOpen(c.Redis)}, checkServer(ctx, be.rdb), redisSettings(ctx, be.rdb))
	out = append(out, checkScripts(ctx, be.lim), checkRights(ctx, be.rdb), checkClock(ctx, be.rdb, f.now), be.checkMemory(ctx))
	out = append(out, be.checkTaught(ctx)...)
	out = append(out, be.checkKeyInUse(ctx)...)
	return append(out, be.checkFleet(ctx), be.checkGateways(ctx, f.now()), be.checkScheduler(ctx))
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

// checkTaught compares limits to what the provider's refusals say.
func (b *backend) checkTaught(ctx context.Context) []checkup {
	lanes, err := b.laneStates(ctx, "")
	if err == nil {
		var bypass []scheduler.BypassEstimate
		if bypass, err = b.control().Bypass(ctx); err == nil {
			return taught(lanes, bypass)
		}
	}
	return []checkup{{"limits", verdictUnknown, firstLine(err.Error()), ""}}
}

// checkGateways looks whether a gateway was heard of; not every fleet has one.
func (b *backend) checkGateways(ctx context.Context, now time.Time) checkup {
	seen, err := gemini.MeterProcesses(ctx, b.rdb, b.conf.scope())
	if err != nil {
		return checkup{"gateways", verdictUnknown, firstLine(err.Error()), ""}
	}
	alive := slices.DeleteFunc(seen, func(p gemini.MeterProcess) bool {
		return !strings.HasPrefix(p.Name, "gateway:") || now.Sub(p.Last) > 15*time.Second
	})
	if len(alive) == 0 {
		return checkup{"gateways", verdictUnknown, "none at work now", "nightshift gateway, where people call Gemini through it"}
	}
	return checkup{"gateways", verdictGood, plural(len(alive), "gateway") + " at work", ""}
}

// checkFleet looks whether somebody works, and whether all go by the same limits.
func (b *backend) checkFleet(ctx context.Context) checkup {
	fleet, err := worker.Fleet(ctx, b.rdb)
	if err != nil {
		return checkup{"workers", verdictUnknown, firstLine(err.Error()), ""}
	}
	if fleet = b.living(fleet); len(fleet) == 0 {
		if open, err := b.waitingRows(ctx); err == nil && open > 0 {
			return checkup{"workers", verdictBad, fmt.Sprintf("none at work, and %s wait", plural(int(open), "row")), "nightshift worker"}
		}
		return checkup{"workers", verdictUnknown, "none at work now", "nightshift worker"}
	}
	if apart := fleet[0].Disagree(fleet); len(apart) > 0 {
		return checkup{"workers", verdictBad, apart[0], "start them anew with the same configuration"}
	}
	var hosts []string
	for _, w := range fleet {
		hosts = append(hosts, fmt.Sprintf("%s:%d", w.Host, w.PID))
	}
	return checkup{"workers", verdictGood, strings.Join(hosts, ", "), ""}
}
