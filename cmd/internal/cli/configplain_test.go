package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongKindsArePlain: a value of the wrong kind is told by its place or its key,
// without words of Go.
func TestWrongKindsArePlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ramps: {p95: abc}\n":                       "ramps.p95",
		"gateway: {max_connections: many}\n":        "[1:28] \"many\": want a whole number",
		"gateway: {listen: '1.2.3.4:99999'}\n":      "gateway.listen: \"1.2.3.4:99999\"; want HOST:PORT",
		"gateway: {metrics: '127.0.0.1:metrics'}\n": "gateway.metrics: ",
	} {
		file := filepath.Join(t.TempDir(), "nightshift.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := loadConfig(file, nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go struct") {
			t.Errorf("%s%v\nwant %s", text, err, want)
		}
	}
}
