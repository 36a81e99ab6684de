package cli

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// apiKey reads the provider's key. It is never printed, not even in part.
func (l *loaded) apiKey() (string, error) {
	if file := l.Gemini.APIKeyFile; file != "" {
		return readKey(file)
	}
	if key := strings.TrimSpace(os.Getenv(l.Gemini.APIKeyEnv)); key != "" {
		return key, checkKey(key, l.keyFrom())
	}
	return "", fmt.Errorf("no API key: put it in the environment variable %s (one is made at https://aistudio.google.com/apikey), "+
		"or name a file in gemini.api_key_file; --gemini simulated needs none", l.Gemini.APIKeyEnv)
}

func readKey(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", configErrorf("gemini.api_key_file: %v", err)
	}
	key := strings.TrimSpace(string(b))
	if key == "" {
		return "", configErrorf("gemini.api_key_file: %s is empty", file)
	}
	return key, checkKey(key, "gemini.api_key_file: "+file)
}

// checkKey refuses what no header can carry: every call would fail by it. The
// key itself is not repeated.
func checkKey(key, where string) error {
	bad := strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
	if bad < 0 {
		return nil
	}
	return configErrorf("%s holds no API key: its character %d is a space, a line break or not ASCII; is there more than the key in it?",
		where, len([]rune(key[:bad]))+1)
}

// keyFrom says where the key comes from, for people.
func (l *loaded) keyFrom() string {
	if l.vertexByToken() {
		return "the credentials of gemini.vertex"
	}
	if file := l.Gemini.APIKeyFile; file != "" {
		return "the file " + file
	}
	return "the environment variable " + l.Gemini.APIKeyEnv
}

// keyRemedy is what to do when the provider refuses the key.
func (l *loaded) keyRemedy() string {
	if l.vertexByToken() {
		return "give the account of gemini.vertex the role Vertex AI User in project " + l.Gemini.Vertex.Project + ", or start the worker again with other credentials"
	}
	if file := l.Gemini.APIKeyFile; file != "" {
		return "put a working key into " + file + "; it is read again within seconds, and calls go on by themselves within a minute"
	}
	return "put a working key into " + l.Gemini.APIKeyEnv + " and start the worker again"
}

// keyAgain is how often a file with the key is read again.
const keyAgain = 5 * time.Second

// fileKey is a key in a file that may be replaced while the process runs. While the
// file cannot be read, or holds none, the last key stays.
type fileKey struct {
	file string
	log  *slog.Logger
	now  func() time.Time

	mu   sync.Mutex
	key  string
	read time.Time
	bad  string // what was wrong with the file when it was read last
}

func (k *fileKey) get() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); now.Sub(k.read) >= keyAgain || now.Before(k.read) {
		k.read = now
		k.again()
	}
	return k.key
}

func (k *fileKey) again() {
	key, err := readKey(k.file)
	switch {
	case err != nil && err.Error() != k.bad:
		k.bad = err.Error()
		k.log.Error("the file with the API key cannot be used; the last key is used on", "err", err)
	case err == nil && key != k.key:
		k.key, k.bad = key, ""
		k.log.Info("another API key is used from now on", "from", k.file)
	}
}

// keyNow gives the key as it is now; nil where it cannot change.
func (l *loaded) keyNow(key string, log *slog.Logger) func() string {
	if l.Gemini.API == "simulated" || l.Gemini.APIKeyFile == "" || l.vertexByToken() {
		return nil
	}
	return (&fileKey{file: l.Gemini.APIKeyFile, log: log, now: time.Now, key: key, read: time.Now()}).get
}
