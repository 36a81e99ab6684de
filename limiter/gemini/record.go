package gemini

import (
	"time"

	"nightshift/limiter"
)

// Record is what is kept of one call, sent or refused. It holds no prompt, no
// answer and no key.
type Record struct {
	Time     time.Time        `json:"time"` // when the call came
	TraceID  string           `json:"trace_id"`
	Parent   string           `json:"parent_span,omitempty"` // Caller.Parent
	Scope    string           `json:"scope,omitempty"`       // provider/project
	Lane     string           `json:"lane,omitempty"`
	Method   string           `json:"method,omitempty"`
	Class    string           `json:"class,omitempty"`
	Feature  string           `json:"feature,omitempty"`
	Path     limiter.Path     `json:"path,omitzero"`
	Run      string           `json:"run,omitempty"`
	Row      string           `json:"row,omitempty"`
	Attempt  int              `json:"attempt,omitempty"`
	Permit   string           `json:"permit,omitempty"`
	Held     time.Time        `json:"held,omitzero"`         // when the permit was given, by the clock that decides: its day and month are charged
	Estimate limiter.Amounts  `json:"estimate"`              // indexed by limiter.Unit; how far it was off shows beside usage
	RuleIn   int64            `json:"rule_input,omitempty"`  // input tokens by rule, before what was learned corrected them
	MostOut  int64            `json:"most_output,omitempty"` // output tokens that the request allows
	Used     limiter.Amounts  `json:"used"`                  // what was settled
	Usage    *Usage           `json:"usage,omitempty"`
	Decision limiter.Decision `json:"decision"`          // "admitted" when nobody refused
	Refusal  limiter.Reason   `json:"refusal,omitempty"` // the limiter's reason
	Node     string           `json:"node,omitempty"`    // whose limit it was, where not the lane's: "tenant/acme"
	Limit    string           `json:"limit,omitempty"`   // the limit that refused, ours or the provider's
	// QuotaValue is the provider's limit as its refusal states it; 0 when it does not.
	QuotaValue int64 `json:"quota_value,omitempty"`
	// Over is the limit or reason that would have refused a call that was only
	// observed, or reported afterwards.
	Over   string `json:"over,omitempty"`
	Direct bool   `json:"direct,omitempty"` // made elsewhere and reported (Direct)
	Lent   bool   `json:"lent,omitempty"`   // made elsewhere, under a permit of ours (Lender)
	Soft   bool   `json:"soft,omitempty"`   // let through by the local allowance
	WaitMS int64  `json:"wait_ms"`
	TookMS int64  `json:"took_ms"`
	// FirstMS is from sending to the first token of a stream, at least 1; 0 for
	// what had none.
	FirstMS  int64  `json:"first_ms,omitempty"`
	Sent     bool   `json:"sent"`
	Status   int    `json:"status,omitempty"`
	Verdict  Kind   `json:"verdict,omitempty"` // "" for a good answer
	Affects  Scope  `json:"affects,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Finish   string `json:"finish,omitempty"`
	Error    string `json:"error,omitempty"`     // redacted, at most 300 bytes
	MicroUSD *int64 `json:"micro_usd,omitempty"` // what was charged by the price book; sums of it are exact
	// CacheSaved is what the input that the provider had in its cache would have cost
	// more as fresh input, in micro-dollars.
	CacheSaved int64 `json:"cache_saved_micro_usd,omitempty"`
	// WaitedFor is what the call waited for in place, before its permit or its
	// refusal; "" when it did not wait.
	WaitedFor limiter.Reason `json:"waited_for,omitempty"`
	Assumed   bool           `json:"assumed,omitempty"` // the cost is assumed: the answer broke off before it said what it took
	// Price is "unknown" or "expired" when the dearest was charged.
	Price PriceState `json:"price,omitempty"`
	// Degraded is what the caller got in the place of this call's answer. Another
	// model's answer has a record of its own, whose Instead names this one's model.
	Degraded *Degradation `json:"degraded,omitempty"`
	Instead  string       `json:"instead,omitempty"`
	// Asked is the model, or alias, that the caller named when the call went to
	// another, Called.
	Asked  string `json:"asked,omitempty"`
	Called string `json:"called,omitempty"`
	// Ramp is the scope of the ramp that decided where the call goes; RampSide what
	// it decided (SideMoved, …), "" once it has finished.
	Ramp     string `json:"ramp,omitempty"`
	RampSide string `json:"ramp_side,omitempty"`

	rampSeed string // of that ramp: tells it from others of its scope
}

// Decisions of records beside the limiter's own. A refusal of the provider goes
// before the first three.
const (
	Admitted       limiter.Decision = "admitted" // neither we nor the provider refused
	Observed       limiter.Decision = "observed" // only watched: we would have refused, Record.Over says why
	SoftAdmitted   limiter.Decision = "soft"     // let through by the local allowance while the shared state was away
	ReportedDirect limiter.Decision = "direct"   // made elsewhere and reported
)

// record keeps what became of the call, at once or when it is known whether
// the caller gets another answer. A caller that only wanted a place in the line
// made none.
func (c *call) record(err error) {
	if !c.flowing && c.mayDegrade() {
		c.pending, c.failure = true, err
		return
	}
	c.put(err)
}

func (c *call) recordNow() {
	if c.pending {
		c.pending = false
		c.put(c.failure)
	}
}

func (c *call) put(err error) {
	if c.t.cfg.Records == nil && c.t.cfg.Metrics == nil || c.caller.Full {
		return
	}
	o := c.obs
	r := Record{
		Time: c.begin, TraceID: o.TraceID, Parent: c.caller.Parent, Method: c.route.method,
		Class: c.caller.Class, Feature: c.caller.Feature, Path: c.caller.Path,
		Run: c.caller.Run, Row: c.caller.Row, Attempt: c.caller.Attempt,
		Estimate: o.Estimate, RuleIn: c.guess.Input, MostOut: c.guess.Output, Used: o.Used, Decision: o.Decision,
		WaitMS: o.Waited.Milliseconds(), TookMS: o.Took.Milliseconds(), FirstMS: firstMS(o.FirstToken),
		Sent: !c.sentAt.IsZero(), Status: o.Status, Finish: o.Finish, Over: o.Over, Lent: c.lent, Soft: o.Soft,
		Degraded: o.Degraded, Instead: c.caller.Instead, WaitedFor: o.waitedFor,
	}
	c.recordLane(&r)
	c.recordRoute(&r)
	c.recordEnd(&r, err)
	c.t.cfg.Metrics.Put(r)
	if c.t.cfg.Records != nil {
		c.t.cfg.Records.Put(r)
	}
}

func (c *call) recordLane(r *Record) {
	if c.obs.Lane.Model != "" {
		r.Scope, r.Lane = c.obs.Lane.Scope().String(), c.obs.Lane.String()
	}
	if c.obs.Permit != nil {
		r.Permit, r.Held = c.obs.Permit.ID, c.obs.Permit.Granted
	}
}

func (c *call) recordEnd(r *Record, err error) {
	o := c.obs
	if o.HasUsage {
		u := o.Usage
		r.Usage = &u
	}
	r.Price = o.Price
	if o.costed() {
		cost := o.MicroUSD
		r.MicroUSD, r.Assumed, r.CacheSaved = &cost, o.Assumed, o.cacheSaved
	}
	if d := o.Denied; d != nil {
		r.Refusal, r.Limit = d.Reason, d.Limiter
		if d.Node != "lane" {
			r.Node = d.Node
		}
	}
	if v := o.Verdict; v != nil {
		r.provider(*v)
	}
	if r.saved() && o.Permit != nil {
		r.Limit = o.Permit.Soft
	}
	if r.Decision == "" {
		r.Decision = o.passed(r.Sent)
	}
	r.Error = c.errorText(err)
}

// provider fills what the provider's answer meant. A refusal for quota names the
// provider's limit.
func (r *Record) provider(v Verdict) {
	r.Verdict, r.Affects, r.Reason = v.Kind, v.Scope, v.Reason
	if v.Kind == Wait || v.Kind == DailyReset {
		r.Limit, r.QuotaValue = v.Reason, v.Limit
	}
}

// passed is the decision about a call that nobody refused.
func (o *Observation) passed(sent bool) limiter.Decision {
	switch {
	case !sent:
		return limiter.RejectedLocally
	case o.Over != "":
		return Observed
	case o.Soft:
		return SoftAdmitted
	}
	return Admitted
}

// firstMS is never 0 for a stream that had a token.
func firstMS(d time.Duration) int64 {
	if d == 0 {
		return 0
	}
	return max(1, d.Milliseconds())
}

func (c *call) errorText(err error) string {
	text := ""
	switch {
	case err != nil:
		text = err.Error()
	case c.obs.Verdict != nil && len(c.obs.Verdict.Evidence) > 0:
		text = c.obs.Verdict.Evidence[0]
	}
	if text == "" {
		return ""
	}
	return clip(redactKey(text, c.key), 300)
}

// clip cuts a text at a rune's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
