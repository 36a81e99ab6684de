package geminitest

import (
	"math"
	"time"
)

const (
	dollar       = 1e6 // micro-dollars
	picoPerMicro = 1_000_000
)

// spending is what the project has spent. The server's mu guards it.
type spending struct {
	tenMinutes, month meter
	pico, total       int64 // in pico-dollars, and that in micro-dollars, rounded up once
}

func newSpending() spending {
	return spending{tenMinutes: &slidingMeter{window: 10 * time.Minute}, month: &fixedMeter{next: nextMonth}}
}

// refuse says that money has run out. A call's cost is known only when it has
// ended, so calls that run together can go over, as at Gemini.
func (p *spending) refuse(now time.Time, lim Spend) *reply {
	if lim.Month > 0 && p.month.used(now, 0) >= int64(lim.Month*dollar) {
		return monthlyCapRefusal()
	}
	if lim.TenMinutes > 0 && p.tenMinutes.used(now, 0) >= int64(lim.TenMinutes*dollar) {
		return spendRateRefusal()
	}
	return nil
}

// add counts what a call cost in pico-dollars. Only the sum is rounded, as on a bill:
// a third of a micro-dollar a call is a tenth of a short one.
func (p *spending) add(now time.Time, pico int64) {
	if pico == 0 {
		return
	}
	p.pico += pico
	more := roundUp(p.pico) - p.total
	p.total += more
	p.month.take(now, 0, more)
	p.tenMinutes.take(now, 0, more)
	p.tenMinutes.used(now, 0) // lets go of what is old
}

func roundUp(pico int64) int64 { return (pico + picoPerMicro - 1) / picoPerMicro }

// tierFactors are what the service tiers cost against standard
// (https://ai.google.dev/gemini-api/docs/optimization).
var tierFactors = map[string]float64{tierStandard: 1, tierFlex: 0.5, tierPriority: 1.8}

// cost is in pico-dollars.
func (p Price) cost(u usage) int64 {
	micro := float64(u.prompt-u.cached)*p.Input + float64(u.cached)*p.Cached + float64(u.output+u.thoughts)*p.Output
	return int64(math.Round(micro * tierFactors[u.tier] * picoPerMicro))
}

// usage is what a call has used, in tokens.
type usage struct {
	prompt, cached, thoughts, output int64
	tier                             string
}

// Spent gives what the calls that have ended cost together, in micro-dollars: less
// than the sum of Call.MicroUSD, each of which is rounded up.
func (s *Server) Spent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spend.total
}
