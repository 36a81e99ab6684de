package gemini

import (
	"context"
	"net/http"
	"time"

	"nightshift/limiter"
)

// DirectCall is a call that was made elsewhere, past the gate, as its maker
// reports it afterwards.
type DirectCall struct {
	Model   string // any of its names
	Class   string //
	Feature string //
	Path    limiter.Path

	InputTokens  int64         // 0 when it is not known
	OutputTokens int64         // thinking included
	Status       int           // HTTP status; 0 when there was no answer
	Latency      time.Duration // from sending to the last byte
	FirstToken   time.Duration // of a stream; 0 for a unary call
	ErrorBody    []byte        // what the provider answered with a status from 400 on; optional, it is classified
	TraceID      string        // made when empty
	Prices       *PriceBook    // nil means the embedded book
}

// Direct counts a call that was made elsewhere: a permit that cannot be refused
// is charged and settled at once, a refusal in the provider's words lets the lane rest
// as one of ours would, and a Record is kept, also when the limiter cannot be
// reached (which is the error then). records may be nil. A report that makes no
// sense is a *RefusedError, a model without limits an *UnknownModelError;
// neither is counted.
func Direct(ctx context.Context, gate Gate, lanes *LaneMap, records Records, d DirectCall, now time.Time) error {
	if err := d.check(); err != nil {
		return err
	}
	lane, model, err := lanes.Lookup(d.Model)
	if err != nil {
		return err
	}
	if d.TraceID == "" {
		d.TraceID = newID()
	}
	r := d.record(lane, model, now)
	v := d.verdict(now)
	if v != nil {
		r.provider(*v)
		r.Error = clip(Redact(firstOf(v.Evidence)), 300)
	}
	r.Permit, r.Over, err = d.charge(ctx, gate, lane, r.Used)
	if records != nil {
		records.Put(r)
	}
	// Only what is about the project's quota, since the key was another one's, and
	// what the provider's own words say: a bare status lets nobody else wait.
	if v != nil && refusedThere(r) {
		directTeller(gate, now).direct(ctx, lane, *v)
	}
	return err
}

func (d DirectCall) check() error {
	switch {
	case d.Class == "":
		return refuse(http.StatusBadRequest, "class: must be set")
	case d.Feature == "":
		return refuse(http.StatusBadRequest, "feature: must be set")
	case d.Model == "":
		return refuse(http.StatusBadRequest, "model: must be set")
	case d.InputTokens < 0 || d.OutputTokens < 0:
		return refuse(http.StatusBadRequest, "tokens: %d in and %d out; want none below zero", d.InputTokens, d.OutputTokens)
	case d.Latency < 0 || d.FirstToken < 0 || d.FirstToken > d.Latency:
		return refuse(http.StatusBadRequest, "latency %s, first token after %s: want 0 ≤ first token ≤ latency", d.Latency, d.FirstToken)
	case d.Status != 0 && (d.Status < 100 || d.Status > 599):
		return refuse(http.StatusBadRequest, "status %d is none of HTTP", d.Status)
	}
	return nil
}

// verdict is what the answer meant; nil for a good one. What was in a 200 is not
// reported, so it is taken for good.
func (d DirectCall) verdict(now time.Time) *Verdict {
	switch {
	case d.Status/100 == 2:
		return nil
	case d.Status == 0:
		return passing("connection", "no answer")
	}
	v := Classify(Answer{Status: d.Status, Body: d.ErrorBody}, now)
	return &v
}

func (d DirectCall) record(lane limiter.Lane, model Model, now time.Time) Record {
	r := Record{
		Time: now.Add(-d.Latency), TraceID: d.TraceID, Scope: lane.Scope().String(), Lane: lane.String(),
		Method: "generateContent", Class: d.Class, Feature: d.Feature, Path: d.Path,
		Decision: ReportedDirect, Direct: true, Sent: true, Status: d.Status, TookMS: d.Latency.Milliseconds(),
	}
	if d.FirstToken > 0 {
		r.Method, r.FirstMS = "streamGenerateContent", max(1, d.FirstToken.Milliseconds())
	}
	r.Used[limiter.Requests] = 1
	r.Used[limiter.InputTokens], r.Used[limiter.OutputTokens] = d.InputTokens, d.OutputTokens
	r.Used[limiter.TotalTokens] = d.InputTokens + d.OutputTokens
	book := d.Prices
	if book == nil {
		book = EmbeddedPrices()
	}
	bill := book.Bill(model.PricedAs(book, d.Model), Usage{Prompt: d.InputTokens, Candidates: d.OutputTokens}, r.Time)
	cost := bill.MicroUSD()
	r.MicroUSD, r.Used[limiter.MicroUSD], r.Price = &cost, cost, bill.state()
	return r
}

// charge takes a permit for what was used and settles it.
func (d DirectCall) charge(ctx context.Context, gate Gate, lane limiter.Lane, used limiter.Amounts) (id, over string, err error) {
	permit, err := gate.Acquire(ctx, limiter.Request{
		ID: newID(), Lane: lane, Class: d.Class, Path: d.Path, Feature: d.Feature, Amounts: used, Force: true,
	})
	if err != nil {
		return "", "", err
	}
	return permit.ID, permit.Over, gate.Settle(ctx, limiter.Settlement{ID: permit.ID, Lane: lane, Outcome: limiter.Settled, Used: used})
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
