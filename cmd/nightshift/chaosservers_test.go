package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
	"nightshift/worker"
)

// TestChaosSentinel kills the master of which a replica is kept and three sentinels
// watch: the fleet goes over to the replica, and on when the old master is back as
// its replica.
func TestChaosSentinel(t *testing.T) {
	t.Parallel()
	k := newChaosOn(startSentinels, t, hastyHealth)
	// What the replica had not heard of yet is gone: rows that were in hand, and permits.
	k.lost, k.orphans = 2*chaosSlots, 2*chaosSlots+8
	k.strikeEach([]strike{{name: "master killed", lasts: 8 * time.Second, do: killRedis, hits: peopleClear, redis: true}})
}

// TestChaosCluster kills the one of a cluster's three nodes on which the limiter is,
// and has it come back.
func TestChaosCluster(t *testing.T) {
	t.Parallel()
	k := newChaosOn(startNodes, t, hastyHealth)
	k.lost, k.orphans = 2*chaosSlots, 2*chaosSlots+8 // as above, by appendfsync everysec
	k.strikeEach([]strike{{name: "node killed", lasts: 5 * time.Second, do: killRedis, hits: peopleClear, redis: true}})
}

// server starts one of several Redis servers, with files of its own.
func (f *fleet) server(bin, name string, args ...string) (cmd *exec.Cmd, port int) {
	dir := filepath.Join(f.dir, name)
	f.must(os.Mkdir(dir, 0o700))
	_, text, _ := net.SplitHostPort(freeAddr(f.TB))
	port, _ = strconv.Atoi(text)
	cmd = exec.Command(bin, append(args, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--logfile", filepath.Join(dir, "redis.log"))...)
	f.must(cmd.Start())
	f.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	one := redis.NewClient(&redis.Options{Addr: addrOf(port)})
	defer one.Close()
	f.await(name+" answers", 10*time.Second, func() bool { return one.Ping(context.Background()).Err() == nil })
	return cmd, port
}

func addrOf(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// reach has the fleet, and the test, use the Redis of url.
func (f *fleet) reach(url string) {
	rdb, err := worker.PatientClient(url, 4)
	f.must(err)
	f.rdb, f.store = rdb, jobs.NewStore(rdb, jobs.StoreOptions{})
	f.Cleanup(func() {
		_ = f.rdb.Close()
		_ = f.redis.Process.Kill() // the one that was started again
		_ = f.redis.Wait()
	})
}

// startSentinels starts a master, its replica and three sentinels.
func startSentinels(f *fleet, bin string) (url string) {
	var master int
	f.redis, master = f.server(bin, "master", "--appendonly", "yes")
	f.server(bin, "replica", "--appendonly", "yes", "--replicaof", "127.0.0.1 "+strconv.Itoa(master))
	var some int
	for i := range 3 {
		conf := filepath.Join(f.dir, fmt.Sprintf("sentinel%d.conf", i)) // they rewrite it
		f.must(os.WriteFile(conf, fmt.Appendf(nil, "sentinel monitor ours 127.0.0.1 %d 2\n"+
			"sentinel down-after-milliseconds ours 1000\nsentinel failover-timeout ours 5000\n", master), 0o600))
		_, some = f.server(bin, fmt.Sprintf("sentinel%d", i), conf, "--sentinel")
	}
	s := redis.NewSentinelClient(&redis.Options{Addr: addrOf(some)})
	defer s.Close()
	f.await("the sentinels know one another and the replica", 30*time.Second, func() bool {
		m, err := s.Master(context.Background(), "ours").Result()
		return err == nil && m["num-slaves"] == "1" && m["num-other-sentinels"] == "2"
	})
	url = "redis-sentinel://" + addrOf(some) + "/0?master=ours"
	f.reach(url)
	return url
}

// startNodes starts a cluster of three.
func startNodes(f *fleet, _ string) (url string) {
	const slots = 16384
	c := startCluster(f.TB.(*testing.T), 3, "--appendonly", "yes", "--cluster-node-timeout", "2000")
	at, err := c.rdb.ClusterKeySlot(context.Background(), "{limiter:gemini/default}").Result()
	f.must(err)
	f.redis = c.nodes[int(at*3/slots)]
	f.reach(c.url())
	return c.url()
}
