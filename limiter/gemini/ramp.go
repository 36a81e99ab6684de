package gemini

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// EventRamp is the kind of the events that tell of ramps.
const EventRamp = "ramp"

// RampScope says whose calls a ramp moves.
type RampScope struct {
	Kind string `json:"kind"` // feature, tenant, team, key, or route for an alias
	Name string `json:"name"`
}

// RampKinds are the kinds of scopes, the narrowest first: where several ramps are
// for one call, the narrowest alone decides.
var RampKinds = []string{"key", "team", "tenant", "feature", "route"}

// String is "feature/chat".
func (s RampScope) String() string { return s.Kind + "/" + s.Name }

// ParseRampScope reads "feature/chat". The error says what is wanted.
func ParseRampScope(text string) (RampScope, error) {
	kind, name, _ := strings.Cut(text, "/")
	if !slices.Contains(RampKinds, kind) || !validName(name) {
		return RampScope{}, fmt.Errorf("%q: want feature/NAME, tenant/NAME, team/NAME, key/ID or route/ALIAS", text)
	}
	return RampScope{Kind: kind, Name: name}, nil
}

// RampPhase is what a ramp is doing.
type RampPhase string

// The phases. In the first three calls are moved by share.
const (
	RampMoving     RampPhase = "moving"      // the share grows with time
	RampBad        RampPhase = "bad"         // the moved calls fare badly: the share stays, and falls a step when that does not end
	RampHeld       RampPhase = "held"        // by a person: the share stays, whatever is seen
	RampRolledBack RampPhase = "rolled back" // no call is moved; kept to be read
	RampFinished   RampPhase = "finished"    // every call is moved, until the configuration says the same
)

// RampSticky says what keeps to one model.
type RampSticky string

// By what calls keep together. The session of a caller that names one goes before
// each but StickyKey.
const (
	StickyConversation RampSticky = "conversation" // what begins alike under one key: the turns of a conversation
	StickyKey          RampSticky = "key"          // all calls of a key
	StickyCall         RampSticky = "call"         // each call for itself
)

// RampLimits say when the moved calls fare too badly to move more. Zero fields
// are those of the configuration.
type RampLimits struct {
	Samples    int64         `json:"samples,omitempty"`     // fewer moved calls say nothing of time, and end no step
	P95        time.Duration `json:"p95,omitempty"`         // of calls that are not streamed
	FirstToken time.Duration `json:"first_token,omitempty"` // 95th percentile of streams
	SlowerPPM  int64         `json:"slower_ppm,omitempty"`  // both, of those of the calls that stayed: 1,500,000 is half as long again

	RefusedPPM  int64 `json:"refused_ppm,omitempty"`  // by the provider for quota, or here
	FailedPPM   int64 `json:"failed_ppm,omitempty"`   // other errors, above the part of the calls that stayed
	DegradedPPM int64 `json:"degraded_ppm,omitempty"` // that got another answer, likewise
	Least       int64 `json:"least,omitempty"`        // fewer such calls say nothing
}

// Ramp moves the calls of a scope that are for one model to another one, by
// shares of the callers that grow in steps.
type Ramp struct {
	Scope  RampScope  `json:"scope"`
	From   string     `json:"from"`   // calls for this model, by any of its names, are moved …
	To     string     `json:"to"`     // … to this one
	Sticky RampSticky `json:"sticky"` //
	Seed   string     `json:"seed"`   // decides with which callers it begins; another one at each start

	Steps  []int64       `json:"steps"` // shares in ppm, rising; the last one is all
	Over   time.Duration `json:"over"`  // good time in which all steps are gone through, each having an equal part
	Limits RampLimits    `json:"limits,omitzero"`

	Phase   RampPhase     `json:"phase"`
	Step    int           `json:"step"`           // the one of Steps that is in force
	Before  int64         `json:"before"`         // share in ppm before the last change
	Ramped  time.Duration `json:"ramped"`         // good time that the step has had
	Since   time.Time     `json:"since"`          // of the phase
	Changed time.Time     `json:"changed"`        // when the share changed last
	Started time.Time     `json:"started"`        //
	By      string        `json:"by"`             // who started it
	HeldBy  string        `json:"held_by"`        // who held, rolled back or finished it
	Why     string        `json:"why,omitempty"`  // what the last bad look saw; or what a person said
	Told    bool          `json:"told,omitempty"` // that it is bad at its first step, or that all calls are moved

	Looked  time.Time `json:"looked,omitzero"`  // last; zero: nobody has yet
	Bad     int       `json:"bad"`              // looks in a row
	Good    int       `json:"good"`             // looks in a row
	Moved   int64     `json:"moved"`            // calls that were moved since the share changed, up to Counted
	Counted time.Time `json:"counted,omitzero"` // end of what is in Moved
	Seen    RampView  `json:"seen,omitzero"`    // by the last look

	rev int64 // of what is stored
}

// RampView is what a look saw of a ramp's calls.
type RampView struct {
	Over   time.Duration    `json:"over"` // up to Ramp.Looked
	Moved  RampFigures      `json:"moved"`
	Stayed RampFigures      `json:"stayed"`
	Unfit  map[string]int64 `json:"unfit,omitempty"` // calls that were to move and do not fit, by what they have: context, tools, schema, cached, model
}

// RampFigures are the figures of one side.
type RampFigures struct {
	Calls      int64         `json:"calls"`
	Refused    int64         `json:"refused"` // for quota or capacity, by the provider or here; of moved calls also those that the old model then answered
	Failed     int64         `json:"failed"`
	Degraded   int64         `json:"degraded"`
	N          int64         `json:"n"` // what P95 is of
	P95        time.Duration `json:"p95"`
	Streams    int64         `json:"streams"` // what FirstToken is of
	FirstToken time.Duration `json:"first_token"`
}

// RampName is a ramp's: "feature/chat from gemini-2.5-flash".
func RampName(s RampScope, from string) string { return s.String() + " from " + from }

// Name tells the ramp from others.
func (r *Ramp) Name() string { return RampName(r.Scope, r.From) }

// SharePPM is the part of the callers that is moved now.
func (r *Ramp) SharePPM() int64 {
	switch {
	case r.Phase == RampFinished:
		return ppmWhole
	case r.Phase == RampRolledBack || len(r.Steps) == 0:
		return 0
	}
	return r.Steps[min(max(r.Step, 0), len(r.Steps)-1)]
}

const ppmWhole = 1_000_000

// Active holds while the ramp is neither rolled back nor finished.
func (r *Ramp) Active() bool {
	return r.Phase == RampMoving || r.Phase == RampBad || r.Phase == RampHeld
}

// StepTime is how much good time each step has.
func (r *Ramp) StepTime() time.Duration { return r.Over / time.Duration(max(len(r.Steps), 1)) }

// Last holds at the last step.
func (r *Ramp) Last() bool { return r.Step >= len(r.Steps)-1 }

// Arrived holds once all calls have been moved for the time of a step, also of a ramp
// that stands still or is held since.
func (r *Ramp) Arrived() bool { return r.Active() && r.Last() && r.Ramped >= r.StepTime() }

// Check names the first field that cannot be.
func (r *Ramp) Check() error {
	if _, err := ParseRampScope(r.Scope.String()); err != nil {
		return fmt.Errorf("scope: %w", err)
	}
	switch {
	case !validModel(NormalizeModel(r.From)):
		return fmt.Errorf("from: %q is not a model", r.From)
	case !validModel(NormalizeModel(r.To)):
		return fmt.Errorf("to: %q is not a model", r.To)
	case r.Sticky != StickyConversation && r.Sticky != StickyKey && r.Sticky != StickyCall:
		return fmt.Errorf("sticky: %q; want conversation, key or call", r.Sticky)
	case r.Over <= 0:
		return fmt.Errorf("over: %s; want more than nothing, as in 2h", r.Over)
	}
	return checkSteps(r.Steps)
}

func checkSteps(steps []int64) error {
	if len(steps) == 0 || len(steps) > mostSteps || steps[len(steps)-1] != ppmWhole {
		return fmt.Errorf("steps: want 1 to %d shares, the last of them 100%%", mostSteps)
	}
	for i, s := range steps {
		if s <= 0 || i > 0 && s <= steps[i-1] {
			return fmt.Errorf("steps: want rising shares above 0%%, such as 5%%,25%%,50%%,100%%")
		}
	}
	return nil
}

const mostSteps = 50
