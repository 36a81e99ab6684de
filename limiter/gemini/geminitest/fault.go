package geminitest

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is something that goes wrong, and when. All conditions that are set
// must hold; with none, every call is hit. As text see ParseFault.
type Fault struct {
	Kind  FaultKind
	Share float64       // probability, 0 to 1; 0: certain
	First int64         // the first call, from 1, as the account numbers them
	Last  int64         // the last one; 0: no end
	After time.Duration // from this time on after the start of the server
	Until time.Duration // to this time after the start; 0: no end
	Text  string        // only calls whose prompt has this text
	Model string        // only calls of this model
	Times int64         // at most so often; 0: no limit
	Retry time.Duration // what the hint of a 429 says; 0: what is likely
	// Answer is what the kind FaultAnswer sends.
	Answer *Answer
}

// Answer is an answer given word for word.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// FaultKind names a fault.
type FaultKind string

// The kinds. Those of the first group refuse a call before it counts against
// any quota; the others have counted, as failed calls do at Gemini.
const (
	Fault429RPM       FaultKind = "429-rpm"
	Fault429TPM       FaultKind = "429-tpm"
	Fault429RPD       FaultKind = "429-rpd"
	Fault429Mixed     FaultKind = "429-mixed" // the day's and the minute's requests
	Fault429Spend     FaultKind = "429-spend" // the ten-minute spend rate
	Fault429Month     FaultKind = "429-month"
	Fault429Account   FaultKind = "429-account"
	Fault429Capacity  FaultKind = "429-capacity"
	Fault429LimitZero FaultKind = "429-limit0"
	Fault429Unknown   FaultKind = "429-unknown"
	Fault402          FaultKind = "402" // prepaid credits are used up
	Fault403Disabled  FaultKind = "403-disabled"
	Fault403Suspended FaultKind = "403-suspended"
	Fault403Leaked    FaultKind = "403-leaked"
	Fault403Denied    FaultKind = "403-denied"
	Fault400Location  FaultKind = "400-location"
	FaultRevokeKey    FaultKind = "revoke-key" // the key of the call is bad from here on; comes once

	Fault500         FaultKind = "500"
	Fault502         FaultKind = "502" // an HTML page of the front end
	Fault503         FaultKind = "503"
	Fault504         FaultKind = "504"
	FaultHang        FaultKind = "hang"  // no answer until the client goes
	FaultReset       FaultKind = "reset" // the connection, before an answer
	FaultCut         FaultKind = "cut"   // the connection, inside the answer
	FaultHTML        FaultKind = "html"  // status 200
	FaultEmpty       FaultKind = "empty" // status 200, no body
	FaultError200    FaultKind = "error-200"
	FaultCutJSON     FaultKind = "cut-json"     // status 200, half a body
	FaultStreamError FaultKind = "stream-error" // an error event in a stream; in a unary answer the same as error-200
	FaultNoFinish    FaultKind = "no-finish"    // the answer ends without a finishReason
	FaultSlow        FaultKind = "slow"         // ten times the time
	FaultAnswer      FaultKind = "answer"       // Fault.Answer; in Go only

	FaultSafety           FaultKind = "safety" // finishReason, without a text
	FaultRecitation       FaultKind = "recitation"
	FaultProhibited       FaultKind = "prohibited"
	FaultSafetyPrompt     FaultKind = "safety-prompt" // promptFeedback, without a candidate
	FaultProhibitedPrompt FaultKind = "prohibited-prompt"
	FaultNoText           FaultKind = "no-text"    // STOP, without a text
	FaultMaxTokens        FaultKind = "max-tokens" // all went into thoughts
	FaultBadJSON          FaultKind = "bad-json"   // STOP, but the text is cut
)

// stage is where in a call a fault takes effect.
type stage int

const (
	stageRefuse  stage = iota + 1 // before the quotas
	stageAnswer                   // instead of the answer
	stageContent                  // in what the model says: generate methods only
)

var stages = func() map[FaultKind]stage {
	m := map[FaultKind]stage{}
	for kind := range refusals {
		m[kind] = stageRefuse
	}
	m[FaultRevokeKey] = stageRefuse
	for _, kind := range []FaultKind{Fault500, Fault502, Fault503, Fault504, FaultHang, FaultReset, FaultCut, FaultHTML,
		FaultEmpty, FaultError200, FaultCutJSON, FaultSlow, FaultAnswer} {
		m[kind] = stageAnswer
	}
	for _, kind := range []FaultKind{FaultStreamError, FaultNoFinish, FaultSafety, FaultRecitation, FaultProhibited,
		FaultSafetyPrompt, FaultProhibitedPrompt, FaultNoText, FaultMaxTokens, FaultBadJSON} {
		m[kind] = stageContent
	}
	return m
}()

// FaultKinds gives every kind, sorted.
func FaultKinds() []FaultKind { return slices.Sorted(maps.Keys(stages)) }

func (f *Fault) check() error {
	switch {
	case stages[f.Kind] == 0:
		return fmt.Errorf("fault %q: no such kind; there are %s", f.Kind, joinKinds())
	case f.Share < 0 || f.Share > 1:
		return fmt.Errorf("fault %s: share %v is not between 0 and 1", f.Kind, f.Share)
	case f.First < 0 || f.Last != 0 && f.Last < max(f.First, 1):
		return fmt.Errorf("fault %s: calls %d to %d are none", f.Kind, f.First, f.Last)
	case f.After < 0 || f.Until != 0 && f.Until <= f.After:
		return fmt.Errorf("fault %s: from %s until %s is no time", f.Kind, f.After, f.Until)
	case f.Times < 0 || f.Retry < 0:
		return fmt.Errorf("fault %s: times and retry cannot be negative", f.Kind)
	case (f.Kind == FaultAnswer) != (f.Answer != nil):
		return fmt.Errorf("fault %s: Answer belongs to the kind %q", f.Kind, FaultAnswer)
	}
	return nil
}

func joinKinds() string {
	var names []string
	for _, k := range FaultKinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// hit is what a fault is matched against.
type hit struct {
	seq     int64
	since   time.Duration // since the start
	model   string
	content bool // the method generates
	prompts []*prompt
}

func (f *Fault) matches(h hit) bool {
	return (f.First == 0 || h.seq >= f.First) && (f.Last == 0 || h.seq <= f.Last) &&
		h.since >= f.After && (f.Until == 0 || h.since < f.Until) &&
		(f.Model == "" || f.Model == h.model) &&
		(h.content || stages[f.Kind] != stageContent) &&
		(f.Text == "" || slices.ContainsFunc(h.prompts, func(p *prompt) bool { return p.contains(f.Text) }))
}

// planned is a fault and how often it came.
type planned struct {
	Fault
	hits int64
}

// spent says that the fault will not come again. A key is revoked once, so
// that it can be restored.
func (p *planned) spent() bool {
	return p.Times > 0 && p.hits >= p.Times || p.Kind == FaultRevokeKey && p.Times == 0 && p.hits > 0
}

// pickLocked gives the first fault that wants the call. It counts as having
// come only when the call is not refused for another reason.
func (s *Server) pickLocked(h hit) *planned {
	for i, p := range s.faults {
		if p.spent() || !p.matches(h) {
			continue
		}
		if p.Share > 0 && s.random(h.seq, saltFault+uint64(i)).Float64() >= p.Share {
			continue
		}
		return p
	}
	return nil
}

// AddFaults adds faults at run time; times are still since the server's start.
func (s *Server) AddFaults(faults ...Fault) error {
	for i := range faults {
		if err := faults[i].check(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.faults = append(s.faults, &planned{Fault: f})
	}
	return nil
}

// ClearFaults forgets every fault.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Verify reports the scripted faults that did not come, or not as often as
// Times says: a test whose fault never came has tested nothing. Faults with a
// probability are left out.
func (s *Server) Verify() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.faults {
		if want := max(p.Times, 1); p.Share == 0 && p.hits < want {
			errs = append(errs, fmt.Errorf("fault %s came %d of %d times", p.Fault, p.hits, want))
		}
	}
	return errors.Join(errs...)
}
