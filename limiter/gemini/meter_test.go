package gemini

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// madeCall is a record and what a reader should find of it, said by who made it
// up and not by the meter.
type madeCall struct {
	record Record
	counts map[string]int64
	whole  time.Duration // of a unary call that has one
	first  time.Duration // of a stream
}

// makeCalls are kinds of calls with what each must count.
var makeCalls = []func(*rand.Rand, *madeCall){
	func(rng *rand.Rand, c *madeCall) { // a good unary call
		c.record.Status = 200
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "Good": 1}
		c.whole = time.Duration(c.record.WaitMS+c.record.TookMS) * time.Millisecond
	},
	func(rng *rand.Rand, c *madeCall) { // a good stream
		c.record.Status, c.record.Method, c.record.FirstMS = 200, "streamGenerateContent", 1+rng.Int64N(900)
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "Good": 1}
		c.first = time.Duration(c.record.WaitMS+c.record.FirstMS) * time.Millisecond
	},
	func(rng *rand.Rand, c *madeCall) { // a good one that the provider counted
		in, out := 1+rng.Int64N(100), 1+rng.Int64N(100)
		c.record.Status, c.record.Finish, c.record.Usage = 200, "STOP", &Usage{Prompt: in - 1, ToolUse: 1, Candidates: out - 1, Thoughts: 1}
		c.record.Estimate[limiter.InputTokens], c.record.Estimate[limiter.OutputTokens] = 50, 50
		c.counts = map[string]int64{
			"Calls": 1, "Sent": 1, "Good": 1, "Measured": 1, "EstimatedInput": 50, "EstimatedOutput": 50, "MeasuredInput": in, "MeasuredOutput": out,
		}
		if in > 50 {
			c.counts["UnderInput"] = 1
		}
		if out > 50 {
			c.counts["UnderOutput"] = 1
		}
		c.whole = time.Duration(c.record.WaitMS+c.record.TookMS) * time.Millisecond
	},
	func(_ *rand.Rand, c *madeCall) { // a stream that its reader left: its usage is no measure
		c.record.Status, c.record.Verdict, c.record.Reason, c.record.Usage = 200, Backoff, "cancelled", &Usage{Prompt: 9, Candidates: 3}
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "Abandoned": 1}
	},
	func(_ *rand.Rand, c *madeCall) { // the provider refuses
		c.record.Status, c.record.Verdict, c.record.Reason = 429, Wait, "rpm"
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "Provider429": 1}
	},
	func(_ *rand.Rand, c *madeCall) { // and inside a stream
		c.record.Status, c.record.Verdict, c.record.Reason, c.record.Method = 200, Backoff, "capacity", "streamGenerateContent"
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "Provider429": 1}
	},
	func(_ *rand.Rand, c *madeCall) { // it has no more credits of ours: no 429, and too quick to be timed
		c.record.Status, c.record.Verdict, c.record.Reason, c.record.Affects = 402, BudgetStop, "prepay_empty", ScopeBilling
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "ProviderFailed": 1}
	},
	func(_ *rand.Rand, c *madeCall) { // a fault there
		c.record.Status, c.record.Verdict, c.record.Reason, c.record.Affects = 503, Backoff, "overloaded", ScopeModel
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "ProviderFailed": 1}
		c.whole = time.Duration(c.record.WaitMS+c.record.TookMS) * time.Millisecond
	},
	func(_ *rand.Rand, c *madeCall) { // an answer that was blocked
		c.record.Status, c.record.Verdict, c.record.Reason, c.record.Affects = 200, Permanent, ReasonBlocked, ScopeJob
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "ProviderFailed": 1, "RequestFaults": 1}
		c.whole = time.Duration(c.record.WaitMS+c.record.TookMS) * time.Millisecond
	},
	func(_ *rand.Rand, c *madeCall) { // a stream that never began
		c.record.Verdict, c.record.Reason, c.record.Method = Backoff, "timeout", "streamGenerateContent"
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "ProviderFailed": 1}
		c.first = time.Duration(c.record.WaitMS+c.record.TookMS) * time.Millisecond
	},
	func(_ *rand.Rand, c *madeCall) { // the caller hangs up
		c.record.Verdict, c.record.Reason, c.record.Affects = Backoff, "cancelled", ScopeJob
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "Abandoned": 1}
	},
	func(_ *rand.Rand, c *madeCall) { // only observed
		c.record.Status, c.record.Over, c.record.Decision = 200, "rpm", Observed
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "Good": 1, "WouldRefuse": 1}
		c.whole = time.Duration(c.record.WaitMS+c.record.TookMS) * time.Millisecond
	},
	func(_ *rand.Rand, c *madeCall) { // made elsewhere
		c.record.Status, c.record.Direct = 200, true
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "Good": 1, "Bypassed": 1}
		c.whole = time.Duration(c.record.WaitMS+c.record.TookMS) * time.Millisecond
	},
	func(_ *rand.Rand, c *madeCall) { // by the local allowance
		c.record.Status, c.record.Soft = 200, true
		c.counts = map[string]int64{"Calls": 1, "Sent": 1, "Good": 1, "Soft": 1}
		c.whole = time.Duration(c.record.WaitMS+c.record.TookMS) * time.Millisecond
	},
	func(_ *rand.Rand, c *madeCall) { // no room
		c.record.refused(limiter.ReasonQuota, limiter.RejectedLocally)
		c.counts = map[string]int64{"Calls": 1, "Refused": 1}
	},
	func(_ *rand.Rand, c *madeCall) { // no room, in the line
		c.record.refused(limiter.ReasonShare, limiter.Queued)
		c.counts = map[string]int64{"Queued": 1}
	},
	func(_ *rand.Rand, c *madeCall) { // never any room
		c.record.refused(limiter.ReasonTooLarge, limiter.RejectedLocally)
		c.counts = map[string]int64{"Invalid": 1}
	},
	func(_ *rand.Rand, c *madeCall) { // tokens are counted, which costs nothing
		c.record.Status, c.record.Method = 200, "countTokens"
		c.counts = nil
	},
	func(_ *rand.Rand, c *madeCall) { // of another project
		c.record.Status, c.record.Scope = 200, "gemini/another"
		c.counts = nil
	},
}

func (r *Record) refused(why limiter.Reason, how limiter.Decision) {
	r.Sent, r.Used, r.MicroUSD, r.TookMS = false, limiter.Amounts{}, nil, 0
	r.Refusal, r.Decision = why, how
}

func makeCall(rng *rand.Rand, scope limiter.Scope) madeCall {
	c := madeCall{record: goodCall(scope, []string{"interactive", "bulk"}[rng.IntN(2)], fmt.Sprint("f", rng.IntN(3)))}
	c.record.Lane = fmt.Sprintf("%s/global/model-%d", scope, rng.IntN(2))
	c.record.WaitMS, c.record.TookMS = rng.Int64N(50), 10+rng.Int64N(20_000)
	for i := range c.record.Used {
		c.record.Used[i] = rng.Int64N(1e12)
	}
	if rng.IntN(2) == 0 {
		cost := rng.Int64N(1e12)
		c.record.MicroUSD = &cost
	}
	makeCalls[rng.IntN(len(makeCalls))](rng, &c)
	return c
}

// ledger is the independent sum: of each bucket, model, class and feature.
type ledger map[string]*entry

type entry struct {
	counts      map[string]int64
	use         [5]int64
	whole, frst []time.Duration
	waited      int
}

func ledgerKey(at time.Time, model, class, feature string) string {
	return fmt.Sprint(at.UnixMilli(), " ", model, " ", class, " ", feature)
}

func (l ledger) add(c madeCall, at time.Time, width time.Duration) {
	if c.counts == nil {
		return
	}
	r := c.record
	key := ledgerKey(at.Truncate(width), r.Lane[strings.LastIndex(r.Lane, "/")+1:], r.Class, r.Feature)
	e := l[key]
	if e == nil {
		e = &entry{counts: map[string]int64{}}
		l[key] = e
	}
	for name, n := range c.counts {
		e.counts[name] += n
	}
	if c.counts["Sent"] > 0 {
		cost := r.Used[limiter.MicroUSD]
		if r.MicroUSD != nil {
			cost = *r.MicroUSD
		}
		for i, n := range []int64{r.Used[limiter.Requests], r.Used[limiter.InputTokens], r.Used[limiter.OutputTokens], r.Used[limiter.TotalTokens], cost} {
			e.use[i] += n
		}
	}
	e.waited += int(c.counts["Calls"])
	if c.whole > 0 {
		e.whole = append(e.whole, c.whole)
	}
	if c.first > 0 {
		e.frst = append(e.frst, c.first)
	}
}

func (l ledger) compare(t *testing.T, name string, got []UsageSample) {
	t.Helper()
	if len(got) != len(l) {
		t.Errorf("%s: %d samples, want %d", name, len(got), len(l))
	}
	for _, s := range got {
		key := ledgerKey(s.At, s.Model, s.Class, s.Feature)
		e := l[key]
		if e == nil {
			t.Fatalf("%s: nothing was put at %s", name, key)
		}
		counts := map[string]int64{
			"Calls": s.Calls, "Sent": s.Sent, "Refused": s.Refused, "Queued": s.Queued, "Invalid": s.Invalid, "Good": s.Good,
			"Provider429": s.Provider429, "ProviderFailed": s.ProviderFailed, "Abandoned": s.Abandoned, "RequestFaults": s.RequestFaults,
			"Bypassed": s.Bypassed, "Soft": s.Soft, "WouldRefuse": s.WouldRefuse,
			"Measured": s.Measured, "EstimatedInput": s.EstimatedInput, "MeasuredInput": s.MeasuredInput, "UnderInput": s.UnderInput,
			"EstimatedOutput": s.EstimatedOutput, "MeasuredOutput": s.MeasuredOutput, "UnderOutput": s.UnderOutput,
		}
		maps.DeleteFunc(counts, func(_ string, n int64) bool { return n == 0 })
		if !maps.Equal(counts, e.counts) {
			t.Errorf("%s: %s: %v, want %v", name, key, counts, e.counts)
		}
		if use := [5]int64{s.Requests, s.InputTokens, s.OutputTokens, s.TotalTokens, s.MicroUSD}; use != e.use {
			t.Errorf("%s: %s: used %v, want %v", name, key, use, e.use)
		}
		if s.Calls != s.Sent+s.Refused || s.Sent != s.Good+s.Provider429+s.ProviderFailed+s.Abandoned {
			t.Errorf("%s: the counters do not add up: %+v", name, s)
		}
		compareTimes(t, name+": latency", s.Latency, e.whole)
		compareTimes(t, name+": first token", s.FirstToken, e.frst)
		if s.Waited.N() != int64(e.waited) {
			t.Errorf("%s: waited %d times, want %d", name, s.Waited.N(), e.waited)
		}
	}
}

func compareTimes(t *testing.T, name string, h Histogram, all []time.Duration) {
	t.Helper()
	if h.N() != int64(len(all)) {
		t.Errorf("%s: %d times, want %d", name, h.N(), len(all))
		return
	}
	slices.Sort(all)
	for i, exact := range all {
		got := h.Quantile((float64(i) + 0.5) / float64(len(all)))
		if exact >= time.Millisecond && math.Abs(float64(got)/float64(exact)-1) > 0.07 {
			t.Errorf("%s: %s, want %s", name, got, exact)
		}
	}
}

// TestMeterHistories puts calls from three processes whose clocks are wrong,
// flushes now and then over connections that break before or after Redis has
// done its work, and compares with the independent sum by Redis's clock.
func TestMeterHistories(t *testing.T) {
	t.Run("real", func(t *testing.T) {
		for seed := range uint64(3) {
			meterHistory(t, dialReal(t), seed)
		}
	})
	t.Run("embedded", func(t *testing.T) { meterHistory(t, dialEmbedded(t), 3) })
}

func meterHistory(t *testing.T, rdb *redis.Client, seed uint64) {
	rng, scope := rand.New(rand.NewPCG(seed, 3)), meterScope()
	start := meterNoon.Add(-2 * time.Minute) // the history turns an hour
	clock := &handClock{at: start}
	broken := 0
	flaky := faulty{
		before: func() error { return breaks(rng, &broken) },
		after:  func() error { return breaks(rng, &broken) },
	}
	var meters []*Meter
	var clocks []*handClock
	for i := range 3 {
		own := &handClock{at: start.Add(time.Duration(i-1) * 11 * time.Hour)}
		way := redis.NewClient(cloneOptions(rdb))
		t.Cleanup(func() { _ = way.Close() })
		way.AddHook(flaky)
		meters, clocks = append(meters, meterAt(t, way, scope, own, clock)), append(clocks, own)
	}
	ledgers := map[Step]ledger{Step5s: {}, StepMinute: {}, StepHour: {}}
	for range 800 {
		c, who := makeCall(rng, scope), rng.IntN(3)
		meters[who].Put(c.record)
		for step, l := range ledgers {
			l.add(c, clock.now(), step.Width())
		}
		if rng.IntN(20) == 0 {
			meters[rng.IntN(3)].flush(false)
		}
		step := time.Duration(rng.IntN(2)) * time.Second
		clock.turn(step)
		for _, own := range clocks {
			own.turn(step)
		}
	}
	for _, m := range meters {
		for m.flush(false); m.failed != nil; m.flush(false) {
		}
	}
	if broken < 20 {
		t.Errorf("only %d commands broke", broken)
	}
	for step, l := range ledgers {
		got := readStep(t, rdb, scope, step, start, clock.now().Add(time.Second))
		l.compare(t, fmt.Sprintf("seed %d, step %s", seed, step.Width()), got)
		if !slices.IsSortedFunc(got, func(a, b UsageSample) int { return cmp.Or(a.At.Compare(b.At), compareSamples(a, b)) }) {
			t.Error("not in order")
		}
	}
}

func breaks(rng *rand.Rand, n *int) error {
	if rng.IntN(4) > 0 {
		return nil
	}
	*n++
	return errBroken
}

func cloneOptions(rdb *redis.Client) *redis.Options {
	o := *rdb.Options()
	return &redis.Options{Network: o.Network, Addr: o.Addr, MaxRetries: -1, DisableIdentity: true}
}
