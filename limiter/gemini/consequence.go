package gemini

import (
	"time"

	"nightshift/limiter"
)

// Consequence is what follows from a verdict: for the job that met it, for the lane,
// for the provider's project. It is the one table of that; the transport acts on the
// lane's and the project's part, the worker on the job's.
type Consequence struct {
	Job     JobPart     `json:"job"`
	Lane    LanePart    `json:"lane"`
	Project ProjectPart `json:"project"`
	Until   time.Time   `json:"until,omitzero"` // when it is over if nobody acts; zero: not known, or at once
	Lift    string      `json:"lift"`           // who may end it before, for people
}

// JobAction is what becomes of the job.
type JobAction string

// The actions.
const (
	JobWaits   JobAction = "waits"   // comes back; no attempt is counted, since it is not to blame
	JobRetries JobAction = "retries" // an attempt is counted, with growing pauses
	JobFails   JobAction = "fails"   // it ends: the same call can never succeed
)

// JobPart is what becomes of the job.
type JobPart struct {
	Action JobAction     `json:"action"`
	Wait   time.Duration `json:"wait"` // of JobWaits
	Why    string        `json:"why"`  // of JobWaits, for people: "waiting for budget"
	Lane   bool          `json:"lane"` // of JobRetries: the lane's trouble, perhaps, and not the job's
	Alarm  bool          `json:"alarm"`
}

// LanePart is what happens to the lane.
type LanePart struct {
	Rest    time.Duration        `json:"rest"`    // nothing starts for so long; 0: it does not rest
	Lower   limiter.FeedbackKind `json:"lower"`   // "": no limit is lowered
	Limit   string               `json:"limit"`   // of Lower: the limit that was named; "" is all of the minute's
	Breaker limiter.Reason       `json:"breaker"` // what callers are told while it is open; "": none opens
	Certain bool                 `json:"certain"` // of Breaker: until Until; else one short retry for the fleet, then rarer looks
	Longest time.Duration        `json:"longest"` // of Breaker: between two looks; 0: an hour
}

// ProjectPart is what happens to the provider's project.
type ProjectPart struct {
	Breaker bool   `json:"breaker"` // LanePart.Breaker closes every lane
	Pause   string `json:"pause"`   // why bulk is paused: budget, credentials; "": it is not
	Alert   bool   `json:"alert"`   // somebody should look: once for each stretch
}

// The waits for what gives no time of its own. The lane rests or a breaker is open
// meanwhile, so one job looks again for all.
const (
	operatorWait = time.Minute
	budgetWait   = 10 * time.Minute
	unknownWait  = 15 * time.Second
	capacityRest = time.Second // a shared 429 is no quota: concurrency is what has to fall
	restMost     = 26 * time.Hour
	keyLooks     = 10 * time.Minute // between two looks at a key, model or project that somebody may have mended
)

// Who may end it.
const (
	liftItself = "it goes on by itself"
	liftKey    = "it goes on when a look finds a key that works; `nightshift resume bulk` looks at once"
	liftMoney  = "it goes on by itself when a look finds money again (a raised cap, new credits); `nightshift resume bulk` looks at once"
	liftMend   = "somebody must mend it; it goes on when a look finds that; `nightshift resume bulk` looks at once"
	liftWorker = "this machine's way out has to be mended; others go on"
	liftNobody = "nobody: the same call fails again"
)

// ConsequenceOf says what follows from a verdict. Our own ledger comes first: when it
// says that the day or the budget is spent, a refusal for some quota that is not named
// is that, whatever its hint.
func ConsequenceOf(v Verdict, l Ledger) Consequence {
	v = l.Correct(v)
	switch {
	case v.Scope == ScopeWorker:
		return Consequence{Job: waits(operatorWait, "waiting for a way to the provider", v), Lift: liftWorker}
	case v.Kind == Permanent && v.Credential:
		return refusedKeyFollows(v)
	}
	switch v.Kind {
	case Wait:
		return waitFollows(v, l)
	case DailyReset:
		return dayFollows(v, l)
	case BudgetStop:
		return budgetFollows(v, l)
	case Permanent:
		return permanentFollows(v)
	case Unknown:
		return unknownFollows(v, l)
	}
	return backoffFollows(v, l)
}

func waits(d time.Duration, why string, v Verdict) JobPart {
	return JobPart{Action: JobWaits, Wait: d, Why: why + " (" + v.Reason + ")"}
}

func alarmed(d time.Duration, why string, v Verdict) JobPart {
	j := waits(d, why, v)
	j.Alarm = true
	return j
}

// own holds for what concerns no more than the job itself.
func (s Scope) own() bool { return s == ScopeJob || s == ScopeTool || s == "" }

// all holds for what concerns every lane.
func (s Scope) all() bool { return s == ScopeProject || s == ScopeBilling }

// waitFollows: a minute's limit, or the provider's limit of money in ten minutes.
func waitFollows(v Verdict, l Ledger) Consequence {
	d := l.until(v, unknownWait)
	c := Consequence{Job: waits(d, "waiting for the provider's quota", v), Until: l.Now.Add(d), Lift: liftItself}
	switch {
	case v.Scope.all():
		c.Lane = LanePart{Breaker: limiter.ReasonSpend, Certain: true}
		c.Project = ProjectPart{Breaker: true, Pause: "budget", Alert: true}
	case !v.Scope.own():
		// a second more: hints are of the provider's clock and way
		c.Lane = LanePart{Rest: min(v.RetryAfter+time.Second, restMost), Lower: limiter.RejectedAfterAdmit, Limit: limitOf(v)}
	}
	return c
}

func dayFollows(v Verdict, l Ledger) Consequence {
	d := l.until(v, operatorWait)
	c := Consequence{Job: waits(d, "waiting for the day's quota", v), Until: l.Now.Add(d), Lift: liftItself}
	if v.Scope.own() {
		return c
	}
	c.Lane = LanePart{Breaker: limiter.ReasonBreaker, Certain: true, Lower: limiter.RejectedAfterAdmit, Limit: limitOf(v)}
	c.Project.Breaker = v.Scope.all()
	return c
}

func budgetFollows(v Verdict, l Ledger) Consequence {
	c := Consequence{Job: alarmed(l.until(v, budgetWait), "waiting for budget", v), Until: v.RetryAt, Lift: liftMoney}
	if v.Scope.own() {
		return c
	}
	c.Lane = LanePart{Breaker: limiter.ReasonSpend, Certain: true}
	if v.Scope.all() {
		c.Project = ProjectPart{Breaker: true, Pause: "budget", Alert: true}
	}
	return c
}

func refusedKeyFollows(v Verdict) Consequence {
	return Consequence{
		Job:     alarmed(operatorWait, "waiting for a working API key", v),
		Lane:    LanePart{Breaker: limiter.ReasonCredentials, Certain: true, Longest: keyLooks},
		Project: ProjectPart{Breaker: true, Pause: "credentials", Alert: true}, Lift: liftKey,
	}
}

// permanentFollows tells a job that can never succeed from a lane or project where
// nothing can.
func permanentFollows(v Verdict) Consequence {
	if v.Scope.own() {
		return Consequence{Job: JobPart{Action: JobFails}, Lane: neverFitsFollows(v), Lift: liftNobody}
	}
	c := Consequence{
		Job:  alarmed(operatorWait, "waiting for an operator", v),
		Lane: LanePart{Breaker: limiter.ReasonBreaker, Certain: true, Longest: keyLooks}, Lift: liftMend,
	}
	if v.Scope.all() {
		c.Project = ProjectPart{Breaker: true, Pause: "credentials", Alert: true}
	}
	return c
}

// neverFitsFollows adopts a minute's limit that is smaller than ours.
func neverFitsFollows(v Verdict) LanePart {
	if v.Reason == reasonNeverFits {
		return LanePart{Lower: limiter.RejectedAfterAdmit, Limit: "input_tpm"}
	}
	return LanePart{}
}

// unknownFollows: one short retry for the whole fleet, then rarer looks until the
// day's quota would be there again.
func unknownFollows(v Verdict, l Ledger) Consequence {
	if v.Scope.own() {
		return Consequence{Job: JobPart{Action: JobRetries}, Lift: liftItself}
	}
	return Consequence{
		Job:     waits(l.until(v, unknownWait), "waiting for the provider to explain itself", v),
		Lane:    LanePart{Breaker: limiter.ReasonBreaker},
		Project: ProjectPart{Breaker: v.Scope.all()},
		Until:   NextPacificMidnight(l.Now), Lift: liftItself + "; `nightshift resume bulk` looks at once",
	}
}

// backoffFollows: a passing fault. A 429 for want of capacity meets whoever comes,
// so no job is to blame.
func backoffFollows(v Verdict, l Ledger) Consequence {
	c := Consequence{Job: JobPart{Action: JobRetries, Lane: v.Scope != ScopeJob}, Lift: liftItself}
	if v.Reason == ReasonFlex {
		c.Job = waits(l.until(v, unknownWait), "waiting for capacity of the flex tier", v)
	}
	if v.Scope.own() {
		return c
	}
	switch v.Reason {
	case reasonCapacity:
		d := l.until(v, unknownWait)
		c.Job = waits(d, "waiting for the provider's capacity", v)
		c.Lane = LanePart{Rest: max(capacityRest, min(v.RetryAfter, time.Minute)), Lower: limiter.Capacity}
		c.Until = l.Now.Add(c.Lane.Rest)
	case "overloaded":
		c.Lane.Lower = limiter.Capacity
	}
	return c
}

// reasonUnexplained is a refusal that says nothing that could be read.
const reasonUnexplained = "unexplained"

// reasonCapacity is a refusal for want of machines, not of quota.
const reasonCapacity = "capacity"

// limitOf is the limit that a verdict names; "" where it names none.
func limitOf(v Verdict) string {
	if v.Reason == reasonHinted {
		return ""
	}
	return v.Reason
}
