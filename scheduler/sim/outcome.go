package sim

import (
	"slices"
	"time"

	"nightshift/limiter/gemini/geminitest"
)

// Outcome is what came of a night with one policy.
type Outcome struct {
	Policy string `json:"policy"`
	Label  string `json:"label"` // what the policy is, for people

	People People `json:"people"`
	Bulk   Rows   `json:"bulk"`

	Sent        int64   `json:"sent"`         // calls that went out
	Provider429 int64   `json:"provider_429"` // of Sent
	Wasted      int64   `json:"wasted"`       // of Sent: brought no answer that can be used
	MostRPM     int64   `json:"most_rpm"`     // requests that the provider admitted in any minute
	MostTPM     int64   `json:"most_tpm"`     // input tokens likewise
	SentRPM     int64   `json:"sent_rpm"`     // requests that came to the provider in any minute
	Used        float64 `json:"used"`         // share of the scarcest limit that good calls took while bulk waited
	Points      []Point `json:"points"`       // by the minute
}

// People are the calls that somebody waited for.
type People struct {
	Calls   int64         `json:"calls"`
	Failed  int64         `json:"failed"`       // at the first try, before any retry
	Refused int64         `json:"refused_here"` // of Failed: by the policy, not by the provider
	GaveUp  int64         `json:"gave_up"`      // after all tries
	P50     time.Duration `json:"p50_ns"`       // from the first try to the answer, retries and all
	P95     time.Duration `json:"p95_ns"`
	Longest time.Duration `json:"longest_ns"`
	PeakRPM int64         `json:"peak_rpm"` // the most that came in a minute
	PeakTPM int64         `json:"peak_tpm"`
}

// FailedShare is the part that failed at the first try.
func (p People) FailedShare() float64 { return float64(p.Failed) / float64(max(1, p.Calls)) }

// Rows are bulk's.
type Rows struct {
	Rows        int64         `json:"rows"`
	Done        int64         `json:"done"`
	Failed      int64         `json:"failed"`
	Finish      time.Duration `json:"finish_ns"`   // when the last row ended; 0: not by the end of the night
	PerMinute   float64       `json:"per_minute"`  // rows done, until then
	Reschedules float64       `json:"reschedules"` // how often a row came back, on average
}

// Point is one minute.
type Point struct {
	People       int64 `json:"people"` // calls that the provider admitted
	Bulk         int64 `json:"bulk"`
	Refused      int64 `json:"refused"`       // 429s of the provider
	Failed       int64 `json:"failed"`        // people's first tries
	PeopleTokens int64 `json:"people_tokens"` // input, admitted
	BulkTokens   int64 `json:"bulk_tokens"`
	came         int64
	wants        int64
}

func newOutcome(s *Scenario, name string) *Outcome {
	o := &Outcome{Policy: name, Label: labels[name], Points: make([]Point, int(s.Duration/time.Minute)+1)}
	for _, b := range s.Bulk {
		if name == Alone {
			break
		}
		o.Bulk.Rows += int64(b.Rows)
	}
	return o
}

func (o *Outcome) at(now time.Duration) *Point {
	return &o.Points[min(int(now/time.Minute), len(o.Points)-1)]
}

func (o *Outcome) came(p person) {
	o.People.Calls++
	at := o.at(p.at)
	at.came, at.wants = at.came+1, at.wants+p.input
}

func (o *Outcome) sent(c *call, m geminitest.Met, now time.Duration) {
	o.Sent++
	at := o.at(now)
	if m.Status == 429 {
		o.Provider429++
		at.Refused++
	}
	if !m.Good {
		o.Wasted++
		return
	}
	if c.row == nil {
		at.People, at.PeopleTokens = at.People+1, at.PeopleTokens+c.input
	} else {
		at.Bulk, at.BulkTokens = at.Bulk+1, at.BulkTokens+c.input
	}
}

func (o *Outcome) refusedHere(v *visitor, now time.Duration) {
	if v.tries == 1 {
		o.People.Failed++
		o.People.Refused++
		o.at(now).Failed++
	}
}

func (o *Outcome) refusedThere(v *visitor, _ geminitest.Met, now time.Duration) {
	if v.tries == 1 {
		o.People.Failed++
		o.at(now).Failed++
	}
}

func (o *Outcome) rowEnded(r *row, good bool, now time.Duration, left int) {
	if good {
		o.Bulk.Done++
	} else {
		o.Bulk.Failed++
	}
	o.Bulk.Reschedules += float64(r.looks)
	if left == 0 && o.Bulk.Done+o.Bulk.Failed == o.Bulk.Rows {
		o.Bulk.Finish = now
	}
}

// close works out what is known at the end only.
func (n *night) close() {
	o := n.out
	slices.Sort(n.took)
	o.People.P50, o.People.P95, o.People.Longest = quantile(n.took, 0.5), quantile(n.took, 0.95), quantile(n.took, 1)
	for _, r := range n.rows {
		if n.fleet.queued[r.ticket] != nil {
			o.Bulk.Reschedules += float64(r.looks)
		}
	}
	o.Bulk.Reschedules /= float64(max(1, o.Bulk.Rows))
	until := n.s.Duration
	if o.Bulk.Finish > 0 { // what people use afterwards is no use of room
		until = o.Bulk.Finish
	}
	o.Bulk.PerMinute = float64(o.Bulk.Done) / until.Minutes()
	for i := range o.Points {
		o.People.PeakRPM, o.People.PeakTPM = max(o.People.PeakRPM, o.Points[i].came), max(o.People.PeakTPM, o.Points[i].wants)
	}
	o.Used = o.used(n.s.Provider.Limits, int(until/time.Minute))
	o.MostRPM, o.MostTPM = n.server.MaxInWindow(model, geminitest.Requests, time.Minute), n.server.MaxInWindow(model, geminitest.InputTokens, time.Minute)
	o.SentRPM = n.server.MaxSent(model, geminitest.Requests, time.Minute)
}

// used is the part of the limit of which the most is used.
func (o *Outcome) used(l geminitest.Limits, minutes int) float64 {
	var calls, tokens int64
	for _, p := range o.Points[:min(minutes, len(o.Points))] {
		calls, tokens = calls+p.People+p.Bulk, tokens+p.PeopleTokens+p.BulkTokens
	}
	share := func(n, limit int64) float64 {
		if limit <= 0 || minutes == 0 {
			return 0
		}
		return float64(n) / float64(limit) / float64(minutes)
	}
	return max(share(calls, l.RPM), share(tokens, l.InputTPM))
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
