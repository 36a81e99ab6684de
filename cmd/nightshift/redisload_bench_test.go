package main

import (
	"context"
	"fmt"
	"regexp"
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
