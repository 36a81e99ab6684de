package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestOneEnd: plan and enqueue name one end of a run, whether it is to be made, is there,
// or changes under --update; a deadline and a cap that it does not make are said once each,
// also where they were given before.
func TestOneEnd(t *testing.T) {
	t.Parallel()
	s, dir, rows := newSteered(t), t.TempDir(), strings.Builder{}
	for i := range 200 {
		fmt.Fprintf(&rows, "%d,word\n", i)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		s.check(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	conf := write("nightshift.yaml", "redis: redis://"+s.redis.Addr()+"\nrun: {model: gemini-3.5-flash}\nmodels: {gemini-3.5-flash: {rpm: 10}}\n")
	first, second := write("rows.csv", "id,text\n"+rows.String()), write("changed.csv", "id,text\n"+strings.Replace(rows.String(), "7,word", "7,other", 1))
	c, err := loadConfig(conf, nil, nil)
	s.check(err)
	now := time.Now()
	s.f.conf, s.be.conf, s.f.now = c, c, func() time.Time { return now }
	s.f.opts.output = "json"
	command := func(o *enqueueOptions, args []string) *cobra.Command {
		cmd := &cobra.Command{}
		o.addFlags(cmd)
		s.check(cmd.ParseFlags(append(args, "--prompt", "Tag {{.text}}", "--name", "tags", "--max-output-tokens", "50")))
		return cmd
	}
	plan := func(file string, args ...string) planReport {
		o := &enqueueOptions{}
		b, err := o.prepare(t.Context(), s.f, command(o, args), []string{file})
		s.check(err)
		defer b.close()
		stand, err := o.stand(t.Context(), c, s.be, b, "", "")
		s.check(err)
		e, err := c.evidence(t.Context(), s.be, b, "")
		s.check(err)
		id, err := joins(t.Context(), s.be, b)
		s.check(err)
		r, err := c.planOf(t.Context(), s.be, b, e, id, stand.asked(), now)
		s.check(err)
		return r
	}
	enqueue := func(file string, update bool, args ...string) (done time.Time, warned string) {
		s.out.Reset()
		s.err.Reset()
		o := &enqueueOptions{Update: update}
		s.check(o.enqueue(t.Context(), s.f, s.be, command(o, args), []string{file}))
		var said struct {
			Done time.Time `json:"done_by"`
		}
		s.check(json.Unmarshal(s.out.Bytes(), &said))
		return said.Done, s.err.String()
	}
	steer := []string{"--deadline", "2m", "--on-late", "continue", "--max-cost", "0.02"}
	planned := plan(first, steer...)
	made, warned := enqueue(first, false, steer...)
	again := plan(first)
	updated, warnedToo := enqueue(second, true)
	for what, at := range map[string]time.Time{"enqueue": made, "plan of what is there": again.Done, "enqueue --update": updated} {
		if at.Sub(planned.Done).Abs() > 2*time.Second || at.Before(now.Add(10*time.Minute)) {
			t.Errorf("%s: done %s, as planned first %s", what, at, planned.Done)
		}
	}
	if again.Late == 0 || again.Others != 0 || len(again.Caps) != 1 || again.Caps[0].Cap != ownCapName {
		t.Errorf("of what is there: %d s late, beside %d, %+v", again.Late, again.Others, again.Caps)
	}
	for _, w := range []string{warned, warnedToo} {
		if strings.Count(w, "it is late: done about ") != 1 {
			t.Error(w)
		}
	}
	if n := strings.Count(warned, "--max-cost stops it at $0.02") + strings.Count(warned, "warning: --max-cost"); n != 1 {
		t.Errorf("the cap is said %d times: %s", n, warned)
	}
}
