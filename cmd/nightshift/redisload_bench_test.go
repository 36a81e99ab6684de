package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// redisLoad is what Redis had done at a moment, by its own account.
type redisLoad struct {
	at         time.Time
	cpu        float64 // seconds, system and user
	scripts    float64 // calls
	scriptTime float64 // seconds, what the scripts called included
	commands   float64 // those inside of scripts included
	aof        float64 // bytes
}

var scriptStats = regexp.MustCompile(`cmdstat_(?:evalsha|eval|fcall):calls=(\d+),usec=(\d+)`)

func (f *fleet) redisLoad() redisLoad {
	info, err := f.rdb.Info(context.Background(), "cpu", "stats", "commandstats", "persistence").Result()
	f.must(err)
	l := redisLoad{at: time.Now(), cpu: infoNumber(info, "used_cpu_sys") + infoNumber(info, "used_cpu_user"), aof: infoNumber(info, "aof_current_size")}
	for _, m := range scriptStats.FindAllStringSubmatch(info, -1) {
		l.scripts += number(m[1])
		l.scriptTime += number(m[2]) / 1e6
	}
	for line := range strings.Lines(info) {
		if _, after, ok := strings.Cut(line, ":calls="); ok {
			n, _, _ := strings.Cut(after, ",")
			l.commands += number(n)
		}
	}
	return l
}

var commandStats = regexp.MustCompile(`cmdstat_(\S+):calls=(\d+),usec=(\d+)`)

// commandLoad is how often a command was given, and the seconds that it took.
type commandLoad struct{ calls, seconds float64 }

func (f *fleet) commands() map[string]commandLoad {
	info, err := f.rdb.Info(context.Background(), "commandstats").Result()
	f.must(err)
	out := map[string]commandLoad{}
	for _, m := range commandStats.FindAllStringSubmatch(info, -1) {
		out[m[1]] = commandLoad{number(m[2]), number(m[3]) / 1e6}
	}
	return out
}

// dearest names the commands that took most time between two looks, with their part
// of all of it; what scripts give is in theirs and by itself.
func dearest(before, after map[string]commandLoad, n int) string {
	var names []string
	all := 0.0
	for name, c := range after {
		names = append(names, name)
		all += c.seconds - before[name].seconds
	}
	took := func(name string) float64 { return after[name].seconds - before[name].seconds }
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(took(b), took(a)), cmp.Compare(a, b)) })
	var out []string
	for _, name := range names[:min(n, len(names))] {
		out = append(out, fmt.Sprintf("%s (%.0f times, %.0f %%)", name, after[name].calls-before[name].calls, 100*took(name)/max(all, 1e-9)))
	}
	return strings.Join(out, ", ")
}

func infoNumber(info, name string) float64 {
	_, after, _ := strings.Cut(info, name+":")
	v, _, _ := strings.Cut(after, "\r\n")
	return number(v)
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return -1 // shows in any table
	}
	return v
}

// since gives what was done between two looks, in a line for people.
func (l redisLoad) since(before redisLoad) string {
	s := l.at.Sub(before.at).Seconds()
	return fmt.Sprintf("%.1f %% of a core (scripts alone %.1f %%), %.0f scripts/s of %.0f µs, %.0f commands/s",
		100*(l.cpu-before.cpu)/s, 100*(l.scriptTime-before.scriptTime)/s, (l.scripts-before.scripts)/s,
		1e6*(l.scriptTime-before.scriptTime)/max(1, l.scripts-before.scripts), (l.commands-before.commands)/s)
}

// perJob is Redis's time for each of n jobs.
func (l redisLoad) perJob(before redisLoad, n int64) string {
	return fmt.Sprintf("%.0f µs, %.1f scripts", 1e6*(l.cpu-before.cpu)/float64(max(1, n)), (l.scripts-before.scripts)/float64(max(1, n)))
}
