package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"nightshift/scheduler"
)

// HookConfig is somebody to be told of what happens to runs: an address or a command.
type HookConfig struct {
	Name      string        `yaml:"name"`       // default hook1, hook2, … by its place
	On        []string      `yaml:"on"`         // started, finished, halted, capped, late, missed, upgraded, alert, recovered; default finished, halted, capped, late
	URL       string        `yaml:"url"`        // the address that is sent what happened
	URLEnv    string        `yaml:"url_env"`    // or the variable that holds it, since such addresses often are secrets
	SecretEnv string        `yaml:"secret_env"` // variable that holds what signs it (Standard Webhooks); default none
	Format    string        `yaml:"format"`     // json, slack or markdown; default json
	Run       string        `yaml:"run"`        // or a command, given to sh -c where the scheduler runs
	Timeout   time.Duration `yaml:"timeout"`    // of one attempt; default 15s, of a command 10m
}

// ReportConfig is where the report of each run is sent when it has ended or was stopped.
type ReportConfig struct {
	Webhook    string `yaml:"webhook"`     // the address
	WebhookEnv string `yaml:"webhook_env"` // or the variable that holds it
	Format     string `yaml:"format"`      // markdown, json or slack; default markdown
}

// hookConfigs are all hooks with their names; those of the report and of alerts are among
// them, last.
func (c *Config) hookConfigs() []HookConfig {
	all := slices.Clone(c.Hooks)
	for i := range all {
		all[i].Name = cmp.Or(all[i].Name, fmt.Sprintf("hook%d", i+1))
	}
	if r := c.Report; r.Webhook != "" || r.WebhookEnv != "" {
		all = append(all, HookConfig{Name: "report", On: []string{scheduler.RunFinished, scheduler.RunHalted},
			URL: r.Webhook, URLEnv: r.WebhookEnv, Format: cmp.Or(r.Format, scheduler.HookMarkdown)})
	}
	if h, ok := c.Alerts.hook(); ok {
		all = append(all, h)
	}
	return all
}

// checkHooks wants each to be one that could be called. Addresses and secrets of the
// environment are looked at where they are used, and by config check.
func (c *Config) checkHooks() error {
	seen := map[string]bool{}
	for i, h := range c.hookConfigs() {
		key := fmt.Sprintf("hooks[%d]", i)
		if i >= len(c.Hooks) {
			key = h.Name
		}
		if err := nameOK(key+".name", h.Name); err != nil {
			return err
		}
		if seen[h.Name] {
			return fmt.Errorf("%s.name: %q is the name of another hook too", key, h.Name)
		}
		seen[h.Name] = true
		if err := h.check(key); err != nil {
			return err
		}
	}
	return nil
}

func (h HookConfig) check(key string) error {
	if h.URL != "" && h.URLEnv != "" {
		return fmt.Errorf("%s: url and url_env are both set; one is the address", key)
	}
	for name, v := range map[string]string{"url_env": h.URLEnv, "secret_env": h.SecretEnv} {
		if v != "" && !envPattern.MatchString(v) {
			return fmt.Errorf("%s.%s: want the name of an environment variable, such as SLACK_WEBHOOK; the secret itself goes into that variable", key, name)
		}
	}
	probe := h.hook()
	if h.URLEnv != "" {
		probe.URL = "https://in.the.environment"
	}
	if err := probe.Check(); err != nil {
		return fmt.Errorf("%s.%w", key, err)
	}
	return nil
}

func (h HookConfig) hook() scheduler.Hook {
	return scheduler.Hook{Name: h.Name, On: h.On, URL: h.URL, Format: h.Format, Command: h.Run, Timeout: h.Timeout}
}

// open takes address and secret from the environment.
func (h HookConfig) open() (scheduler.Hook, error) {
	out := h.hook()
	if h.URLEnv != "" {
		if out.URL = strings.TrimSpace(os.Getenv(h.URLEnv)); out.URL == "" {
			return out, fmt.Errorf("hook %s: $%s (url_env) is empty: set it to the address", h.Name, h.URLEnv)
		}
	}
	if h.SecretEnv != "" {
		if out.Secret = []byte(os.Getenv(h.SecretEnv)); len(out.Secret) == 0 {
			return out, fmt.Errorf("hook %s: $%s (secret_env) is empty: set it to what signs", h.Name, h.SecretEnv)
		}
	}
	if err := out.Check(); err != nil {
		return out, fmt.Errorf("hook %s: %w", h.Name, err)
	}
	return out, nil
}

// hooks are all that can be called, and what is wrong with the others.
func (l *loaded) hooks() (out []scheduler.Hook, wrong []error) {
	for _, h := range l.hookConfigs() {
		hook, err := h.open()
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		out = append(out, hook)
	}
	return out, wrong
}

// commandEnv is what a hook's command sees of our environment: not the variables that
// hold keys, addresses and secrets of ours.
func (l *loaded) commandEnv() []string {
	secret := []string{l.Gemini.APIKeyEnv, "GEMINI_API_KEY", "GOOGLE_API_KEY", envPrefix + "REDIS", envPrefix + "DASHBOARD_TOKEN", envPrefix + "REPORT_WEBHOOK", l.Report.WebhookEnv, envPrefix + "ALERTS_WEBHOOK", l.Alerts.WebhookEnv, l.Alerts.SecretEnv}
	for _, h := range l.Hooks {
		secret = append(secret, h.URLEnv, h.SecretEnv)
	}
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(secret, name)
	})
}

// shownHooks are the hooks without what may be secret.
func (c *Config) shownHooks() string {
	var parts []string
	for _, h := range c.Hooks {
		parts = append(parts, strings.Join(h.on(), ",")+" → "+h.target())
	}
	return strings.Join(parts, "; ")
}

func (h HookConfig) on() []string {
	if len(h.On) == 0 {
		return scheduler.DefaultHookOn
	}
	return h.On
}

// target is who is told, as it may be shown.
func (h HookConfig) target() string {
	if h.URLEnv != "" {
		return "$" + h.URLEnv
	}
	return h.hook().Target()
}
