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
	Scope    string           `json:"scope,omitempty"` // provider/project
	Lane     string           `json:"lane,omitempty"`
	Method   string           `json:"method,omitempty"`
	Class    string           `json:"class,omitempty"`
	Feature  string           `json:"feature,omitempty"`
	Path     limiter.Path     `json:"path,omitzero"`
	Run      string           `json:"run,omitempty"`
	Row      string           `json:"row,omitempty"`
	Attempt  int              `json:"attempt,omitempty"`
	Permit   string           `json:"permit,omitempty"`
	Estimate limiter.Amounts  `json:"estimate"` // indexed by limiter.Unit
	Used     limiter.Amounts  `json:"used"`     // what was settled
	Usage    *Usage           `json:"usage,omitempty"`
	Decision limiter.Decision `json:"decision"`          // "admitted" when nobody refused
	Refusal  limiter.Reason   `json:"refusal,omitempty"` // the limiter's reason
	Limit    string           `json:"limit,omitempty"`   // the limit that refused
	WaitMS   int64            `json:"wait_ms"`
	TookMS   int64            `json:"took_ms"`
	Sent     bool             `json:"sent"`
	Status   int              `json:"status,omitempty"`
	Verdict  Kind             `json:"verdict,omitempty"` // "" for a good answer
	Affects  Scope            `json:"affects,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Finish   string           `json:"finish,omitempty"`
	Error    string           `json:"error,omitempty"` // redacted, at most 300 bytes
	MicroUSD *int64           `json:"micro_usd,omitempty"`
}

// Admitted is a record's decision when neither we nor the provider refused.
const Admitted limiter.Decision = "admitted"

// record keeps what became of the call. A caller that only wanted a place in
// the line made none.
func (c *call) record(err error) {
	if c.t.cfg.Records == nil || c.caller.Full {
		return
	}
	o := c.obs
	r := Record{
		Time: c.begin, TraceID: o.TraceID, Method: c.route.method,
		Class: c.caller.Class, Feature: c.caller.Feature, Path: c.caller.Path,
		Run: c.caller.Run, Row: c.caller.Row, Attempt: c.caller.Attempt,
		Estimate: o.Estimate, Used: o.Used, Decision: o.Decision,
		WaitMS: o.Waited.Milliseconds(), TookMS: o.Took.Milliseconds(),
		Sent: !c.sentAt.IsZero(), Status: o.Status, Finish: o.Finish,
	}
	c.recordLane(&r)
	c.recordEnd(&r, err)
	c.t.cfg.Records.Put(r)
}

func (c *call) recordLane(r *Record) {
	if c.obs.Lane.Model != "" {
		r.Scope, r.Lane = c.obs.Lane.Scope().String(), c.obs.Lane.String()
	}
	if c.obs.Permit != nil {
		r.Permit = c.obs.Permit.ID
	}
}

func (c *call) recordEnd(r *Record, err error) {
	o := c.obs
	if o.HasUsage {
		u := o.Usage
		r.Usage = &u
	}
	if o.Priced {
		cost := o.MicroUSD
		r.MicroUSD = &cost
	}
	if d := o.Denied; d != nil {
		r.Refusal, r.Limit = d.Reason, d.Limiter
	}
	if v := o.Verdict; v != nil {
		r.Verdict, r.Affects, r.Reason = v.Kind, v.Scope, v.Reason
	}
	if r.Decision == "" {
		r.Decision = Admitted
		if !r.Sent {
			r.Decision = limiter.RejectedLocally
		}
	}
	r.Error = c.errorText(err)
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
	return clip(redactKey(text, c.t.cfg.APIKey), 300)
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
