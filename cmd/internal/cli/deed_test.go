package cli

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// looksOnly are the commands that change nothing that others share, or whose doing is
// kept elsewhere: the runs that they make are in the list of runs.
var looksOnly = []string{
	"demo", "run", "plan", "sample", "enqueue", "wait", "results", "diff", "errors", "report", "status", "watch", "why", "classify",
	"quota", "quota show", "quota explain", "quota who", "quota history", "quota review", "spend", "spend show", "spend price", "spend forecast",
	"health", "health show", "events", "alerts", "alerts test", "hooks", "hooks test", "ramp", "ramp list", "ramp show", "worker", "gateway",
	"scheduler", "schedules", "dashboard", "gemini-sim", "init", "doctor", "config", "config check", "config show", "keys", "keys list",
	"tenants", "tenants list", "tenants show", "tenants usage", "simulate", "version", "licenses",
}

// TestEveryCommandIsADeedOrALook: a new command that changes something is not forgotten
// in the audit log.
func TestEveryCommandIsADeedOrALook(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			path := deedPath(c)
			known[path] = true
			if (deeds[path] != "") == slices.Contains(looksOnly, path) && c.Runnable() {
				t.Errorf("`nightshift %s` is to be in deeds or in looksOnly, and in one of them only", path)
			}
			walk(c)
		}
	}
	walk(newRootCmd(&streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}))
	for path := range deeds {
		if !known[path] {
			t.Errorf("there is no command %q", path)
		}
	}
}

// command gives a command line of its own to the run's fleet, and what it ended with.
func (s *steered) command(args ...string) (string, error) {
	s.Helper()
	var out bytes.Buffer
	root := newRootCmd(&streams{In: strings.NewReader(""), Out: &out, Err: &out})
	root.SetArgs(append(args, "--config", s.be.conf.File, "--redis", fmt.Sprintf("redis://:hunter2-is-secret@%s/0", s.be.rdb.(*redis.Client).Options().Addr)))
	err := root.ExecuteContext(s.Context())
	return out.String(), err
}

func (s *steered) audit() []limiter.Event {
	s.Helper()
	log, err := s.be.lim.AuditLog(s.Context(), s.run.Created.AddDate(1, 0, 0), 0)
	s.check(err)
	return log
}

// TestCommandsAreInTheAuditLog: what a command changed, from what to what, with who and
// how it ended; neither what only looked, nor what was typed wrongly, nor any key.
func TestCommandsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	rdb := benchRedis(t)
	s := newSteeredOn(t, rdb)
	s.check(rdb.ConfigSet(t.Context(), "requirepass", "hunter2-is-secret").Err())
	s.be = s.f.backend(s.be.conf, redis.NewClient(&redis.Options{Addr: rdb.Options().Addr, Password: "hunter2-is-secret"}))
	t.Cleanup(s.be.close)
	s.be.conf.Dashboard.Write, s.be.conf.Dashboard.Token, s.be.conf.Dashboard.ViewToken = true, operates, looks
	d := s.be.testDashboard(t, &dashboardNow{backend: s.be})
	for _, c := range []struct{ line, want string }{
		{"pause bulk --reason trial", "pause class bulk: runs → paused (operator by " + operator() + ") until it is resumed, done"},
		{"resume bulk", "resume class bulk: paused (operator by " + operator() + ") until it is resumed → runs, done"},
		{"quota set m rpm=30 --reason slower", "quota-set m: rpm 60 → rpm 30, done"},
		{"spend set --month 50", "quota-set project/default: usd_per_month none → usd_per_month $50.00, done"},
		{"quota unset m", "quota-unset m: rpm 30 → rpm 60, done"},
		{"set night --weight 3", "set run night: weight 1 → weight 3, done"},
		{"health hold 30m", "health-hold 30m: , done"},
		{"cancel night", "cancel run night: 10 queued → 10 cancelled, done"},
		{"retry night --only cancelled", "retry run night: 10 cancelled → 10 queued, done"},
		{"quota set m rpm=30 --dry-run", ""},
		{"set night", ""},
		{"status night", ""},
		{"pause nobody", ""},
		{"purge night", "purge night: , failed"},
		{"purge night --yes --cancel", "purge night: night, 10 rows, 0 of them with a good answer, 1.1 KiB → removed, done"},
	} {
		before := len(s.audit())
		_, err := s.command(strings.Fields(c.line)...)
		log := s.audit()
		if c.want == "" {
			if len(log) != before {
				t.Errorf("%s: %+v", c.line, log[len(log)-1])
			}
			continue
		}
		if len(log) != before+1 {
			t.Fatalf("%s: %d entries more, %v", c.line, len(log)-before, err)
		}
		e := log[before]
		got := fmt.Sprintf("%s %s: %s, %s", e.Kind, e.Subject, e.Data["before"]+" → "+e.Data["after"], e.Data["result"])
		if got = strings.Replace(got, ":  → ,", ": ,", 1); got != c.want || e.By != operator() || e.Data["from"] != "cli" {
			t.Errorf("%s:\n%s by %q %v, want\n%s", c.line, got, e.By, e.Data, c.want)
		}
	}
	events, err := s.be.lim.Events(t.Context(), s.run.Created.Add(-time.Hour), 0)
	s.check(err)
	if last := events[len(events)-1]; last.Kind != scheduler.EventRun || last.Subject != s.run.ID || last.By != operator() || last.Text != "run night, purge: removed 10 rows, 10 of them open" {
		t.Errorf("what tells of the purge: %+v", last)
	}
	secret, err := s.command("keys", "add", "--name", "web", "--class", "interactive", "--feature", "test")
	s.check(err)
	secret, _, _ = strings.Cut(secret, "\n")
	_, err = s.command("keys", "revoke", "web")
	s.check(err)
	for _, e := range s.audit() {
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, secret) || strings.Contains(text, "hunter2") || len(secret) < 20 {
			t.Errorf("a credential is in %s", text)
		}
	}
	says(t, visit(t, d, looks, "/audit?who="+operator(), nil), http.StatusOK, operator()+" cli key-revoke key web", "nightshift pause bulk --reason=trial", "key-add key web")
}

// TestWatchKeysAreInTheAuditLog: a key does what its command does, for the log too.
func TestWatchKeysAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	s, _ := watchedRun(t)
	s.be.log = slog.New(slog.DiscardHandler)
	for _, x := range []struct{ verb, target, want string }{
		{"pause", "bulk", "pause class bulk: runs → paused"},
		{"resume", "bulk", "resume class bulk: paused"},
		{"cancel", s.run.ID, "cancel run night: 10 queued → 10 cancelled"},
	} {
		_, err := s.be.actRecorded(t.Context(), x.verb, x.target)
		s.check(err)
		log := s.audit()
		e := log[len(log)-1]
		if got := fmt.Sprintf("%s %s: %s → %s", e.Kind, e.Subject, e.Data["before"], e.Data["after"]); !strings.HasPrefix(got, x.want) || e.By != operator() || !strings.Contains(e.Text, "nightshift watch") {
			t.Errorf("%s (%s by %s), want %s", got, e.Text, e.By, x.want)
		}
	}
}
