package gemini

import (
	"sync"
	"unicode/utf8"
)

const (
	otherLabel = "other" // what is in no set
	noLabel    = "none"  // of a call that names none, as models.list does
)

// mostNames bounds a set that fills itself: the classes, of which there are six by
// default and which a program writes into its contexts.
const mostNames = 16

// labelSet is the values that a label may have beside "other" and "none".
type labelSet struct {
	mu    sync.RWMutex
	names map[string]bool // guarded by mu
}

func newLabelSet() *labelSet { return &labelSet{names: map[string]bool{}} }

// learn adds values that the configuration names.
func (s *labelSet) learn(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		s.names[n] = true
	}
}

// known is the value of a set that only learn fills.
func (s *labelSet) known(name string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case name == "":
		return noLabel
	case s.names[name]:
		return name
	}
	return otherLabel
}

// first is the value of a set that takes the first names that come.
func (s *labelSet) first(name string) string {
	if label := s.known(name); label != otherLabel || !utf8.ValidString(name) || len(name) > 64 {
		return label
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.names) >= mostNames && !s.names[name] {
		return otherLabel
	}
	s.names[name] = true
	return name
}

// know tells the metrics which models there are.
func (m *Metrics) know(lanes *LaneMap) {
	if m == nil {
		return
	}
	var names []string
	for _, l := range lanes.Lanes() {
		names = append(names, l.Model)
	}
	m.models.learn(names)
}
