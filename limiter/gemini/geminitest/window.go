package geminitest

import "time"

// Unit is something that MaxInWindow can add up.
type Unit string

// The units.
const (
	Requests    Unit = "requests" // a text of batchEmbedContents is one
	InputTokens Unit = "input_tokens"
)

// series is a history of amounts in order of time.
type series []point

type point struct {
	at time.Time
	need
}

func (s *series) add(at time.Time, n need) { *s = append(*s, point{at, n}) }

func (p point) amount(u Unit) int64 {
	if u == InputTokens {
		return p.tokens
	}
	return p.requests
}

// maxIn gives the largest sum in any half-open window of the given length.
// Such a window may as well begin with one of the points, so looking at those
// is exact over all alignments.
func (s series) maxIn(u Unit, window time.Duration) int64 {
	var sum, most int64
	first := 0
	for _, p := range s {
		sum += p.amount(u)
		for !p.at.Before(s[first].at.Add(window)) {
			sum -= s[first].amount(u)
			first++
		}
		most = max(most, sum)
	}
	return most
}

// MaxInWindow gives the largest amount that was admitted for the model's
// bucket in any window [t, t+window), by time of arrival.
func (s *Server) MaxInWindow(model string, u Unit, window time.Duration) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.laneLocked(model).admitted.maxIn(u, window)
}

// MaxSent is MaxInWindow over everything that arrived, also what was refused.
func (s *Server) MaxSent(model string, u Unit, window time.Duration) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.laneLocked(model).sent.maxIn(u, window)
}

// InFlight gives the calls that run now and the most that ever ran together,
// for a model's bucket.
func (s *Server) InFlight(model string) (now, peak int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.laneLocked(model)
	return l.inFlight, l.peak
}
