package geminitest

import (
	"net/http"
	"strings"
)

// keyring knows which keys are good. The server's mu guards it.
type keyring struct {
	valid   map[string]bool // nil: any
	revoked map[string]bool // by hash
	hashes  map[string]string
}

func newKeyring(valid []string) keyring {
	k := keyring{revoked: map[string]bool{}, hashes: map[string]string{}}
	for _, key := range valid {
		if k.valid == nil {
			k.valid = map[string]bool{}
		}
		k.valid[key] = true
	}
	return k
}

func (k *keyring) good(key string) bool {
	return !k.revoked[k.hash(key)] && (k.valid == nil || k.valid[key])
}

// hash remembers what it computed, as a client has few keys and many calls.
func (k *keyring) hash(key string) string {
	if key == "" {
		return ""
	}
	h, ok := k.hashes[key]
	if !ok {
		h = KeyHash(key)
		k.hashes[key] = h
	}
	return h
}

// keyOf finds the key in the header, the query or a bearer token.
func keyOf(r *http.Request) string {
	if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
		return key
	}
	if strings.Contains(r.URL.RawQuery, "key=") {
		if key := r.URL.Query().Get("key"); key != "" {
			return key
		}
	}
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		return ""
	}
	return token
}

// RevokeKey makes the server refuse a key from now on.
func (s *Server) RevokeKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.revoked[s.keys.hash(key)] = true
}

// RestoreKey takes a revocation back.
func (s *Server) RestoreKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys.revoked, s.keys.hash(key))
}
