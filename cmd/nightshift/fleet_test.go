package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
	"nightshift/worker"
)

// benchModel is the one model of the benchmarks' project.
const benchModel = "gemini-3.5-flash-lite"

// quota is what both our configuration and the simulated Gemini are told.
type quota struct {
	rpm, inputTPM int64
	sim           []string // further flags of the simulated Gemini; the last of two holds
}

// fleet is a fleet of real processes: a Redis, the simulated Gemini as a server
// that counts exact sliding minutes, and whatever of ours a test starts.
type fleet struct {
	testing.TB
	dir     string
	env     []string
	sim     string // its URL
	rdb     redis.UniversalClient
	store   *jobs.Store
	redis   *exec.Cmd // of several servers the one that a test would break
	workers []*exec.Cmd
	all     []*exec.Cmd // started, Redis not

	redisAddr string // "" where there are several
}

// bulkAloneConf: nothing is left for calls from outside or for those above bulk.
const bulkAloneConf = "models:\n  %s: {%s, outside: 0}\n" +
	"classes:\n  interactive: {guarantee: 0, floor: 0}\n  agent: {guarantee: 0}\n"

// limits are a quota's, as a configuration spells them; none of it is zero there.
func (q quota) limits() string {
	s := fmt.Sprintf("rpm: %d", q.rpm)
	if q.inputTPM > 0 {
		s += fmt.Sprintf(", input_tpm: %d", q.inputTPM)
	}
	return s
}

// newFleet starts Redis and Gemini. conf is a format for the model and its limits.
func newFleet(b testing.TB, q quota, conf string) *fleet {
	b.Helper()
	return newFleetOn((*fleet).startRedis, b, q, conf)
}

// newFleetOn is newFleet on a Redis that is started in some other way, by the program
// that it is given. That sets what the fleet has of it, and gives its URL.
func newFleetOn(start func(f *fleet, server string) (url string), b testing.TB, q quota, conf string) *fleet {
	b.Helper()
	server, err := exec.LookPath("redis-server")
	if err != nil {
		b.Skip("no redis-server in PATH")
	}
	f := &fleet{TB: b, dir: b.TempDir()}
	f.set(start(f, server), q, conf)
	return f
}

// set starts Gemini, and configures all processes for it and for a Redis.
func (f *fleet) set(redisURL string, q quota, conf string) {
	f.env = append(os.Environ(), "NIGHTSHIFT_REDIS="+redisURL, "GEMINI_API_KEY=not-a-real-key",
		"HOME="+f.dir, "XDG_STATE_HOME="+filepath.Join(f.dir, "state"))
	f.sim = f.startSim(q)
	f.write("nightshift.yaml", fmt.Sprintf("gemini: {base_url: %q}\nrun: {model: %s}\n"+conf, f.sim, benchModel, benchModel, q.limits()))
}

// startRedis starts one as the README asks for it.
func (f *fleet) startRedis(server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	f.must(err)
	addr := l.Addr().String()
	f.must(l.Close())
	_, port, _ := net.SplitHostPort(addr)
	f.redis = exec.Command(server, "--port", port, "--bind", "127.0.0.1", "--dir", f.dir, "--appendonly", "yes", "--save", "",
		"--maxmemory-policy", "noeviction", "--logfile", filepath.Join(f.dir, "redis.log"))
	f.must(f.redis.Start())
	f.Cleanup(func() {
		_ = f.redis.Process.Kill()
		_ = f.redis.Wait()
	})
	f.redisAddr, f.rdb = addr, redis.NewClient(&redis.Options{Addr: addr})
	f.Cleanup(func() { _ = f.rdb.Close() })
	f.store = jobs.NewStore(f.rdb, jobs.StoreOptions{})
	f.await("Redis answers", 10*time.Second, func() bool { return f.rdb.Ping(context.Background()).Err() == nil })
	return "redis://" + addr + "/0"
}

// restartRedis kills it and starts it with the same files.
func (f *fleet) restartRedis() {
	f.must(f.redis.Process.Kill())
	_ = f.redis.Wait()
	again := exec.Command(f.redis.Path, f.redis.Args[1:]...)
	f.must(again.Start())
	f.redis = again
}

func (f *fleet) startSim(q quota) string {
	cmd := f.command(append([]string{"gemini-sim"}, lastOfEach(append([]string{"--listen", "127.0.0.1:0", "--model", benchModel, "--counting", "sliding_minute",
		"--rpm", fmt.Sprint(q.rpm), "--input-tpm", fmt.Sprint(q.inputTPM), "--latency", "300ms", "--per-token", "0s", "--sigma", "0.3"}, q.sim...))...)...)
	out, err := cmd.StdoutPipe()
	f.must(err)
	f.start(cmd, "sim.log")
	url, err := bufio.NewReader(out).ReadString('\n')
	f.must(err)
	return strings.TrimSpace(url)
}

// lastOfEach leaves out all but the last of flags that are there twice, which the
// command refuses. Each flag has its value behind it.
func lastOfEach(flags []string) (out []string) {
	for i := 0; i+1 < len(flags); i += 2 {
		if at := slices.Index(out, flags[i]); at >= 0 {
			out[at+1] = flags[i+1]
			continue
		}
		out = append(out, flags[i], flags[i+1])
	}
	return out
}

func TestLastOfEach(t *testing.T) {
	t.Parallel()
	got := lastOfEach([]string{"--latency", "300ms", "--sigma", "0.3", "--latency", "100ms"})
	if want := []string{"--latency", "100ms", "--sigma", "0.3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// command is this very test binary as the nightshift command (see TestMain).
func (f *fleet) command(args ...string) *exec.Cmd {
	exe, err := os.Executable()
	f.must(err)
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"nightshift"}, args...)
	cmd.Dir, cmd.Env = f.dir, f.env
	return cmd
}

// start runs a command until the benchmark ends, its standard error in a file.
func (f *fleet) start(cmd *exec.Cmd, log string) {
	file, err := os.Create(filepath.Join(f.dir, log))
	f.must(err)
	cmd.Stderr = file
	f.must(cmd.Start())
	f.all = append(f.all, cmd)
	f.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = file.Close()
	})
}

// stopAll ends what was started, so that one fleet does not slow the next one.
func (f *fleet) stopAll() {
	for _, cmd := range f.all {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func (f *fleet) startWorkers(n int) {
	for i := range n {
		cmd := f.command("worker")
		f.start(cmd, fmt.Sprintf("worker%d.log", i))
		f.workers = append(f.workers, cmd)
	}
}

// stopWorkers lets them drain and gives the CPU time that they took.
func (f *fleet) stopWorkers() (cpu time.Duration) {
	for _, w := range f.workers {
		f.must(w.Process.Signal(syscall.SIGTERM))
	}
	for _, w := range f.workers {
		if err := w.Wait(); err != nil {
			f.Logf("worker: %v", err)
		}
		cpu += w.ProcessState.UserTime() + w.ProcessState.SystemTime()
	}
	return cpu
}

// workerCPU is the CPU time that the living workers have taken; 0 where the
// system has no /proc.
func (f *fleet) workerCPU() (sum time.Duration) {
	for _, w := range f.workers {
		sum += cpuOf(w)
	}
	return sum
}

// cpuOf is the CPU time that a living process has taken; 0 where the system has
// no /proc.
func cpuOf(cmd *exec.Cmd) time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if err != nil || len(fields) < 13 {
		return 0
	}
	return time.Duration(number(fields[11])+number(fields[12])) * tick // utime, stime
}

// enqueue makes a run of n rows through the command line and gives its id. The
// rows' ids begin with the run's name.
func (f *fleet) enqueue(name string, n int, priority jobs.Priority, text func(i int) string) string {
	var rows strings.Builder
	rows.WriteString("id,text\n")
	for i := range n {
		fmt.Fprintf(&rows, "%s-%06d,%s\n", name, i, text(i))
	}
	f.write(name+".csv", rows.String())
	out, err := f.command("enqueue", name+".csv", "--prompt", "id: {{.id}}\n{{.text}}", "--name", name,
		"--priority", string(priority), "--output", "json").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		f.Fatalf("enqueue: %v: %s", err, exit.Stderr)
	}
	f.must(err)
	var report struct{ Run string }
	f.must(json.Unmarshal(out, &report))
	return report.Run
}

func (f *fleet) counts(run string) jobs.Counts {
	c, err := f.store.Counts(context.Background(), run)
	f.must(err)
	return c
}

// waits is how often the living workers have put a row back without blame.
func (f *fleet) waits() (n int64) {
	living, err := worker.Fleet(context.Background(), f.rdb)
	f.must(err)
	for _, w := range living {
		n += w.Waits
	}
	return n
}

// simCall is what the benchmarks read of the simulated Gemini's account.
type simCall struct {
	At           time.Time `json:"at"`
	ID           string    `json:"id"`
	Status       int       `json:"status"`
	Admitted     bool      `json:"admitted"`
	PromptTokens int64     `json:"prompt_tokens"`
	MicroUSD     int64     `json:"micro_usd"`
}

func (f *fleet) calls() (out []simCall) {
	resp, err := http.Get(f.sim + "/sim/calls")
	f.must(err)
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	for {
		var c simCall
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			f.Fatal(err)
		}
		out = append(out, c)
	}
}

// await polls until ok, for measurements that take seconds and more.
func (f *fleet) await(what string, most time.Duration, ok func() bool) time.Duration {
	f.Helper()
	begin := time.Now()
	for !ok() {
		if time.Since(begin) > most {
			f.Fatalf("not within %v: %s", most, what)
		}
		<-time.After(100 * time.Millisecond)
	}
	return time.Since(begin)
}

func (f *fleet) write(name, text string) {
	f.must(os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
}

func (f *fleet) must(err error) {
	if err != nil {
		f.Helper()
		f.Fatal(err)
	}
}
