package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
	"nightshift/worker"
)

// strike is one way to break the fleet.
type strike struct {
	name  string
	lasts time.Duration
	do    func(k *chaos) (heal func())
	hits  hit
	redis bool          // Redis answers nobody meanwhile
	takes time.Duration // to recover at most; default a minute
}

// hit is what people may notice of a strike.
type hit int

const (
	notPeople   hit = iota // nothing: every call has its answer
	peopleClear            // some are refused, clearly and soon
	peopleGone             // the gateway itself is away: no promise
)

func (s strike) most() time.Duration {
	if s.takes > 0 {
		return s.takes
	}
	return time.Minute
}

// bulkStrikes break bulk: people must not notice, but where their gateway is killed.
var bulkStrikes = []strike{
	{name: "provider hangs for half of the rows", lasts: 2 * time.Second, do: providerHangs},
	{name: "worker killed", do: killWorker, takes: 3 * time.Minute},
	{name: "scheduler killed", lasts: time.Second, do: killScheduler},
	{name: "worker stopped", lasts: 3 * time.Second, do: stopWorker},
	{name: "clock 50 s behind", do: clockWrong(-50 * time.Second), takes: 3 * time.Minute},
	{name: "clock 50 s ahead", do: clockWrong(50 * time.Second), takes: 3 * time.Minute},
	{name: "scripts flushed", do: flushScripts},
	{name: "bulk's host cut off", lasts: 3 * time.Second, do: spoil(0, spoiled{cut: true})},
	{name: "bulk's host half-open", lasts: 3 * time.Second, do: spoil(0, spoiled{silent: true})},
	{name: "bulk's host far away", lasts: 2 * time.Second, do: spoil(0, spoiled{delay: 60 * time.Millisecond})},
	{name: "gateway killed", lasts: time.Second, do: killGateway, hits: peopleGone},
	{name: "bulk's line drips", lasts: 2 * time.Second, do: spoil(0, spoiled{drip: 100})},
}

// sharedStrikes break what people need too. They kill nothing that makes calls, so that
// all of the money can be accounted for.
var sharedStrikes = []strike{
	{name: "Redis killed", lasts: time.Second, do: killRedis, hits: peopleClear, redis: true},
	{name: "Redis stopped", lasts: 3 * time.Second, do: stopRedis, hits: peopleClear, redis: true},
	{name: "Redis out of memory", lasts: 3 * time.Second, do: noMemory, hits: peopleClear},
	{name: "disk full", lasts: 3 * time.Second, do: diskFull, hits: peopleClear},
	{name: "gateway's host far away", lasts: 2 * time.Second, do: spoil(1, spoiled{delay: 60 * time.Millisecond}), hits: peopleClear},
	{name: "gateway's host cut off", lasts: 3 * time.Second, do: spoil(1, spoiled{cut: true}), hits: peopleClear},
	{name: "gateway's host half-open", lasts: 3 * time.Second, do: spoil(1, spoiled{silent: true}), hits: peopleClear},
}

func providerHangs(k *chaos) func() {
	k.simulate("faults", map[string]any{"faults": []string{"hang=50%~" + bulkText}, "replace": true})
	return func() { k.simulate("faults", map[string]any{"faults": []string{}, "replace": true}) }
}

// kill ends a part at once.
func (k *chaos) kill(name string) {
	k.must(k.parts[name].Process.Kill())
	_ = k.parts[name].Wait()
}

// killWorker kills the second, whose rows asynq gives to another only after one to
// two minutes: the short form lets that time pass for them.
func killWorker(k *chaos) func() {
	k.killedWorker("worker2")
	return func() { k.spawn("worker2") }
}

func (k *chaos) killedWorker(name string) {
	k.lost += chaosSlots
	k.orphans += chaosSlots
	k.kill(name)
	if chaosLong == 0 {
		k.expireDead()
	}
}

// expireDead puts the leases back that nobody renews. Who lives does so every five
// seconds.
func (k *chaos) expireDead() {
	ctx, key := context.Background(), "asynq:{"+jobs.Queue(jobs.Normal, k.lane())+"}:lease"
	before, err := k.rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
	k.must(err)
	<-time.After(6 * time.Second)
	for _, z := range before {
		if now, err := k.rdb.ZScore(ctx, key, z.Member.(string)).Result(); err == nil && now == z.Score {
			k.must(k.rdb.ZAddXX(ctx, key, redis.Z{Member: z.Member, Score: 1}).Err())
		}
	}
}

func killScheduler(k *chaos) func() {
	k.kill("scheduler")
	return func() { k.spawn("scheduler") }
}

func killGateway(k *chaos) func() {
	k.orphans += 8 // that people had under way
	k.kill("gateway")
	return func() { k.spawn("gateway") }
}

func stopWorker(k *chaos) func() { return k.stopped(k.parts["worker1"]) }

func stopRedis(k *chaos) func() { return k.stopped(k.redis) }

func (k *chaos) stopped(cmd *exec.Cmd) func() {
	k.must(cmd.Process.Signal(syscall.SIGSTOP))
	return func() { k.must(cmd.Process.Signal(syscall.SIGCONT)) }
}

// clockWrong moves a worker to a host whose clock is wrong.
func clockWrong(ahead time.Duration) func(k *chaos) func() {
	return func(k *chaos) func() {
		k.must(k.parts["worker2"].Process.Signal(syscall.SIGTERM))
		_ = k.parts["worker2"].Wait()
		k.spawn("worker2", clockVar+"="+ahead.String())
		k.await("the worker on the wrong clock is there", 30*time.Second, func() bool { return k.serves("worker2") })
		fleet, err := worker.Fleet(context.Background(), k.rdb)
		k.must(err)
		for _, w := range fleet {
			if off := time.Until(w.Started); w.PID == k.parts["worker2"].Process.Pid && (off-ahead).Abs() > 30*time.Second {
				k.Errorf("its clock is wrong by %v, want %v", off, ahead)
			}
		}
		return func() {}
	}
}

func flushScripts(k *chaos) func() {
	k.must(k.rdb.ScriptFlush(context.Background()).Err())
	return func() {}
}

func spoil(host int, s spoiled) func(k *chaos) func() {
	return func(k *chaos) func() {
		k.hosts[host].set(s)
		return func() { k.hosts[host].set(spoiled{}) }
	}
}

// killRedis ends its process; what it has written stays with the system. With everysec
// it puts writing off, for up to 2 s, while the disk is busy with an earlier fsync: what
// is lost then is Redis's bargain, and nothing that could be held against the fleet.
func killRedis(k *chaos) func() {
	k.must(k.rdb.ConfigSet(context.Background(), "appendfsync", "no").Err())
	k.must(k.redis.Process.Kill())
	_ = k.redis.Wait()
	return func() {
		again := exec.Command(k.redis.Path, k.redis.Args[1:]...)
		k.must(again.Start())
		k.redis = again
	}
}

// noMemory leaves Redis less than it has: it refuses to write.
func noMemory(k *chaos) func() {
	ctx := context.Background()
	k.must(k.rdb.ConfigSet(ctx, "maxmemory", "1mb").Err())
	return func() { k.must(k.rdb.ConfigSet(ctx, "maxmemory", "0").Err()) }
}

// diskFull lets no file of Redis, the scheduler or the first worker grow. That they
// are not killed for it, as is usual, they have from newChaos.
func diskFull(k *chaos) func() {
	all := []*exec.Cmd{k.redis, k.parts["scheduler"], k.parts["worker1"]}
	for _, cmd := range all {
		k.fileSize(cmd, "1024")
	}
	return func() {
		for _, cmd := range all {
			k.fileSize(cmd, "unlimited")
		}
	}
}

// fileSize bounds the files that a process may write, in bytes.
func (k *chaos) fileSize(cmd *exec.Cmd, most string) {
	out, err := exec.Command("prlimit", "--pid", strconv.Itoa(cmd.Process.Pid), fmt.Sprintf("--fsize=%s:unlimited", most)).CombinedOutput()
	if err != nil {
		k.Fatalf("prlimit: %v: %s", err, out)
	}
}
