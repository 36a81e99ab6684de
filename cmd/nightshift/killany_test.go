package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestKillAnything: in a run of 5,000 rows the enqueueing command, workers, the
// scheduler and Redis (append-only file on) are killed twenty times at random and
// started again. After each the counters sum to the input; in the end each row has
// exactly one result, and the server was asked for no more than the rows, 2 % and
// what was in flight in killed workers.
func TestKillAnything(t *testing.T) {
	t.Parallel()
	const kills = 20
	rows := 5000
	if racing {
		rows = 1200 // the detector makes each of them several times as dear
	}
	k := newKiller(t, rows)
	k.enqueueUnderFire()
	for i := range kills {
		k.reach(int64(rows/10 + i*rows*8/10/kills))
		k.strike()
		k.balanced()
	}
	k.await("all rows have ended", 6*time.Minute, func() bool { return k.count().Open() == 0 })
	k.oneResultEach()
	if most := rows*102/100 + k.lost; k.asked() > most {
		t.Errorf("%d calls for %d rows, with %d in flight at kills; want at most %d", k.asked(), rows, k.lost, most)
	}
	t.Logf("killed: %s; %d calls for %d rows, %d in flight at kills", strings.Join(k.killed, " "), k.asked(), rows, k.lost)
}

// killer is a fleet of which anything may be killed.
type killer struct {
	*fleet
	rows   int
	rng    *rand.Rand
	run    string
	parts  map[string]*exec.Cmd // by name: what lives
	killed []string
	lost   int // most calls in flight in killed workers: they may be asked again
}

// slots are a worker's calls at once.
const slots = 16

func newKiller(t *testing.T, rows int) *killer {
	k := &killer{fleet: newFleet(t, quota{rpm: 1_000_000}, defaultConf), rows: rows, rng: rand.New(rand.NewPCG(7, 11)), parts: map[string]*exec.Cmd{}}
	var text strings.Builder
	text.WriteString("id,text\n")
	for i := range rows {
		fmt.Fprintf(&text, "r-%05d,thing %d\n", i, i)
	}
	k.write("rows.csv", text.String())
	for _, name := range []string{"worker1", "worker2", "scheduler"} {
		k.spawn(name)
	}
	return k
}

// spawn starts a process by its name; the numbers tell two of a kind apart.
func (k *killer) spawn(name string) {
	args := []string{strings.TrimRight(name, "12")}
	if args[0] == "worker" {
		args = append(args, "--concurrency", strconv.Itoa(slots))
	}
	cmd := k.command(args...)
	k.start(cmd, fmt.Sprintf("%s-%d.log", name, len(k.killed)))
	k.parts[name] = cmd
}

func (k *killer) enqueueCmd() *exec.Cmd {
	return k.command("enqueue", "rows.csv", "--prompt", "id: {{.id}}\n{{.text}}", "--name", "killed")
}

// enqueueUnderFire kills the command while it writes rows, and does it again.
func (k *killer) enqueueUnderFire() {
	cmd := k.enqueueCmd()
	k.must(cmd.Start())
	k.await("some rows are enqueued", time.Minute, func() bool {
		r, err := k.store.Find(context.Background(), "killed")
		k.run = r.ID
		return err == nil && k.count().Total() > 0
	})
	k.must(cmd.Process.Kill())
	_ = cmd.Wait()
	out, err := k.enqueueCmd().CombinedOutput()
	if err != nil {
		k.Fatalf("enqueue after a kill: %v\n%s", err, out)
	}
	k.balanced()
}

// reach waits until so many rows have ended.
func (k *killer) reach(ended int64) {
	k.await(fmt.Sprintf("%d rows have ended", ended), 4*time.Minute, func() bool { c := k.count(); return c.Total()-c.Open() >= ended })
}

// strike kills one part at random and starts it again.
func (k *killer) strike() {
	name := []string{"worker1", "worker2", "scheduler", "redis", "cli"}[k.rng.IntN(5)]
	k.killed = append(k.killed, name)
	switch name {
	case "cli":
		k.exportUnderFire()
	case "redis":
		k.restartRedis() // calls in flight end, and their answers are kept until it is back: none is asked again
	default:
		if name != "scheduler" {
			k.lost += slots
		}
		k.must(k.parts[name].Process.Kill())
		_ = k.parts[name].Wait()
		k.spawn(name)
	}
}

// exportUnderFire kills the command that writes results: the file of before stays.
func (k *killer) exportUnderFire() {
	out := filepath.Join(k.dir, "out.jsonl")
	before, _ := os.ReadFile(out) // not there the first time
	cmd := k.command("results", "killed", "-o", out)
	k.must(cmd.Start())
	k.must(cmd.Process.Kill())
	_ = cmd.Wait()
	if after, _ := os.ReadFile(out); !bytes.Equal(before, after) && !bytes.HasSuffix(after, []byte("\n")) {
		k.Errorf("a killed export left half a file of %d bytes", len(after))
	}
}

// count is the run's counters; a Redis that is just coming back is waited for.
func (k *killer) count() (c jobs.Counts) {
	for range 600 {
		var err error
		if c, err = k.store.Counts(context.Background(), k.run); err == nil {
			return c
		}
		<-time.After(100 * time.Millisecond)
	}
	k.Fatal("Redis does not come back")
	return c
}

// balanced wants the counters to sum to the input.
func (k *killer) balanced() {
	if n := k.count().Total(); n != int64(k.rows) {
		k.Fatalf("after %v the counters sum to %d rows, want %d", k.killed, n, k.rows)
	}
}

func (k *killer) oneResultEach() {
	k.Helper()
	cmd := k.command("results", "killed", "-o", filepath.Join(k.dir, "all.jsonl"))
	if out, err := cmd.CombinedOutput(); err != nil {
		k.Fatalf("%v\n%s", err, out)
	}
	checkComplete(k.TB.(*testing.T), filepath.Join(k.dir, "all.jsonl"), k.rows)
}

func (k *killer) asked() int { return len(k.calls()) }
