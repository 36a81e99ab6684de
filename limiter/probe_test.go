package limiter

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProbeTriesAll: a command that a script uses and the probe does not would be
// found out at night.
func TestProbeTriesAll(t *testing.T) {
	files, _ := filepath.Glob("lua/*.lua")
	used, tried := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\b(call|try)\('([A-Z]+)'`).FindAllStringSubmatch(string(text), -1) {
			used[m[2]] = true
			tried[m[2]] = tried[m[2]] || m[1] == "try"
		}
	}
	for name := range used {
		if !tried[name] {
			t.Errorf("the probe does not try %s", name)
		}
	}
	if len(used) < 15 {
		t.Errorf("only %v found", used)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := startOwn(t)
	b, _ := benchOn(s)
	r := b.gate.(*Redis)
	for _, c := range []struct{ right, refused, err string }{
		{"+@all", "", ""},
		{"-zrangebyscore", "ZRANGEBYSCORE ", ""},
		{"-hset", "HSET ", ""},
		{"-@scripting", "", "'evalsha'"},
	} {
		s.do("ACL", "SETUSER", "default", "+@all", c.right)
		got, err := r.Probe(t.Context())
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && err != nil {
			t.Errorf("%s: %v", c.right, err)
		}
		if text := strings.Join(got, "\n"); c.refused == "" && text != "" || !strings.HasPrefix(text, c.refused) {
			t.Errorf("%s: refused %q; want %q", c.right, text, c.refused)
		}
	}
	embedded := newBench(t, "embedded").gate.(*Redis)
	if got, err := embedded.Probe(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("embedded: %q, %v", got, err)
	}
}
