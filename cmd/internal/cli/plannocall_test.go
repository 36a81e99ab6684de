package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPlanMakesNoCall: whatever is planned, nobody hears of it; a sample of the same rows
// is heard.
func TestPlanMakesNoCall(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		http.Error(w, "no", http.StatusBadRequest)
	}))
	defer server.Close()
	dir := t.TempDir()
	t.Setenv("GEMINI_API_KEY", "a-key-of-nobody")
	t.Setenv("XDG_STATE_HOME", dir)
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rows := put("rows.csv", "id,name\n1,tea\n2,salt\n")
	conf := put("nightshift.yaml", "redis: embedded\ngemini: {project: p, base_url: "+server.URL+"}\nmodels:\n  gemini-3.5-flash-lite: {rpm: 600, input_tpm: 1000000}\nrun: {model: gemini-3.5-flash-lite, feature: tags}\n")
	do := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := Main(append(args, rows, "--config", conf, "--prompt", "Describe {{.name}}"), strings.NewReader(""), &out, &out)
		return code, out.String()
	}
	for _, more := range [][]string{nil, {"--force"}, {"--deadline", "8h"}, {"--service-tier", "flex"}, {"--output", "json"}} {
		if code, said := do(append([]string{"plan"}, more...)...); code != 0 || calls.Load() != 0 {
			t.Fatalf("%v: %d calls, exit code %d: %s", more, calls.Load(), code, said)
		}
	}
	if _, said := do("sample", "-n", "1"); calls.Load() == 0 {
		t.Errorf("a sample called nobody either: %s", said)
	}
}
