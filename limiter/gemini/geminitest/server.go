// Package geminitest simulates the Gemini API: an http.Handler and an
// http.RoundTripper that enforce quotas, count tokens and money, answer after
// a while, fail on demand and keep an account of every call.
//
// It is the judge of the limiter and of the Gemini adapter, and shares no code
// with them: not the estimate, not the parsing, not the counting.
package geminitest

import (
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// Server is one simulated project. It is safe for concurrent use.
type Server struct {
	cfg   Config
	now   func() time.Time
	ids   *regexp.Regexp // nil: scanID
	admin *http.ServeMux

	mu      sync.Mutex
	start   time.Time
	seq     int64
	models  map[string]Model
	lanes   map[string]*lane // by bucket
	keys    keyring
	faults  []*planned
	spend   spending
	cache   prefixCache
	calls   []*Call
	slow    float64 // factor on every latency
	schemas map[string]*schema
}

// New makes a server. A configuration that cannot work is the error.
func New(cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, now: cfg.Now, slow: 1}
	if s.now == nil {
		s.now = time.Now
	}
	if cfg.IDPattern != "" {
		s.ids = regexp.MustCompile(cfg.IDPattern) // checked above
	}
	s.admin = s.adminMux()
	s.Reset()
	return s, nil
}

// MustNew is New for tests: a configuration that cannot work panics.
func MustNew(cfg Config) *Server {
	s, err := New(cfg)
	if err != nil {
		panic("geminitest: " + err.Error())
	}
	return s
}

// Reset takes the server back to its configuration: counters, account, keys
// and faults. Calls that run end in the old account.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.seq, s.calls, s.slow = s.now(), 0, nil, 1
	s.lanes, s.models, s.schemas = map[string]*lane{}, map[string]Model{}, map[string]*schema{}
	s.keys = newKeyring(s.cfg.Keys)
	s.spend, s.cache = newSpending(), prefixCache{}
	s.faults = nil
	for _, f := range s.cfg.Faults {
		s.faults = append(s.faults, &planned{Fault: f})
	}
	for _, m := range s.cfg.Models {
		s.models[m.Name] = m.filled()
	}
}

// SetModel changes a model's settings, or adds it, while the server runs. What
// a unit that had a limit has used is kept.
func (s *Server) SetModel(m Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models[m.Name] = m.filled()
}

// SetSlow makes every call take so many times as long; 1 is normal.
func (s *Server) SetSlow(factor float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = factor
}

// laneLocked gives the counters of a model's bucket.
func (s *Server) laneLocked(model string) *lane {
	bucket := model
	if m, ok := s.models[model]; ok {
		bucket = m.Bucket
	}
	l, ok := s.lanes[bucket]
	if !ok {
		l = newLane(s.cfg.Counting)
		s.lanes[bucket] = l
	}
	return l
}

// limitsLocked gives the limits of a model's bucket: those of its first model.
func (s *Server) limitsLocked(m Model) Limits {
	for _, first := range s.cfg.Models {
		if current := s.models[first.Name]; current.Bucket == m.Bucket {
			return current.Limits
		}
	}
	return m.Limits
}

// Salts keep the random numbers of a call apart.
const (
	saltHint uint64 = iota + 1
	saltLatency
	saltThoughts
	saltAnswer
	saltArrival
	saltFault = 1 << 32 // plus the fault's index
)

// random gives numbers that depend on the seed, a number and a salt alone.
func (s *Server) random(n int64, salt uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.cfg.Seed^salt*0x9E3779B97F4A7C15, uint64(n)))
}
