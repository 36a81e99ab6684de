package limiter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// BreakerScope is how much a breaker closes.
type BreakerScope string

// The scopes.
const (
	BreakLane    BreakerScope = "lane"
	BreakProject BreakerScope = "project" // every lane of the provider's project
)

// Trip is proof that calls are hopeless now, from one answer of the provider. What
// is the caller's own fault (a bad request, a blocked prompt) and what our own rules
// refused is none.
type Trip struct {
	Lane      Lane // that was called
	Scope     BreakerScope
	Reason    Reason        // ReasonBreaker, ReasonSpend or ReasonCredentials: what refused callers are told
	Certain   bool          // the answer says why, so that it holds until Until
	Until     time.Time     // when it is over: the month's or the day's end; zero: not known, somebody must act
	NotBefore time.Time     // the provider's hint: nobody looks before; zero: none
	Longest   time.Duration // between two looks; 0: an hour
	Permit    string        // of the call
	Key       string        // of ReasonCredentials: a short hash of the key that was refused
	By        string        // the process that saw it
	Lift      string        // who may end it before, for people
	Detail    string        // what the provider said, for people; no keys
}

// BreakerPhase is what a breaker does at a moment.
type BreakerPhase string

// The phases.
const (
	BreakerOpen     BreakerPhase = "open"      // everything is refused
	BreakerHalfOpen BreakerPhase = "half_open" // the next request is the look
	BreakerProbing  BreakerPhase = "probing"   // a look is under way; all others are refused
)

// BreakerState is a breaker that is not closed.
type BreakerState struct {
	Scope   BreakerScope `json:"scope"`
	Lane    string       `json:"lane,omitempty"` // Lane.String() of BreakLane
	Phase   BreakerPhase `json:"phase"`
	Reason  Reason       `json:"reason"`
	Certain bool         `json:"certain"`
	Since   time.Time    `json:"since"`
	Until   time.Time    `json:"until,omitzero"`   // when it is over if nobody acts; zero: not known
	Next    time.Time    `json:"next"`             // when one call looks whether it still holds
	Looks   int64        `json:"looks"`            // how many calls have looked
	Failed  int64        `json:"failed"`           // how many of those found that it holds, one after the other
	Probe   string       `json:"probe,omitempty"`  // permit of the latest look
	Owner   string       `json:"owner,omitempty"`  // the process that saw it
	Lift    string       `json:"lift,omitempty"`   // who may end it before
	Detail  string       `json:"detail,omitempty"` // what the provider said
	// Alone answers a Trip for a refused key only: another process's key works, so
	// nothing was closed. The caller's own way out is.
	Alone bool `json:"alone,omitempty"`
	// Opened answers a Trip only: this one opened the breaker, or changed why it is
	// open.
	Opened bool `json:"opened,omitempty"`
}

// String says in a sentence what is closed, why, until when (as Instants), and who may
// lift it.
func (s BreakerState) String() string {
	what := "all calls to the provider's project are held back"
	if s.Scope == BreakLane {
		what = "calls of " + s.Lane + " are held back"
	}
	text := what + ": " + cmp.Or(s.Detail, string(s.Reason)) + "; "
	if !s.Until.IsZero() {
		text += "until " + Instant(s.Until) + ", "
	}
	looks := Instant(s.Next)
	if s.Phase == BreakerProbing {
		looks = "this moment"
	}
	text += "one call looks again at " + looks
	if s.Lift != "" {
		text += "; " + s.Lift
	}
	return text
}

// probeLease is how long one look keeps others from looking: longer ones are not
// waited for.
const probeLease = time.Minute

// keyFresh is how long a key that worked counts as one that works.
const keyFresh = 2 * time.Minute

// The times between looks, in ms. Without certainty the first is one short retry for
// the whole fleet; what is sure and has no end is looked at by the other steps.
var (
	unsureSteps = []int64{15_000, 60_000, 180_000, 600_000, 3_600_000}
	sureSteps   = []int64{60_000, 180_000, 600_000, 1_800_000, 3_600_000}
)

// breaker is the record of one, as lua/breaker.lua keeps it: numbers, and a line
// each of texts.
type breaker struct {
	since, next, until, level, looks, certain, probeEnds, most int64

	reason, probe, probeLane, owner, lift, detail string
}

func readBreaker(record string) (b breaker, err error) {
	f := strings.SplitN(record, "\n", 7)
	var n []int64
	if err = json.Unmarshal([]byte(f[0]), &n); err != nil || len(n) != 8 || len(f) != 7 {
		return b, fmt.Errorf("limiter: a breaker is stored as %q", record)
	}
	b.since, b.next, b.until, b.level, b.looks, b.certain, b.probeEnds, b.most = n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]
	b.reason, b.probe, b.probeLane, b.owner, b.lift, b.detail = f[1], f[2], f[3], f[4], f[5], f[6]
	return b, nil
}

// state is the breaker as people and callers see it at t. probing says that the
// permit of the look is still open.
func (b breaker) state(s Scope, lane string, t int64, probing bool) BreakerState {
	out := BreakerState{Scope: BreakProject, Phase: BreakerHalfOpen, Reason: Reason(b.reason), Certain: b.certain == 1,
		Since: time.UnixMilli(b.since), Next: time.UnixMilli(b.next), Looks: b.looks, Failed: b.level, Probe: b.probe,
		Owner: b.owner, Lift: b.lift, Detail: b.detail}
	if lane != "" {
		out.Scope, out.Lane = BreakLane, s.String()+"/"+lane
	}
	switch {
	case probing && t < b.probeEnds:
		out.Phase = BreakerProbing
	case t < b.next:
		out.Phase = BreakerOpen
	}
	if b.until > 0 && (b.certain == 1 || b.level >= int64(len(unsureSteps)-1)) {
		out.Until = time.UnixMilli(b.until)
	}
	return out
}

func (t Trip) check(s Scope) error {
	switch {
	case t.Lane.Scope() != s:
		return wrong("trip.lane", "%s is not of scope %s", t.Lane, s)
	case t.Scope != BreakLane && t.Scope != BreakProject:
		return wrong("trip.scope", "%q; want %q or %q", t.Scope, BreakLane, BreakProject)
	case t.Reason != ReasonBreaker && t.Reason != ReasonSpend && t.Reason != ReasonCredentials:
		return wrong("trip.reason", "%q; want %q, %q or %q", t.Reason, ReasonBreaker, ReasonSpend, ReasonCredentials)
	}
	return nil
}

// field is what the breaker's record is kept under.
func (t Trip) field() string {
	if t.Scope == BreakProject {
		return ""
	}
	return t.Lane.short()
}

func (t Trip) longest() int64 {
	if t.Longest <= 0 {
		return time.Hour.Milliseconds()
	}
	return t.Longest.Milliseconds()
}

// msOf is a moment in ms; 0 for none.
func msOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// The codes of lua/trip.lua.
const (
	tripIgnored, tripOpened, tripAgain, tripAlone = 0, 1, 2, 3
	keyCloses, keyLooks                           = 1, 2
)

// alone answers the trip of a key that only its own process has.
func (t Trip) alone() BreakerState {
	return BreakerState{Scope: t.Scope, Reason: t.Reason, Owner: t.By, Detail: t.Detail, Alone: true}
}

// event tells that a breaker opened: what nobody can explain when the one short
// retry failed too.
func (s BreakerState) event(code int64) (Event, bool) {
	e := Event{Kind: EventBreaker, Subject: s.Lane, By: s.Owner, Text: s.String(), Data: map[string]string{"reason": string(s.Reason)}}
	if s.Scope == BreakProject {
		e.Kind, e.Subject = EventAlert, "provider"
	}
	if !s.Until.IsZero() {
		e.Data["until"] = s.Until.UTC().Format(time.RFC3339)
	}
	return e, code == tripOpened && s.Certain || code == tripAgain && !s.Certain && s.Failed == 1
}

// closed tells that a breaker whose opening was told is closed.
func (s BreakerState) closed(by string) (Event, bool) {
	e := Event{Kind: EventResume, Subject: cmp.Or(s.Lane, "provider"), By: by, Text: "calls go on"}
	if s.Lane != "" {
		e.Text = "calls of " + s.Lane + " go on"
	}
	e.Text += " after " + cmp.Or(s.Detail, string(s.Reason))
	return e, s.Certain || s.Failed > 0
}
