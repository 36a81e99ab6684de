package geminitest

import (
	"math"
	"time"
)

const dollar = 1e6 // micro-dollars

// spending is what the project has spent. The server's mu guards it.
type spending struct {
	tenMinutes, month meter
	total             int64
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

func (p *spending) add(now time.Time, microUSD int64) {
	if microUSD == 0 {
		return
	}
	p.total += microUSD
	p.month.take(now, 0, microUSD)
	p.tenMinutes.take(now, 0, microUSD)
	p.tenMinutes.used(now, 0) // lets go of what is old
}

// tierFactors are what the service tiers cost against standard
// (https://ai.google.dev/gemini-api/docs/optimization).
var tierFactors = map[string]float64{tierStandard: 1, tierFlex: 0.5, tierPriority: 1.8}

// cost is in micro-dollars, rounded up.
func (p Price) cost(u usage) int64 {
	usd := float64(u.prompt-u.cached)*p.Input + float64(u.cached)*p.Cached + float64(u.output+u.thoughts)*p.Output
	return int64(math.Ceil(usd*tierFactors[u.tier] - 1e-9))
}

// usage is what a call has used, in tokens.
type usage struct {
	prompt, cached, thoughts, output int64
	tier                             string
}

// Spent gives what the calls that have ended cost, in micro-dollars.
func (s *Server) Spent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spend.total
}
