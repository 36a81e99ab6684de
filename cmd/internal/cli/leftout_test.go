package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestLeftOutRowsAreRemembered: who looks at a run in the morning sees that rows of the
// input are not in it, and where they are.
func TestLeftOutRowsAreRemembered(t *testing.T) {
	t.Parallel()
	s := newSteeredOn(t, benchRedis(t))
	dir := filepath.Dir(s.be.conf.File)
	input, bad := filepath.Join(dir, "in.csv"), filepath.Join(dir, "bad.jsonl")
	s.check(os.WriteFile(input, []byte("id,w\na,x\n,y\nb,z\n,v\n"), 0o600))
	run := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		root := newRootCmd(&streams{In: strings.NewReader(""), Out: &out, Err: &out})
		root.SetArgs(append(args, "--config", s.be.conf.File, "--redis", "redis://"+s.be.rdb.(*redis.Client).Options().Addr))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out.String())
		}
		return out.String()
	}
	run("enqueue", input, "--prompt", "{{.w}}", "--model", "m", "--feature", "test", "--id-column", "id", "--name", "mend", "--skip-invalid", "--invalid", bad)
	run("enqueue", input, "--prompt", "{{.w}}!", "--model", "m", "--feature", "test", "--id-column", "id", "--name", "plain", "--skip-invalid")
	step := "nightshift enqueue " + bad + " --name mend"
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"status", "mend"}, []string{"2 rows left out of it as invalid: " + bad}},
		{[]string{"status", "plain"}, []string{"2 rows left out of it as invalid)"}},
		{[]string{"report", "mend", "--format", "markdown"}, []string{"2 rows left out of it as invalid: " + bad, step}},
		{[]string{"report", "plain", "--format", "markdown"}, []string{"2 rows left out of it as invalid"}},
	} {
		out := strings.Join(strings.Fields(strings.ReplaceAll(run(c.args...), "\\", "")), " ")
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%s", c.args, want, out)
			}
		}
	}
}
