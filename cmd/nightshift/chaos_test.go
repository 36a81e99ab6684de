package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gateway"
	"nightshift/scheduler"
)

var (
	chaosLong time.Duration // 0: the short form
	chaosSeed = flag.Uint64("seed", 1, "of the strikes of TestChaos with -long")
	chaosOnly = flag.String("strikes", "", "only those of TestChaos whose names match the `REGEXP`")
)

func init() {
	flag.BoolFunc("long", "strike at random for an hour, or for a `TIME`", func(s string) (err error) {
		if chaosLong = time.Hour; s != "true" {
			chaosLong, err = time.ParseDuration(s)
		}
		return err
	})
}

// TestChaos breaks a fleet of real processes again and again while bulk runs and
// people ask, and looks after each strike whether everything holds that has to (see
// chaosinvariants_test.go). The short form strikes once in each way, in two fleets
// beside one another; -long strikes one fleet at random.
func TestChaos(t *testing.T) {
	t.Parallel()
	if chaosLong > 0 {
		k := newChaos(t, "")
		t.Logf("seed %d, %v", *chaosSeed, chaosLong)
		k.strikeAtRandom(chaosLong, rand.New(rand.NewPCG(*chaosSeed, 9)), chosen(t, slices.Concat(bulkStrikes, sharedStrikes)))
		k.finish()
		k.account()
		return
	}
	t.Run("Bulk", func(t *testing.T) {
		t.Parallel()
		newChaos(t, hastyHealth).strikeEach(chosen(t, bulkStrikes))
	})
	t.Run("Shared", func(t *testing.T) {
		t.Parallel()
		newChaos(t, hastyHealth).strikeEach(chosen(t, sharedStrikes))
	})
}

// chosen are the strikes that -strikes names.
func chosen(t *testing.T, all []strike) []strike {
	only, err := regexp.Compile(*chaosOnly)
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s strike) bool { return !only.MatchString(s.name) })
	if len(all) == 0 {
		t.Skip("no strike is so called")
	}
	return all
}

const (
	chaosRPM   = 900
	chaosSlots = 16 // calls at once of each worker
	chaosRows  = 60 // a run
	askEvery   = 400 * time.Millisecond
)

// hastyHealth lets a pause begin and end within seconds.
const hastyHealth = "health: {over: 10s, good: 2, ramp: 5s, refusals: 20}\n"

// chaosConf follows the models. Calls that hang are given up after a time in which
// the short form can see it.
const chaosConf = "spend: {usd_per_month: 1000}\nworker: {call_timeout: 15s}\ngateway: {leave: 0s}\n"

// chaosSim prices calls as the price book does, so that both sides count the money.
const chaosSim = "models:\n- {name: %s, limits: {rpm: %d, input_tpm: %d}, price: {input: 0.30, cached: 0.03, output: 2.50}}\n"

// chaos is a fleet on two hosts: each has its own way to Redis. The first has a
// worker and the scheduler, the second a worker and the gateway.
type chaos struct {
	*night
	began   time.Time
	hosts   [2]*badLine          // nil: straight
	parts   map[string]*exec.Cmd // what lives, by name
	spawned int
	control *scheduler.Control
	chat    *people
	stop    func() // nobody asks any more

	runs    []chaosRun
	struck  []struck
	lost    int // most calls in flight in workers that were killed
	orphans int // most permits that are left by what was killed
}

type chaosRun struct {
	name, id string
}

// struck is a line of the account.
type struck struct {
	at              time.Duration // since the beginning
	what            string
	lasted          time.Duration
	recovered       time.Duration // after it was healed, until everything held again
	asked, unheard  int           // people's calls that began meanwhile, and those that got no answer of a model
	longest         time.Duration // that one of them took
	last            string        // what was well last
	bulkWentOn      int64         // rows that ended meanwhile
	firstComplaints []string
}

// hostOf is where a part runs.
func hostOf(name string) int {
	if name == "worker2" || name == "gateway" {
		return 1
	}
	return 0
}

func newChaos(t *testing.T, conf string) *chaos {
	return newChaosOn((*fleet).startRedis, t, conf)
}

// newChaosOn begins one on a Redis that is started in its own way. One of several
// servers has its clients know their addresses, and so no bad lines between.
func newChaosOn(start func(f *fleet, server string) string, t *testing.T, conf string) *chaos {
	signal.Ignore(syscall.SIGXFSZ) // what is started takes it over: a write that finds the disk full is an error then, not death
	sim := filepath.Join(t.TempDir(), "sim.yaml")
	q := quota{rpm: chaosRPM, inputTPM: chaosRPM * 100, sim: []string{"--sim-config", sim}}
	write(t, sim, fmt.Sprintf(chaosSim, benchModel, q.rpm, q.inputTPM))
	f := newFleetOn(start, t, q, defaultConf+chaosConf+conf)
	k := &chaos{night: nightOf(f), began: time.Now(), parts: map[string]*exec.Cmd{}}
	if f.redisAddr != "" {
		k.hosts = [2]*badLine{newBadLine(t, f.redisAddr), newBadLine(t, f.redisAddr)}
	}
	t.Cleanup(k.sayLogs)
	k.control = &scheduler.Control{Redis: k.rdb, Limiter: k.limits, Store: k.store, Scope: k.scope}
	addr := freeAddr(t)
	k.gateway = "http://" + addr
	for _, name := range []string{"gateway", "worker1", "worker2", "scheduler"} {
		k.spawn(name)
	}
	k.await("the gateway is up", 30*time.Second, func() bool { return dials(addr) })
	k.comePeople()
	k.await("people are answered", 30*time.Second, func() bool { return k.answeredSince(k.began) })
	k.backlog()
	k.await("bulk runs", time.Minute, func() bool { return k.ended() > 0 })
	return k
}

// spawn starts a part on its host, with what else is given in its environment.
func (k *chaos) spawn(name string, env ...string) {
	args := []string{strings.TrimRight(name, "12")}
	switch args[0] {
	case "worker":
		args = append(args, "--concurrency", strconv.Itoa(chaosSlots))
	case "gateway":
		args = append(args, "--listen", strings.TrimPrefix(k.gateway, "http://"))
	}
	host := hostOf(name)
	cmd := k.command(args...)
	cmd.Env = slices.Concat(cmd.Env, []string{"XDG_STATE_HOME=" + filepath.Join(k.dir, fmt.Sprintf("state%d", host))}, env)
	if line := k.hosts[host]; line != nil {
		cmd.Env = append(cmd.Env, "NIGHTSHIFT_REDIS="+line.url())
	}
	k.spawned++
	k.start(cmd, fmt.Sprintf("%s-%d.log", name, k.spawned))
	k.parts[name] = cmd
}

// comePeople lets somebody ask at a steady rate until stop.
func (k *chaos) comePeople() {
	ctx, cancel := context.WithCancel(context.Background())
	k.letIn()
	k.chat = k.people(k.sdk(k.gateway, chaosKey))
	ended := background(func() { k.chat.steadily(ctx, askEvery) })
	k.stop = func() { cancel(); <-ended }
	k.Cleanup(k.stop)
}

// chaosKey is one that people had before there was a gateway.
const chaosKey = "a-key-of-people-that-was-there-before"

// letIn tells the gateways who comes with chaosKey.
func (k *chaos) letIn() {
	_, err := gateway.NewKeys(k.rdb, nil).Adopt(context.Background(), chaosKey,
		gateway.Identity{Name: "chat", Project: k.scope.Project, Class: "interactive", Feature: "chat"})
	k.must(err)
}

// backlog enqueues another run where little is left to do.
func (k *chaos) backlog() {
	for k.open() < chaosRows/2 {
		name := fmt.Sprintf("c%02d", len(k.runs)+1)
		k.runs = append(k.runs, chaosRun{name, k.enqueue(name, chaosRows, jobs.Normal, func(int) string { return bulkText })})
	}
}

// bulkText is in the prompt of every row, and in nobody else's.
const bulkText = "a lamp of bulk"

func (k *chaos) strikeAtRandom(span time.Duration, rng *rand.Rand, strikes []strike) {
	for end := k.began.Add(span); time.Now().Before(end); {
		s := strikes[rng.IntN(len(strikes))]
		k.strike(s, time.Duration(float64(s.lasts)*(0.5+4*rng.Float64())))
	}
}

// strikeEach does them one after another, to the end.
func (k *chaos) strikeEach(strikes []strike) {
	for _, s := range strikes {
		k.strike(s, s.lasts)
	}
	k.finish()
	k.account()
}

// strike does one, heals it, and waits until everything holds again.
func (k *chaos) strike(s strike, lasts time.Duration) {
	k.backlog()
	began, ended := time.Now(), k.ended()
	heal := s.do(k)
	<-time.After(lasts)
	meanwhile := k.endedWhere(s)
	heal()
	healed := time.Now()
	line := struck{at: began.Sub(k.began), what: s.name, lasted: healed.Sub(began), bulkWentOn: max(0, meanwhile-ended)}
	line.recovered = k.await("all is well after: "+s.name, s.most(), func() bool {
		why := k.unwell(healed)
		if why != "" {
			line.last = why
		}
		return why == ""
	})
	k.checkPeople(s, began, healed, &line)
	k.struck = append(k.struck, line)
	k.checkNow(s.name)
}

// finish lets all rows end, and wants all of it right in the end.
func (k *chaos) finish() {
	k.await("all rows have ended", 5*time.Minute, func() bool { return k.open() == 0 })
	k.stop()
	k.checkEnd()
}

// account prints what happened.
func (k *chaos) account() {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tSTRIKE\tLASTED\tWELL AFTER\tASKED\tNO ANSWER\tLONGEST\tROWS MEANWHILE\tWAS WELL LAST")
	for _, s := range k.struck {
		fmt.Fprintf(w, "%.1fs\t%s\t%.1fs\t%.1fs\t%d\t%d\t%.1fs\t%d\t%s\n", s.at.Seconds(), s.what, s.lasted.Seconds(), s.recovered.Seconds(),
			s.asked, s.unheard, s.longest.Seconds(), s.bulkWentOn, s.last)
	}
	k.must(w.Flush())
	calls := k.calls()
	k.Logf("%d strikes in %.0f s; %d rows, %d calls for them; %d calls of people\n%s", len(k.struck), time.Since(k.began).Seconds(),
		len(k.runs)*chaosRows, len(of(calls, "c"))-len(of(calls, "chat")), len(of(calls, "chat")), b.String())
	for _, s := range k.struck {
		for _, why := range s.firstComplaints {
			k.Logf("%s: %s", s.what, why)
		}
	}
}

// sayLogs gives the end of each process's log when something went wrong.
func (k *chaos) sayLogs() {
	if !k.Failed() {
		return
	}
	logs, err := filepath.Glob(filepath.Join(k.dir, "*.log"))
	k.must(err)
	for _, name := range logs {
		text, err := os.ReadFile(name)
		k.must(err)
		k.Logf("%s:\n%s", filepath.Base(name), text[max(0, len(text)-4000):])
	}
}

// steadily asks every so often, whether or not earlier answers are there.
func (p *people) steadily(ctx context.Context, every time.Duration) {
	var all []<-chan struct{}
	for ctx.Err() == nil {
		all = append(all, background(func() { p.ask(context.WithoutCancel(ctx)) }))
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
	for _, a := range all {
		<-a
	}
}

// counts of all runs together, as Redis has them.
func (k *chaos) totals() (sum jobs.Counts, err error) {
	for _, r := range k.runs {
		c, err := k.store.Counts(context.Background(), r.id)
		if err != nil {
			return sum, err
		}
		for state, n := range c {
			sum[state] += n
		}
	}
	return sum, nil
}

func (k *chaos) open() int64 {
	c, err := k.totals()
	k.must(err)
	return c.Open()
}

func (k *chaos) ended() int64 {
	c, err := k.totals()
	k.must(err)
	return c.Total() - c.Open()
}

// endedWhere is ended while a strike is on; 0 where Redis itself is struck.
func (k *chaos) endedWhere(s strike) int64 {
	if s.redis {
		return 0
	}
	return k.ended()
}

// month is the ledger's cap of the month.
func (k *chaos) month() (used, held int64) {
	caps, err := k.limits.Caps(context.Background())
	k.must(err)
	for _, c := range caps {
		if c.Name == "usd_per_month" {
			used, held = used+c.Used, held+c.Held
		}
	}
	return used, held
}
