package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/scheduler"
)

func hooksConfig(t *testing.T, text string) (*loaded, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nightshift.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return loadConfig(file, nil, nil)
}

// TestConfigHooksRefused: what could never be called is named by its key, and an
// address that may be a secret is not repeated.
func TestConfigHooksRefused(t *testing.T) {
	for text, want := range map[string]string{
		`hooks: [{on: [finish], url: "https://a.example/s3cret"}]`:                                   `hooks[0].on: "finish"; want started, finished`,
		`hooks: [{on: [finished]}]`:                                                                  `hooks[0].url: is empty, and there is no command to run either`,
		`hooks: [{url: "https://a.example/s3cret", run: "true"}]`:                                    `hooks[0].run: a hook has an address or a command, not both`,
		`hooks: [{url: "a.example/s3cret"}]`:                                                         `hooks[0].url: is no http or https address`,
		`hooks: [{url: "https://a.example/s3cret", url_env: X}]`:                                     `hooks[0]: url and url_env are both set`,
		`hooks: [{url_env: "https://a.example/s3cret"}]`:                                             `hooks[0].url_env: want the name of an environment variable`,
		`hooks: [{name: a, run: "true"}, {name: a, run: "true"}]`:                                    `hooks[1].name: "a" is the name of another hook too`,
		`hooks: [{name: report, run: "true"}]` + "\nreport: {webhook: \"https://a.example/s3cret\"}": `report.name: "report" is the name of another hook too`,
		`hooks: [{url: "https://a.example/s3cret", format: xml}]`:                                    `hooks[0].format: "xml"; want json, slack, markdown`,
	} {
		_, err := hooksConfig(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestConfigHooksOpen: addresses and secrets come from the environment; a missing one
// is said and keeps no other hook from being called. Commands see none of them.
func TestConfigHooksOpen(t *testing.T) {
	c, err := hooksConfig(t, `hooks: [{url_env: NS_SLACK, secret_env: NS_SECRET}, {url_env: NS_NONE}, {run: "true"}]`+"\nreport: {webhook: \"https://wiki.example/s3cret\"}")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NS_SLACK", "https://slack.example/s3cret")
	t.Setenv("NS_SECRET", "s3cret")
	t.Setenv("GEMINI_API_KEY", "s3cret")
	hooks, wrong := c.hooks()
	if len(hooks) != 3 || hooks[0].Name != "hook1" || hooks[0].Target() != "slack.example" || string(hooks[0].Secret) != "s3cret" || hooks[2].Name != "report" || hooks[2].Format != scheduler.HookMarkdown {
		t.Errorf("%+v", hooks)
	}
	if len(wrong) != 1 || !strings.Contains(wrong[0].Error(), "hook hook2: $NS_NONE (url_env) is empty") {
		t.Errorf("%v", wrong)
	}
	if env := c.commandEnv(); slices.ContainsFunc(env, func(kv string) bool { return strings.Contains(kv, "s3cret") }) || !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		t.Errorf("a command's environment: %q", env)
	}
	var out bytes.Buffer
	f := &factory{streams: &streams{Out: &out, Err: &out}, conf: c}
	if err := runConfigShow(f); err != nil || strings.Contains(out.String(), "s3cret") || !strings.Contains(out.String(), "wiki.example") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestThen: the command runs for what became of the run, and what the run ended with stays.
func TestThen(t *testing.T) {
	s := newSteered(t)
	for row := range int64(10) {
		s.end(row, jobs.Done, "")
	}
	file := filepath.Join(t.TempDir(), "told")
	then := tellFlags{Then: `echo "$NIGHTSHIFT_EVENT $NIGHTSHIFT_RUN_NAME $(head -1 "$NIGHTSHIFT_REPORT")" >> '` + file + `'`}
	failed := &codedError{code: exitRowsFailed}
	s.check(then.after(t.Context(), s.f, s.be, s.run, nil))
	if err := then.after(t.Context(), s.f, s.be, s.run, failed); !errors.Is(err, failed) {
		t.Errorf("ended with %v", err)
	}
	then.On = []string{scheduler.RunHalted}
	s.check(then.after(t.Context(), s.f, s.be, s.run, nil))
	b, err := os.ReadFile(file)
	if s.check(err); string(b) != strings.Repeat("finished night # night\n", 2) {
		t.Errorf("told %q", b)
	}
	if got := endKind(t.Context(), s.be, s.run, &codedError{code: exitStopped}); got != scheduler.RunCapped {
		t.Errorf("stopped, and no brake: %q", got)
	}
	if got := endKind(t.Context(), s.be, s.run, &codedError{code: exitInterrupted}); got != "" {
		t.Errorf("interrupted: %q", got)
	}
}

// TestTellFlags: what could not be told is refused before anything is enqueued.
func TestTellFlags(t *testing.T) {
	for want, flags := range map[string]tellFlags{
		`--on: "lunch"; want`:                {On: []string{"lunch"}, Then: "true"},
		"--notify: url: is no http":          {Notify: []string{"slack"}},
		"--on says when to tell; say whom":   {On: []string{"finished"}},
		`--notify: format: "xml"; want json`: {Notify: []string{"https://a.example"}, Format: "xml"},
	} {
		if err := flags.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", flags, err, want)
		}
	}
}

// TestHooksPending: what is on its way is listed, of runs' own hooks too.
func TestHooksPending(t *testing.T) {
	rows := withPending([]hookRow{{Name: "ops"}}, []scheduler.Delivery{{Hook: "ops", Failed: "a.example answers 500"}, {Hook: "ops"},
		{Hook: "notify:mx1:0", Event: scheduler.RunEvent{Kind: scheduler.RunFinished}}})
	if len(rows) != 2 || rows[0].Pending != 2 || rows[0].Failed != "a.example answers 500" || rows[1].Pending != 1 {
		t.Errorf("%+v", rows)
	}
}
