package main

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini/geminitest"
	"nightshift/scheduler"
	"nightshift/worker"
)

// peopleWait is how long a call of people may take at most while something is
// broken, whatever comes of it: nobody hangs.
const peopleWait = 10 * time.Second

// checkNow looks at what has to hold at each moment.
func (k *chaos) checkNow(after string) {
	k.Helper()
	k.neverOver(after)
	k.rowsSum(after)
	k.paidFor(after)
}

// checkEnd looks at what has to hold when nothing is left to do.
func (k *chaos) checkEnd() {
	k.Helper()
	k.checkNow("the end")
	k.oneResultEach()
	k.noneAskedTwice()
	k.nothingLeft()
	k.moneyMatches()
}

// neverOver: the server, which counts exact sliding minutes, never saw more in any of
// them than the limits, refused calls included.
func (k *chaos) neverOver(after string) {
	k.Helper()
	m := k.stats().Models[benchModel]
	if m.Requests.MaxSent > m.Requests.Limit || m.InputTokens.MaxSent > m.InputTokens.Limit {
		k.Errorf("after %s: %d requests and %d tokens in a minute, want at most %d and %d", after,
			m.Requests.MaxSent, m.InputTokens.MaxSent, m.Requests.Limit, m.InputTokens.Limit)
	}
}

func (k *chaos) stats() (s geminitest.Stats) {
	resp, err := http.Get(k.sim + "/sim/stats")
	k.must(err)
	defer resp.Body.Close()
	k.must(json.NewDecoder(resp.Body).Decode(&s))
	return s
}

// rowsSum: the counters of a run sum to its input.
func (k *chaos) rowsSum(after string) {
	k.Helper()
	for _, r := range k.runs {
		if c := k.counts(r.id); c.Total() != chaosRows {
			k.Errorf("after %s: the counters of %s sum to %d rows, want %d", after, r.name, c.Total(), chaosRows)
		}
	}
}

// paidFor: what the server has asked money for is in the ledger, spent or held; what
// went out while Redis was away within seconds of its return.
func (k *chaos) paidFor(after string) {
	k.Helper()
	for end := time.Now().Add(30 * time.Second); ; <-time.After(100 * time.Millisecond) {
		server := k.stats().MicroUSD // before the ledger: it only grows
		used, held := k.month()
		if used >= server {
			return
		}
		if time.Now().After(end) {
			k.Errorf("after %s: the ledger has %d micro-dollars (%d held), the server %d", after, used, held, server)
			return
		}
	}
}

// checkPeople: every call that was made meanwhile came to its end in time, and had an
// answer unless people may notice the strike.
func (k *chaos) checkPeople(s strike, from, to time.Time, line *struck) {
	k.Helper()
	for _, a := range k.chat.answers() {
		if a.at.Before(from) || !a.at.Before(to) {
			continue
		}
		line.asked++
		line.longest = max(line.longest, a.took)
		if a.failed {
			line.unheard++
			if len(line.firstComplaints) < 2 {
				line.firstComplaints = append(line.firstComplaints, a.why)
			}
		}
		if a.failed && s.hits == notPeople {
			k.Errorf("%s: a call of people failed after %v: %s", s.name, a.took, a.why)
		}
		if a.took > peopleWait && s.hits != peopleGone {
			k.Errorf("%s: a call of people took %v: %s", s.name, a.took, a.why)
		}
	}
}

// unwell says what is not yet as before a strike that was healed then: people are
// answered, rows end, both workers serve, somebody leads and nothing is closed. ""
// when all is.
func (k *chaos) unwell(healed time.Time) string {
	for _, x := range []struct {
		what string
		is   func() bool
	}{
		{"people have no answer", func() bool { return k.answeredSince(healed) }},
		{"no row is answered", func() bool { return k.workedSince(healed) }},
		{"worker1 does not serve", func() bool { return k.serves("worker1") }},
		{"worker2 does not serve", func() bool { return k.serves("worker2") }},
		{"nobody leads", k.leading},
		{"something is closed", k.allOpen},
	} {
		if !x.is() {
			return x.what
		}
	}
	return ""
}

func (k *chaos) answeredSince(at time.Time) bool {
	for _, a := range k.chat.answers() {
		if a.at.After(at) && !a.failed {
			return true
		}
	}
	return false
}

// workedSince: a call for a row that began later was answered, or no row is left.
func (k *chaos) workedSince(at time.Time) bool {
	for _, c := range of(k.calls(), "c") {
		if c.At.After(at) && c.Status == http.StatusOK && !isChat(c) {
			return true
		}
	}
	c, err := k.totals()
	return err == nil && c.Open() == 0
}

func isChat(c simCall) bool { return len(of([]simCall{c}, "chat")) > 0 }

// serves tells whether a worker is known to the fleet, with its lane.
func (k *chaos) serves(name string) bool {
	fleet, err := worker.Fleet(context.Background(), k.rdb)
	if err != nil {
		return false
	}
	for _, w := range fleet {
		if w.PID == k.parts[name].Process.Pid {
			_, ok := w.Serves(k.lane())
			return ok
		}
	}
	return false
}

func (k *chaos) leading() bool {
	s, err := k.control.Status(context.Background())
	return err == nil && s.Leader != nil && s.Phase == scheduler.Healthy
}

// allOpen: no pause, throttle, breaker or cool-down is left.
func (k *chaos) allOpen() bool {
	lanes, err := k.limits.Lanes(context.Background())
	if err != nil {
		return false
	}
	for _, l := range lanes {
		s, err := k.limits.State(context.Background(), l.Lane)
		if err != nil || len(s.Pauses)+len(s.Throttles)+len(s.Breakers) > 0 || s.Cooldown != nil {
			return false
		}
	}
	return true
}

// oneResultEach: every row of every run has one result, a good one.
func (k *chaos) oneResultEach() {
	k.Helper()
	for _, r := range k.runs {
		file := filepath.Join(k.dir, r.name+".jsonl")
		if out, err := k.command("results", r.name, "-o", file).CombinedOutput(); err != nil {
			k.Errorf("%s: %v\n%s", r.name, err, out)
		}
		checkComplete(k.TB.(*testing.T), file, chaosRows)
	}
}

// noneAskedTwice: no row was answered more than once, but for those that a killed
// worker had in hand.
func (k *chaos) noneAskedTwice() {
	k.Helper()
	answered := map[string]int{}
	again := 0
	for _, c := range of(k.calls(), "c") {
		if c.Status != http.StatusOK || isChat(c) {
			continue
		}
		if answered[c.ID]++; answered[c.ID] > 1 {
			again++
		}
	}
	if again > k.lost {
		k.Errorf("%d rows were paid for again, with at most %d in hand of killed workers", again, k.lost)
	}
}

// nothingLeft: no permit, place or task is held by anybody, but for permits of what
// was killed, which end with their leases.
func (k *chaos) nothingLeft() {
	k.Helper()
	lanes, err := k.limits.Lanes(context.Background())
	k.must(err)
	for _, l := range lanes {
		k.await("nothing is held", 30*time.Second, func() bool {
			s, err := k.limits.State(context.Background(), l.Lane)
			k.must(err)
			return s.InFlight <= int64(k.orphans) && len(s.InPlace) == 0 && len(s.Leaves) == 0
		})
	}
	for _, state := range []string{"active", "pending", "retry", "scheduled", "archived", "lease"} {
		key := "asynq:{" + jobs.Queue(jobs.Normal, k.lane()) + "}:" + state
		if n := k.size(key); n > 0 {
			k.Errorf("%d tasks are left in %s", n, key)
		}
	}
}

func (k *chaos) size(key string) int64 {
	kind, err := k.rdb.Type(context.Background(), key).Result()
	k.must(err)
	n := int64(0)
	switch kind {
	case "list":
		n, err = k.rdb.LLen(context.Background(), key).Result()
	case "zset":
		n, err = k.rdb.ZCard(context.Background(), key).Result()
	}
	k.must(err)
	return n
}

// longestAnswer is what a call holds in micro-dollars, and is charged when nobody
// hears of its end: 65,536 tokens of output at 2.5 and a few of input.
const longestAnswer = 65536*2.5 + 100

// moneyMatches: the ledger is what the server has asked for, and what each process
// rounds up for each run and for people. Where something that makes calls was killed it
// may be more, by what its calls held at most.
func (k *chaos) moneyMatches() {
	k.Helper()
	server := k.stats().MicroUSD
	used, held := k.month()
	k.Logf("money: the ledger has %d micro-dollars (%d held), the server %d", used, held, server)
	if most := server + int64(k.spawned*(len(k.runs)+1)) + int64(k.orphans)*longestAnswer; used < server || used > most {
		k.Errorf("the ledger has %d micro-dollars, want %d to %d", used, server, most)
	}
}
