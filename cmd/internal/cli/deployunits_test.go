package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// deployed is the command that a deployment starts a process with; the command line
// has to be one that nightshift takes.
func deployed(t *testing.T, args []string) *cobra.Command {
	t.Helper()
	cmd, rest, err := newRootCmd(&streams{}).Find(args)
	if err == nil && cmd.HasParent() {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && cmd.HasParent() {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || !cmd.HasParent() {
		t.Fatalf("nightshift %s: %v", strings.Join(args, " "), err)
	}
	return cmd
}

// checkGrace wants a process to have the time that it needs to end, and not twice it.
func (c *Config) checkGrace(t *testing.T, process string, grace time.Duration) {
	t.Helper()
	need := map[string]time.Duration{"worker": c.Worker.drainTime(), "gateway": c.Gateway.server().EndTime(), "scheduler": 10 * time.Second, "dashboard": 5 * time.Second}[process]
	if need == 0 || grace <= need || grace > 3*need {
		t.Errorf("%s has %s to end; it needs up to %s", process, grace, need)
	}
}

// unitOf reads a unit of systemd with what holds for all of ours: the values of each
// key, by section.
func unitOf(t *testing.T, files ...string) map[string][]string {
	t.Helper()
	out, section := map[string][]string{}, ""
	for _, file := range files {
		for line := range strings.Lines(string(readDeploy(t, file))) {
			line = strings.TrimSpace(line)
			key, value, ok := strings.Cut(line, "=")
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "["):
				section = line
			case !ok || strings.ContainsAny(key, " \t") || section == "":
				t.Errorf("%s: what is %q?", file, line)
			default:
				out[section+key] = append(out[section+key], value)
			}
		}
	}
	return out
}

// TestUnits: each unit starts a process that there is, with variables that it knows,
// gives it the time to end, and shuts it in. CI has systemd-analyze read them too.
func TestUnits(t *testing.T) {
	t.Parallel()
	conf, err := loadConfig("", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	units, err := filepath.Glob(deployDir + "systemd/*.service")
	if err != nil {
		t.Fatal(err)
	}
	var started []string
	for _, file := range units {
		name := "systemd/" + filepath.Base(file)
		u := unitOf(t, "systemd/nightshift-.service.d/common.conf", name)
		started = append(started, checkUnit(t, conf, name, u))
	}
	slices.Sort(started)
	if want := []string{"dashboard", "gateway", "scheduler", "worker"}; !slices.Equal(started, want) {
		t.Errorf("the units start %v; want %v", started, want)
	}
}

func checkUnit(t *testing.T, conf *loaded, name string, u map[string][]string) (process string) {
	t.Helper()
	one := func(key string) string {
		if len(u[key]) != 1 {
			t.Fatalf("%s: %s is %q", name, key, u[key])
		}
		return u[key][0]
	}
	line := strings.Fields(one("[Service]ExecStart"))
	process = deployed(t, line[1:]).Name()
	if line[0] != "/usr/local/bin/nightshift" || !strings.HasPrefix(filepath.Base(name), "nightshift-"+process) {
		t.Errorf("%s starts %v", name, line)
	}
	if _, err := envValues(u["[Service]Environment"]); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	grace, err := time.ParseDuration(strings.Replace(one("[Service]TimeoutStopSec"), "min", "m", 1))
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	conf.checkGrace(t, process, grace)
	for key, want := range map[string]string{"User": "nightshift", "KillSignal": "SIGTERM", "Restart": "on-failure", "ProtectSystem": "strict", "NoNewPrivileges": "yes", "CapabilityBoundingSet": ""} {
		if got := one("[Service]" + key); got != want {
			t.Errorf("%s: %s is %q, want %q", name, key, got, want)
		}
	}
	// Who calls Gemini gets the key as a file, and nobody else.
	calls := process == "worker" || process == "gateway"
	if keyed := slices.Contains(u["[Service]LoadCredential"], "gemini-api-key:/etc/nightshift/gemini-api-key") &&
		slices.Contains(u["[Service]Environment"], "NIGHTSHIFT_GEMINI_API_KEY_FILE=%d/gemini-api-key"); keyed != calls {
		t.Errorf("%s has the key: %t", name, keyed)
	}
	return process
}
