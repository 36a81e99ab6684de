package sim

import (
	"time"

	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

// bulkShare is what a fixed split gives to bulk, and reserve what a bucket keeps for people.
const (
	bulkShare   = 0.7
	reserve     = 1 - bulkShare
	usualMargin = 0.85
)

// patient is how long people wait in place behind the limiters of others.
const patient = 300 * time.Millisecond

// sliding counts a minute exactly, in requests and tokens.
type sliding struct {
	rpm, tpm       int64 // 0: no limit
	taken          []taking
	calls, volumes int64
}

type taking struct {
	at time.Duration
	n  int64
}

// takes takes a call if it fits, or says when it may.
func (l *sliding) takes(now time.Duration, tokens int64) (ok bool, again time.Duration) {
	for len(l.taken) > 0 && l.taken[0].at <= now-time.Minute {
		l.calls, l.volumes = l.calls-1, l.volumes-l.taken[0].n
		l.taken = l.taken[1:]
	}
	fits := (l.rpm == 0 || l.calls+1 <= l.rpm) && (l.tpm == 0 || l.volumes+tokens <= l.tpm)
	if !fits {
		if len(l.taken) == 0 {
			return false, 0 // larger than the limit
		}
		return false, max(l.taken[0].at+time.Minute-now, time.Millisecond)
	}
	l.taken = append(l.taken, taking{now, tokens})
	l.calls, l.volumes = l.calls+1, l.volumes+tokens
	return true, 0
}

// split has a limiter for people and one for bulk.
type split struct {
	n            *night
	people, bulk sliding
}

func newSplit(s *Scenario, margin float64) *split {
	part := func(share float64) sliding {
		share *= margin
		return sliding{rpm: int64(share * float64(s.Limits.RPM)), tpm: int64(share * float64(s.Limits.InputTPM))}
	}
	return &split{people: part(1 - bulkShare), bulk: part(bulkShare)}
}

func (p *split) begin(n *night) { p.n = n }
func (p *split) looks() int     { return 0 }

func (p *split) ask(c *call) pass {
	l := &p.people
	if c.row != nil {
		l = &p.bulk
	}
	ok, again := l.takes(p.n.now, c.input)
	return p.n.waiting(c, ok, again)
}

// waiting is the answer of a limiter that callers wait at: rows as long as it takes, people
// for a moment.
func (n *night) waiting(c *call, ok bool, again time.Duration) pass {
	switch {
	case ok:
		return pass{ok: true}
	case again <= 0:
		return pass{refused: true, never: true}
	case c.row == nil && n.now+again-c.began > patient:
		return pass{refused: true}
	}
	return pass{again: again}
}

func (p *split) met(c *call, m geminitest.Met, _ gemini.Verdict) fate {
	if m.Good || c.row == nil {
		return fate{}
	}
	return p.n.sdk(c.row, true)
}

// reserved is one token bucket for all, that holds a minute's limit; bulk leaves a part.
type reserved struct {
	n             *night
	rpm, tpm      float64 // a minute, and the size
	calls, tokens float64 // there
	at            time.Duration
}

func newReserved(s *Scenario) *reserved {
	r := &reserved{rpm: float64(s.Limits.RPM), tpm: float64(s.Limits.InputTPM)}
	r.calls, r.tokens = r.rpm, r.tpm
	return r
}

func (p *reserved) begin(n *night) { p.n = n }
func (p *reserved) looks() int     { return 0 }

func (p *reserved) ask(c *call) pass {
	since := (p.n.now - p.at).Minutes()
	p.at = p.n.now
	p.calls, p.tokens = min(p.rpm, p.calls+p.rpm*since), min(p.tpm, p.tokens+p.tpm*since)
	keep := 0.0
	if c.row != nil {
		keep = reserve
	}
	wait := 0.0
	for _, b := range []struct{ size, level, need float64 }{{p.rpm, p.calls, 1}, {p.tpm, p.tokens, float64(c.input)}} {
		if b.size == 0 {
			continue
		}
		if b.need > b.size*(1-keep) {
			return pass{refused: true, never: true}
		}
		wait = max(wait, (keep*b.size+b.need-b.level)/b.size)
	}
	if wait > 0 {
		return p.n.waiting(c, false, time.Duration(wait*float64(time.Minute))+time.Millisecond)
	}
	p.calls, p.tokens = p.calls-1, p.tokens-float64(c.input)
	return pass{ok: true}
}

func (p *reserved) met(c *call, m geminitest.Met, _ gemini.Verdict) fate {
	if m.Good || c.row == nil {
		return fate{}
	}
	return p.n.sdk(c.row, true)
}
