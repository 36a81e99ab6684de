package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeys: a key that no request can carry is refused at the start, by its
// place and without its text; what surrounds a key is no part of it.
func TestKeys(t *testing.T) {
	for key, ok := range map[string]bool{
		"AIzaSyGood_Key-1": true, " AIzaSyGood_Key-1\r\n": true,
		"AIza\nSecond": false, "AIza\tSecond": false, "AIza Second": false, "AIzaé": false, "AIza\x00": false,
	} {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
		conf := &loaded{}
		conf.Gemini.APIKeyFile = file
		got, err := conf.apiKey()
		if (err == nil) != ok || ok && got != "AIzaSyGood_Key-1" {
			t.Errorf("%q: %q, %v", key, got, err)
		}
		if err != nil && (strings.Contains(err.Error(), "AIza") || !strings.Contains(err.Error(), "gemini.api_key_file")) {
			t.Errorf("%q: %v", key, err)
		}
	}
	t.Setenv("OTHER_KEY", "AIza\nSecond")
	conf := &loaded{}
	conf.Gemini.APIKeyEnv = "OTHER_KEY"
	if _, err := conf.apiKey(); err == nil || !strings.Contains(err.Error(), "OTHER_KEY") {
		t.Errorf("%v", err)
	}
}
