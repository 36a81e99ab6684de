package geminitest

import (
	"strconv"
	"time"
)

// Stats is what GET /sim/stats answers.
type Stats struct {
	Calls    int64                 `json:"calls"`
	Since    time.Time             `json:"since"`
	InFlight int64                 `json:"in_flight"`
	ByStatus map[string]int64      `json:"by_status"` // "running" for those without a status; of the calls still in the account
	ByReason map[string]int64      `json:"by_reason"` // of refusals
	ByFault  map[string]int64      `json:"by_fault"`
	MicroUSD int64                 `json:"micro_usd"`
	Models   map[string]ModelStats `json:"models"` // by bucket
	Faults   map[string]int64      `json:"faults"` // how often each configured fault came
}

// ModelStats are the figures of one bucket.
type ModelStats struct {
	Requests     WindowStats `json:"requests"`
	InputTokens  WindowStats `json:"input_tokens"`
	InFlight     int64       `json:"in_flight"`
	InFlightPeak int64       `json:"in_flight_peak"`
	Limits       Limits      `json:"limits"`
}

// WindowStats compare the fullest minute with the limit.
type WindowStats struct {
	Admitted  int64 `json:"admitted"` // in all
	MaxMinute int64 `json:"max_minute"`
	MaxSent   int64 `json:"max_minute_sent"` // refused calls included
	Limit     int64 `json:"limit"`           // 0: none
}

// Stats sums up the account.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{
		Calls: s.seq, Since: s.start, MicroUSD: s.spend.total, ByStatus: map[string]int64{}, ByReason: map[string]int64{},
		ByFault: map[string]int64{}, Models: map[string]ModelStats{}, Faults: map[string]int64{},
	}
	for _, c := range s.calls {
		st.count(c)
	}
	for _, m := range s.models {
		if l, ok := s.lanes[m.Bucket]; ok {
			st.Models[m.Bucket] = l.stats(s.limitsLocked(m))
		}
	}
	for _, m := range st.Models {
		st.InFlight += m.InFlight
	}
	for _, f := range s.faults {
		st.Faults[f.String()] += f.hits
	}
	return st
}

func (st *Stats) count(c *Call) {
	if c.Running {
		st.ByStatus["running"]++
		return
	}
	st.ByStatus[strconv.Itoa(c.Status)]++
	if c.Reason != "" {
		st.ByReason[c.Reason]++
	}
	if c.Fault != "" {
		st.ByFault[string(c.Fault)]++
	}
}

func (l *lane) stats(lim Limits) ModelStats {
	window := func(u Unit, limit int64) WindowStats {
		w := WindowStats{MaxMinute: l.admitted.maxIn(u, time.Minute), MaxSent: l.sent.maxIn(u, time.Minute), Limit: limit}
		for _, p := range l.admitted {
			w.Admitted += p.amount(u)
		}
		return w
	}
	return ModelStats{window(Requests, lim.RPM), window(InputTokens, lim.InputTPM), l.inFlight, l.peak, lim}
}
