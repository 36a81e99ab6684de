package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

// model is the one that is called; a scenario has one lane.
const model = "gemini"

var (
	scope = limiter.Scope{Provider: "gemini", Project: "simulated"}
	lane  = limiter.Lane{Provider: scope.Provider, Project: scope.Project, Region: "global", Model: model}
)

// night is one policy's play of a scenario.
type night struct {
	clock
	s      *Scenario
	server *geminitest.Server
	policy policy
	out    *Outcome
	chance *rand.Rand // of jitters and arrivals on the way; not of what comes
	rows   []*row
	fleet  *fleet
	took   []time.Duration // of people's calls
}

// call is one request on its way.
type call struct {
	class    string
	tenant   string
	priority limiter.Priority // of a row
	run      string
	input    int64
	output   int64
	row      *row // nil: somebody waits for it
	id       string
	began    time.Duration // when it asked first
	permit   *limiter.Permit
}

// policy is one way of holding calls back.
type policy interface {
	// ask tells whether the call may go now; if not, pass is what follows.
	ask(c *call) pass
	// met is told of each answer; of a failure it gives what becomes of a row.
	met(c *call, m geminitest.Met, v gemini.Verdict) fate
	// begin plans what the policy does beside calls.
	begin(n *night)
	// looks is how many rows the fleet looks at each time (sweepEvery); 0: a row that
	// waits keeps its slot.
	looks() int
}

// pass is the answer to a call that asks.
type pass struct {
	ok      bool
	again   time.Duration // it waits where it is, and asks again then
	refused bool          // it is sent away; a row comes back after again, if that is above zero
	never   bool          // of refused: it can never pass
}

// fate is what becomes of a row whose call failed.
type fate struct {
	ends    bool
	wait    time.Duration
	counted bool
}

// Run plays the scenario, which was checked, with one policy. The error is that ctx is done.
func Run(ctx context.Context, s *Scenario, policyName string) (*Outcome, error) {
	n := &night{clock: clock{start: s.start}, s: s, chance: s.random(99), out: newOutcome(s, policyName)}
	n.server = geminitest.MustNew(s.simulated(n.time))
	n.policy = newPolicy(policyName, s)
	n.fleet = newFleet(n)
	n.policy.begin(n)
	if policyName != Alone {
		n.enqueue()
	}
	n.come(s.people(), 0)
	if err := n.run(ctx, s.Duration); err != nil {
		return nil, err
	}
	n.close()
	return n.out, nil
}

// enqueue plans the rows.
func (n *night) enqueue() {
	for i, b := range n.s.Bulk {
		rng := n.s.random(uint64(i) + 501)
		rows := make([]*row, b.Rows)
		for k := range rows {
			rows[k] = &row{bulk: &n.s.Bulk[i], ticket: itoa(len(n.rows) + k + 1), input: b.Input.draw(rng), output: b.Output.draw(rng)}
		}
		n.rows = append(n.rows, rows...)
		n.after(b.At, func() { n.fleet.add(rows) })
	}
}

// come lets people come, one event planning the next.
func (n *night) come(all []person, i int) {
	if i == len(all) {
		return
	}
	n.after(all[i].at-n.now, func() {
		n.visit(all[i], i)
		n.come(all, i+1)
	})
}

// send is a call on its way to the server and back; then is told what came of it.
func (n *night) send(c *call, then func(geminitest.Met, gemini.Verdict)) {
	way := time.Duration(0)
	if d := n.s.Provider.Latency.Arrival; d > 0 {
		way = time.Duration(n.chance.Int64N(int64(d)))
	}
	n.after(way, func() {
		m := n.server.Offer(geminitest.Offered{Model: model, InputTokens: c.input, OutputTokens: c.output})
		n.out.sent(c, m, n.now)
		if m.Hangs {
			m.Took = callTimeout
		}
		n.after(max(m.Took, refusalTakes), func() {
			m.End()
			v := gemini.Verdict{}
			if !m.Good {
				v = n.classify(m)
			}
			then(m, v)
		})
	})
}

const (
	refusalTakes = 60 * time.Millisecond // there and back
	callTimeout  = 2 * time.Minute       // worker.call_timeout
)

func (n *night) classify(m geminitest.Met) gemini.Verdict {
	if m.Status == 0 {
		return gemini.Verdict{Kind: gemini.Backoff, Scope: gemini.ScopeModel, Reason: "connection"}
	}
	return gemini.Classify(gemini.Answer{Status: m.Status, Header: m.Header, Body: m.Body}, n.time())
}
