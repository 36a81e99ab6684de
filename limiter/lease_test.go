package limiter

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// holderEnv makes the test binary a holder: "socket project".
const holderEnv = "LIMITER_TEST_HOLDER"

// hold is a process that has permits: it does what its standard input says, line by
// line, "acquire ID" or "settle ID", each with a time in ms, and answers each.
func hold(spec string) {
	var socket, project string
	if _, err := fmt.Sscan(spec, &socket, &project); err != nil {
		panic(err)
	}
	var now int64
	lane := Lane{Provider: "gemini", Project: project, Region: "global", Model: "flash"}
	r := NewRedis(redis.NewClient(&redis.Options{Network: "unix", Addr: socket}), lane.Scope(),
		RedisOptions{Now: func() time.Time { return time.UnixMilli(now) }, Timeout: time.Minute})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var what, id string
		_, err := fmt.Sscan(in.Text(), &what, &id, &now)
		if err == nil && what == "acquire" {
			_, err = r.Acquire(context.Background(), Request{ID: id, Lane: lane, Class: "bulk", Amounts: held, Lease: 10 * time.Second})
		} else if err == nil {
			err = r.Settle(context.Background(), Settlement{ID: id, Lane: lane, Outcome: Settled, Used: usedLate})
		}
		fmt.Fprintln(os.Stdout, err)
	}
}

var held, usedLate = Amounts{Requests: 1, InputTokens: 100, MicroUSD: 500}, Amounts{Requests: 1, InputTokens: 130, MicroUSD: 900}

// holder is such a process.
type holder struct {
	*bench
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

func (b *bench) holder() *holder {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderEnv+"="+realRedis+" "+b.scope.Project)
	in, err := cmd.StdinPipe()
	b.must(err)
	out, err := cmd.StdoutPipe()
	b.must(err)
	b.must(cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &holder{b, cmd, in, bufio.NewScanner(out)}
}

func (h *holder) say(what, id string) {
	h.Helper()
	if _, err := fmt.Fprintln(h.in, what, id, h.now.UnixMilli()); err != nil {
		h.Fatal(err)
	}
}

func (h *holder) answer() {
	h.Helper()
	if !h.out.Scan() || h.out.Text() != "<nil>" {
		h.Fatalf("a holder says %q, %v", h.out.Text(), h.out.Err())
	}
}

func (h *holder) signal(s syscall.Signal) {
	h.Helper()
	h.must(h.cmd.Process.Signal(s))
}

func leaseBench(t *testing.T, concurrency int64) *bench {
	if realRedis == "" {
		t.Skip("no redis-server is installed") // TestMain sees to it under CI
	}
	b := newBench(t, "real")
	b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, Nodes: map[string]Limits{"tenant/*": {Concurrency: 50}},
		Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 100, InputTPM: 100_000, USDPerDay: 1_000_000, Concurrency: concurrency}, Lend: "now"}}}))
	return b
}

// TestKilledHolders is rule 5: what processes held that were killed comes back with
// the lease, all of it, and nothing is left of them after an hour.
func TestKilledHolders(t *testing.T) {
	t.Parallel()
	b := leaseBench(t, 9)
	for i := range 3 {
		h := b.holder()
		for j := range 3 {
			h.say("acquire", fmt.Sprintf("killed-%d-%d", i, j))
			h.answer()
			b.wait(600 * time.Millisecond) // apart, since bulk is smoothed
		}
		h.signal(syscall.SIGKILL)
		_ = h.cmd.Wait()
	}
	b.refused(b.request("interactive", held), ReasonQuota)
	b.wait(10 * time.Second)
	if n := b.used("concurrency"); n != 0 {
		t.Fatalf("%d calls of the dead after their lease", n)
	}
	if in, money := b.used("input_tpm"), b.used("usd_per_day"); in != 900 || money != 4500 {
		t.Errorf("%d tokens and %d µ$ stay charged; want 900 and 4500", in, money)
	}
	for range 9 {
		p := b.granted(b.request("interactive", held))
		b.settle(p, held)
	}
	b.wait(time.Hour + time.Minute)
	r := b.gate.(*Redis)
	b.state()
	keys := r.lane(b.lane).keys
	if n := r.rdb.HLen(b.Context(), keys[2]).Val() + r.rdb.ZCard(b.Context(), keys[3]).Val(); n != 0 {
		t.Errorf("%d permits and leases are left", n)
	}
}

// TestStoppedHolder is rule 6: a process that was stopped beyond its lease settles
// late. What it used is corrected; the place that is another's by then is not given
// back a second time.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	b := leaseBench(t, 1)
	h := b.holder()
	h.say("acquire", "stopped")
	h.answer()
	h.signal(syscall.SIGSTOP)
	b.wait(10500 * time.Millisecond)
	second := b.granted(b.request("bulk", held)) // of the same class: what one class gives back is never another's
	h.say("settle", "stopped")                   // nobody listens
	b.refused(b.request("interactive", held), ReasonQuota)
	h.signal(syscall.SIGCONT)
	h.answer()
	if in, money, n := b.used("input_tpm"), b.used("usd_per_day"), b.used("concurrency"); in != 230 || money != 1400 || n != 1 {
		t.Errorf("%d tokens, %d µ$ and %d calls in use; want 230, 1400 and 1", in, money, n)
	}
	b.refused(b.request("interactive", held), ReasonQuota)
	h.say("settle", "stopped") // once more changes nothing
	h.answer()
	b.settle(second, held)
	if in, n := b.used("input_tpm"), b.used("concurrency"); in != 230 || n != 0 {
		t.Errorf("%d tokens and %d calls in use; want 230 and 0", in, n)
	}
}
