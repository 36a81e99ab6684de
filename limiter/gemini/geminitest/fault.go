package geminitest

import (
	"fmt"
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
	Tier  string        // only calls that ask for this service tier: "flex"
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
	case f.Tier != "" && tierFactors[f.Tier] == 0:
		return fmt.Errorf("fault %s: %q is no service tier; want standard, flex or priority", f.Kind, f.Tier)
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
	tier    string // that was asked for
	content bool   // the method generates
	prompts []*prompt
}

func (f *Fault) matches(h hit) bool {
	return (f.First == 0 || h.seq >= f.First) && (f.Last == 0 || h.seq <= f.Last) &&
		h.since >= f.After && (f.Until == 0 || h.since < f.Until) &&
		(f.Model == "" || f.Model == h.model) && (f.Tier == "" || f.Tier == h.tier) &&
		(h.content || stages[f.Kind] != stageContent) &&
		(f.Text == "" || slices.ContainsFunc(h.prompts, func(p *prompt) bool { return p.contains(f.Text) }))
}
