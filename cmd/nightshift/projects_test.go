package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/genai"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// TestProjectsOnCluster: two provider projects work side by side on a Redis Cluster of
// three nodes. What the limiter keeps of each is in one slot, these slots are of two
// nodes, and neither project's rows reach the other's provider.
func TestProjectsOnCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	shop, news := newProject(t, c, "shop"), newProject(t, c, "news")
	for _, p := range []*project{shop, news} {
		p.begin()
	}
	for _, p := range []*project{shop, news} {
		p.askAndWait()
	}
	keys := c.keys(t)
	at := []string{keys.node(t, "{limiter:gemini/shop}"), keys.node(t, "{limiter:gemini/news}")}
	if at[0] == at[1] {
		t.Errorf("both projects' limits are on %s", at[0])
	}
	shop.wantOnly("news")
	news.wantOnly("shop")
}

// project is a provider project with processes, a provider and limits of its own.
type project struct {
	*fleet
	shared             *redis.ClusterClient
	name, gateway, run string
}

const projectRows = 60

func newProject(t *testing.T, c *cluster, name string) *project {
	p := &project{fleet: &fleet{TB: t, dir: t.TempDir()}, shared: c.rdb, name: name}
	p.set(c.url(), quota{rpm: 3000}, defaultConf)
	p.env = append(p.env, "NIGHTSHIFT_GEMINI_PROJECT="+name)
	p.store = jobs.NewStore(c.rdb, jobs.StoreOptions{})
	return p
}

func (p *project) begin() {
	addr := freeAddr(p)
	p.gateway = "http://" + addr
	p.start(p.command("gateway", "--listen", addr), "gateway.log")
	p.start(p.command("scheduler"), "scheduler.log")
	p.startWorkers(1)
	p.run = p.enqueue(p.name, projectRows, jobs.Normal, func(int) string { return "one lamp" })
	p.await(p.name+"'s gateway is up", 30*time.Second, func() bool { return dials(addr) })
}

// askAndWait has somebody ask while the rows are worked.
func (p *project) askAndWait() {
	secret, _, err := gateway.NewKeys(p.shared, nil).Add(context.Background(), gateway.Identity{Name: "chat", Project: p.name, Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: "acme"}})
	p.must(err)
	client := (&night{fleet: p.fleet}).sdk(p.gateway, secret)
	for i := range 5 {
		_, err := client.Models.GenerateContent(context.Background(), benchModel, genai.Text(fmt.Sprintf("id: %s-chat-%d\nIs it there?", p.name, i)), nil)
		p.must(err)
	}
	p.await(p.name+"'s rows have ended", 2*time.Minute, func() bool { return p.counts(p.run)[jobs.Done] == projectRows })
}

// wantOnly wants each row and each question once, and nothing of another's.
func (p *project) wantOnly(other string) {
	calls := p.calls()
	if n := len(of(calls, p.name+"-")); n != projectRows+5 || len(of(calls, other)) > 0 {
		p.Errorf("%s's provider was asked %d times, want %d, and %d times for %s", p.name, n, projectRows+5, len(of(calls, other)), other)
	}
	if refused := refusals(calls); refused > 0 {
		p.Errorf("%s's provider refused %d calls", p.name, refused)
	}
}

// cluster is a Redis Cluster of masters.
type cluster struct {
	addrs []string
	nodes []*exec.Cmd // as addrs
	rdb   *redis.ClusterClient
}

func (c *cluster) url() string { return "redis-cluster://" + strings.Join(c.addrs, ",") }

// startCluster starts n masters with a part of the slots each, and further arguments.
func startCluster(t *testing.T, n int, args ...string) *cluster {
	t.Helper()
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server in PATH")
	}
	c, buses := &cluster{}, []string{}
	for range n {
		addr, bus := freeAddr(t), freeAddr(t)
		_, port, _ := net.SplitHostPort(addr)
		_, busPort, _ := net.SplitHostPort(bus)
		dir := t.TempDir()
		cmd := exec.Command(server, append(args, "--port", port, "--cluster-port", busPort, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--cluster-enabled", "yes",
			"--maxmemory-policy", "noeviction", "--logfile", filepath.Join(dir, "redis.log"))...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		c.addrs, c.nodes, buses = append(c.addrs, addr), append(c.nodes, cmd), append(buses, busPort)
	}
	c.join(t, buses)
	c.rdb = redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.addrs, MaxRedirects: 20})
	t.Cleanup(func() { _ = c.rdb.Close() })
	return c
}

// join gives each node its slots and acquaints it with the first.
func (c *cluster) join(t *testing.T, buses []string) {
	t.Helper()
	ctx := context.Background()
	host, first, _ := net.SplitHostPort(c.addrs[0])
	var nodes []*redis.Client
	for i, addr := range c.addrs {
		node := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 50, MaxRetryBackoff: 100 * time.Millisecond})
		defer node.Close()
		nodes = append(nodes, node)
		if err := node.ClusterAddSlotsRange(ctx, i*16384/len(c.addrs), (i+1)*16384/len(c.addrs)-1).Err(); err != nil {
			t.Fatal(err)
		}
		if err := node.Do(ctx, "CLUSTER", "MEET", host, first, buses[0]).Err(); i > 0 && err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range nodes {
		for begin := time.Now(); !c.whole(node); <-time.After(50 * time.Millisecond) {
			if time.Since(begin) > 30*time.Second {
				t.Fatal("the cluster does not come together")
			}
		}
	}
}

// whole tells whether a node knows all the others and all slots.
func (c *cluster) whole(node *redis.Client) bool {
	info, err := node.ClusterInfo(context.Background()).Result()
	return err == nil && strings.Contains(info, "cluster_state:ok") && infoNumber(info, "cluster_known_nodes") == float64(len(c.addrs))
}

// clusterKeys are the keys of each node.
type clusterKeys map[string][]string

func (c *cluster) keys(t *testing.T) clusterKeys {
	t.Helper()
	out := clusterKeys{}
	for _, addr := range c.addrs {
		node := redis.NewClient(&redis.Options{Addr: addr})
		keys, err := node.Keys(context.Background(), "*").Result()
		_ = node.Close()
		if err != nil || len(keys) == 0 {
			t.Fatalf("%s has %d keys (%v): nothing of the work is there", addr, len(keys), err)
		}
		out[addr] = keys
	}
	return out
}

// node is the only one that has keys with a hash tag; there have to be several.
func (k clusterKeys) node(t *testing.T, tag string) string {
	t.Helper()
	var at []string
	for addr, keys := range k {
		if n := len(slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !strings.Contains(key, tag) })); n > 5 {
			at = append(at, addr)
		} else if n > 0 {
			t.Errorf("%s has %d keys of %s only", addr, n, tag)
		}
	}
	if len(at) != 1 {
		t.Fatalf("keys of %s are on %q, want one node", tag, at)
	}
	return at[0]
}
