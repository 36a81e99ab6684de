package geminitest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Call is one call in the account, in the order in which the server counted them.
type Call struct {
	Seq           int64             `json:"seq"` // from 1
	At            time.Time         `json:"at"`  // arrival: when it was counted
	Took          time.Duration     `json:"took_ns"`
	Running       bool              `json:"running,omitempty"`
	Version       string            `json:"version"`
	Method        string            `json:"method"`
	Model         string            `json:"model,omitempty"`
	Key           string            `json:"key,omitempty"` // KeyHash of the API key
	Requests      int64             `json:"requests"`      // what it counts as
	PromptTokens  int64             `json:"prompt_tokens"`
	CachedTokens  int64             `json:"cached_tokens,omitempty"`
	ThoughtTokens int64             `json:"thought_tokens,omitempty"`
	OutputTokens  int64             `json:"output_tokens,omitempty"` // without thoughts
	MicroUSD      int64             `json:"micro_usd,omitempty"`
	Digest        Digest            `json:"digest"`           // of the prompt's texts
	ID            string            `json:"id,omitempty"`     // of the row, found in the prompt
	Status        int               `json:"status"`           // 0: no answer was sent; 499: the client left
	Reason        string            `json:"reason,omitempty"` // why it was refused
	Fault         FaultKind         `json:"fault,omitempty"`
	Admitted      bool              `json:"admitted"` // it passed the quotas
	Tier          string            `json:"tier,omitempty"`
	Header        map[string]string `json:"header,omitempty"` // the x- headers but for the key and the SDK's own
}

// Digest is 64 bits of a prompt, written in hexadecimal.
type Digest uint64

// MarshalText writes sixteen digits.
func (d Digest) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(d)), nil }

// KeyHash is how the account names a key: eight hexadecimal digits.
func KeyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:4])
}

// Calls gives the account so far. Calls that still run have no status yet.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Call, len(s.calls))
	for i, c := range s.calls {
		list[i] = *c
	}
	return list
}

// Count gives the number of calls so far.
func (s *Server) Count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// recordLocked opens a call's entry.
func (s *Server) recordLocked(c *Call) {
	s.calls = append(s.calls, c)
	if s.cfg.KeepCalls > 0 && len(s.calls) > s.cfg.KeepCalls {
		s.calls[0] = nil
		s.calls = s.calls[1:]
	}
}

// noted are the headers worth keeping.
func noted(h http.Header) map[string]string {
	var kept map[string]string
	for name, v := range h {
		if !strings.HasPrefix(name, "X-") || name == "X-Goog-Api-Key" || name == "X-Goog-Api-Client" || len(v) == 0 {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[strings.ToLower(name)] = v[0]
	}
	return kept
}
