package cli

import (
	"cmp"
	"fmt"
	"time"

	"nightshift/scheduler"
)

// AlertsConfig says from when on something is an alert, and who is told: one address
// here, and each of hooks that has alert in its on.
type AlertsConfig struct {
	Webhook    string `yaml:"webhook"`     // the address
	WebhookEnv string `yaml:"webhook_env"` // or the variable that holds it
	SecretEnv  string `yaml:"secret_env"`  // variable that holds what signs it (Standard Webhooks); default none
	Format     string `yaml:"format"`      // slack, json or markdown; default slack

	Over         time.Duration `yaml:"over"`          // what a look judges of 429s, tokens and estimates; default 5m
	Group        time.Duration `yaml:"group"`         // what begins within it is one message; default 30s
	Clear        time.Duration `yaml:"clear"`         // quiet for so long it is over; default 2m
	Refusals     int64         `yaml:"refusals"`      // 429s of a class that people wait for, within over; default 10
	RefusedRatio float64       `yaml:"refused_ratio"` // and of all its calls; default 0.01
	QueueRows    int64         `yaml:"queue_rows"`    // rows by which a line grows in each half of queue_over; default 1000
	QueueOver    time.Duration `yaml:"queue_over"`    // default 30m
	Tokens       float64       `yaml:"tokens"`        // times the usual input of a request, or one part in so many; default 4
	Caps         []int64       `yaml:"caps"`          // levels in percent; default 50, 80, spend.soft_ratio and 100
	Paused       time.Duration `yaml:"paused"`        // closed for longer than this; default 4h
	Lowered      time.Duration `yaml:"lowered"`       // a limit that the provider keeps lower for so long; default 10m
	Estimates    float64       `yaml:"estimates"`     // part by which estimates may be off; default 0.25
	Workers      time.Duration `yaml:"workers"`       // rows wait for so long, and no worker serves them; default 2m
	Off          []string      `yaml:"off"`           // kinds that nobody is told of
}

// rules are those of the scheduler.
func (a AlertsConfig) rules() scheduler.AlertRules {
	off := map[string]bool{}
	for _, kind := range a.Off {
		off[kind] = true
	}
	return scheduler.AlertRules{Over: a.Over, Group: a.Group, Clear: a.Clear, Refusals: a.Refusals, RefusedRatio: a.RefusedRatio,
		QueueRows: a.QueueRows, QueueOver: a.QueueOver, Tokens: a.Tokens, Caps: a.Caps, Paused: a.Paused, Lowered: a.Lowered,
		Estimate: a.Estimates, Workers: a.Workers, Off: off}
}

// hook is the address of alerts as one of the hooks; false without any.
func (a AlertsConfig) hook() (HookConfig, bool) {
	return HookConfig{Name: "alerts", On: []string{scheduler.HookAlert, scheduler.HookRecovered}, URL: a.Webhook, URLEnv: a.WebhookEnv,
		SecretEnv: a.SecretEnv, Format: cmp.Or(a.Format, scheduler.HookSlack)}, a.Webhook != "" || a.WebhookEnv != ""
}

func (c *Config) checkAlerts() error {
	if err := c.Alerts.rules().Check(); err != nil {
		return fmt.Errorf("alerts.%w", err)
	}
	return nil
}
