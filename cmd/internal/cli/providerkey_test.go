package cli

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKeyFile: a key that is replaced in its file is used within seconds; a file that
// is away, or empty, changes nothing and is said once; the key is in no log.
func TestKeyFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	now := time.Now()
	k := &fileKey{file: file, log: slog.New(slog.NewTextHandler(&said, nil)), now: func() time.Time { return now }, key: "first-key", read: now}
	want := func(key string) {
		t.Helper()
		if got := k.get(); got != key {
			t.Errorf("%q, want %q", got, key)
		}
	}
	write("second-key\n")
	want("first-key")
	now = now.Add(keyAgain)
	want("second-key")
	write(" \n")
	for range 3 {
		now = now.Add(keyAgain)
		want("second-key")
	}
	write("third-key")
	now = now.Add(keyAgain)
	want("third-key")
	if n := strings.Count(said.String(), "cannot be used"); n != 1 || strings.Contains(said.String(), "-key") {
		t.Errorf("said: %s", said.String())
	}
}
