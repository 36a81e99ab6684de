package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
	"nightshift/scheduler"
	"nightshift/worker"
)

// countdown is when a refused row comes back where nobody pulls.
const countdown = 10 * time.Second

// gated is nightshift's gate, whole or with a part of it taken away.
type gated struct {
	n       *night
	m       *limiter.Model
	classes []limiter.Class
	fixed   bool // rows come back after countdown
	health  *health
	week    *scheduler.Week
	max     map[string]time.Duration // how long people wait in place
}

func newGated(name string, s *Scenario) *gated {
	g := &gated{m: limiter.NewModel(scope, s.start), classes: s.classes(), fixed: name == FixedCountdown, max: map[string]time.Duration{}}
	limits := s.Limits.limits()
	if name == RequestsOnly {
		limits = limiter.Limits{RPM: limits.RPM}
	}
	for i := range g.classes {
		g.classes[i].Tickets = g.classes[i].Tickets && !g.fixed
		if !g.classes[i].Tickets {
			g.max[g.classes[i].Name] = g.classes[i].MaxWait
		}
	}
	c := limiter.Config{Scope: scope, Classes: g.classes, Weights: s.Weights, Nodes: map[string]limiter.Limits{},
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limits, OutsidePPM: int64(*s.Outside * million), Lend: s.Lend}}}
	for name, cap := range s.Nodes {
		c.Nodes[name] = limiter.Limits{RPM: cap.RPM, InputTPM: cap.InputTPM}
	}
	g.must(g.m.Configure(ctx, c))
	if name == OursLearned {
		minutes, until := s.learned()
		week := scheduler.LearnWeek(s.zone, lane, g.classes, minutes, until)
		g.week = &week
	}
	return g
}

// ctx is the Model's, which looks at none.
var ctx = context.Background()

// must ends a simulation that asked the Model for what cannot be: a fault of this package.
func (g *gated) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("sim: %v", err))
	}
}

// lineUp are the rows that a worker gives places to each time, 2,000 a second; asynq alone
// hands rows out one by one, some 500 a second.
const (
	lineUp   = 100
	oneByOne = 25
)

func (g *gated) looks() int {
	if g.fixed {
		return oneByOne
	}
	return lineUp
}

func (g *gated) begin(n *night) {
	g.n = n
	g.health = newHealth(g)
	n.every(g.health.rules.Every, g.health.look)
	if g.week != nil {
		g.learn()
		n.every(scheduler.LearnEvery, g.learn)
	}
	if !g.fixed {
		g.pull()
	}
}

// at brings the Model's clock to this moment.
func (g *gated) at() *limiter.Model {
	g.m.SetNow(g.n.time())
	return g.m
}

// learn sets the floors of now.
func (g *gated) learn() {
	m := g.at()
	s, err := m.State(ctx, lane)
	g.must(err)
	g.must(m.SetFloors(ctx, lane, g.week.Floors(s.Limits, g.n.time()), g.n.time().Add(scheduler.FloorsLast)))
}

// pull lets rows come whose turn it is, as the worker's puller does.
func (g *gated) pull() {
	f := g.n.fleet
	free := f.free()
	var pulled []limiter.Pulled
	if free > 0 {
		var err error
		pulled, err = g.at().Pull(ctx, lane, free)
		g.must(err)
	}
	for _, p := range pulled {
		f.wake(p.Ticket)
	}
	if len(pulled) > 0 {
		f.work()
	}
	again := worker.PullEvery
	if len(pulled) >= max(free, 0) {
		again = worker.PullSoon
	}
	g.n.after(again, g.pull)
}

// estimated is what a call is charged before it is made.
func (g *gated) estimated(c *call) limiter.Amounts {
	var a limiter.Amounts
	a[limiter.Requests], a[limiter.InputTokens], a[limiter.OutputTokens] = 1, c.input, c.output
	a[limiter.TotalTokens], a[limiter.Concurrency] = c.input+c.output, 1
	return a
}

func (g *gated) ask(c *call) pass {
	full := c.id == ""
	q := limiter.Request{ID: c.id, Lane: lane, Class: c.class, Feature: "simulated", Amounts: g.estimated(c), Full: full,
		Path: limiter.Path{Tenant: c.tenant, Run: c.run, Priority: c.priority}}
	if full {
		q.ID = "f" + c.row.ticket
	}
	if c.row != nil && !g.fixed {
		q.Ticket = c.row.ticket
	}
	left := c.began + g.max[c.class] - g.n.now
	if c.row == nil {
		q.Wait, q.Ticket = max(left, 0), c.id
	}
	p, err := g.at().Acquire(ctx, q)
	if err == nil {
		c.permit = p
		return pass{ok: true}
	}
	var no *limiter.Denied
	if !errors.As(err, &no) {
		g.must(err)
	}
	if c.row != nil {
		fate := worker.FateRefused(no)
		if g.fixed && !fate.Ends {
			fate.Wait = countdown
		}
		return pass{refused: true, again: fate.Wait, never: fate.Ends}
	}
	return g.stay(c, no, left)
}

// stay is what a person does who is refused: wait in place while there is hope, as the
// Transport does for them.
func (g *gated) stay(c *call, no *limiter.Denied, left time.Duration) pass {
	pause := max(no.RetryAfter(), 20*time.Millisecond)
	if no.Position > 0 {
		pause = max(no.AskAgain(), 20*time.Millisecond)
	}
	if !no.Permanent && pause <= left {
		return pass{again: pause}
	}
	if no.Position > 0 {
		g.must(g.m.Drop(ctx, lane, c.id))
	}
	g.health.refused(c)
	return pass{refused: true, never: no.Permanent}
}

func (g *gated) met(c *call, m geminitest.Met, v gemini.Verdict) fate {
	now := g.n.time()
	model := g.at()
	used := c.permit.Amounts
	if !m.Good {
		used[limiter.OutputTokens], used[limiter.TotalTokens] = 0, c.input
	}
	g.must(model.Settle(ctx, limiter.Settlement{ID: c.permit.ID, Lane: lane, Outcome: limiter.Settled, Used: used}))
	next, err := gemini.Follow(ctx, model, c.permit, v, now)
	g.must(err)
	g.health.answered(c, m, g.n.now-c.began)
	if m.Good || c.row == nil {
		return fate{}
	}
	f := worker.FateFailed(next, v, m.Status, c.row.attempts, g.n.chance.Float64(), now)
	return fate{ends: f.Ends, wait: f.Wait, counted: f.Counted}
}
