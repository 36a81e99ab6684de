package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/scheduler"
)

func newAlertsCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "Show what needs a look now, since when, and what helps",
		Long: "The leading scheduler looks every ten seconds: 429s of calls that people wait for, lines that grow, unusual\n" +
			"input, caps at 50, 80, 92 and 100 %, long pauses, refused keys, limits that the provider keeps lower, estimates\n" +
			"that are off, rows without a worker. It tells alerts.webhook, and each of hooks with alert in its on: once, and\n" +
			"once when it is over. Thresholds are in alerts of the configuration; `events --kind alert` has those of before.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return showAlerts(cmd.Context(), f) },
	}
	f.addOutputFlag(cmd)
	cmd.AddCommand(&cobra.Command{
		Use:   "test [HOOK]",
		Short: "Send a sample to everybody who is told of alerts, or to one hook",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return testAlerts(cmd.Context(), f, firstArg(args)) },
	})
	return cmd
}

// alertWatch is what the leader looks with.
func (b *backend) alertWatch(control *scheduler.Control, owner string) *scheduler.AlertWatch {
	rules := b.conf.Alerts.rules()
	return &scheduler.AlertWatch{Control: control, Owner: owner, Rules: rules, Source: &scheduler.AlertReader{Control: control, Over: rules.Over}}
}

// shownAlerts is what `alerts --output json` prints.
type shownAlerts struct {
	Firing  []scheduler.Alert `json:"firing"`
	Seen    time.Time         `json:"seen,omitzero"` // when a scheduler looked last
	Watched bool              `json:"watched"`       // a scheduler leads, and looks
	Told    []string          `json:"told"`          // hooks that are told
}

// alertsStale is how old a look of the leader may be that still says what is.
const alertsStale = time.Minute

func showAlerts(ctx context.Context, f *factory) error {
	be, err := f.openFleet(ctx, "alerts")
	if err != nil {
		return err
	}
	defer be.close()
	now := f.now()
	v, err := be.alerts(ctx, now)
	if err != nil {
		return err
	}
	f.sayAlerts(v, now)
	t := newTable("SINCE", "ALERT", "WHAT", "WHAT HELPS")
	for _, a := range v.Firing {
		t.row(clock(a.Since, now), a.Kind, told(a.Text, now), a.Command)
	}
	return f.print(t, v)
}

func (b *backend) alerts(ctx context.Context, now time.Time) (shownAlerts, error) {
	firing, seen, err := b.control().Firing(ctx)
	if err != nil {
		return shownAlerts{}, err
	}
	members, err := b.control().Members(ctx)
	if err != nil {
		return shownAlerts{}, err
	}
	v := shownAlerts{Firing: firing, Seen: seen, Watched: isLed(members) && now.Sub(seen) < alertsStale, Told: []string{}}
	for _, h := range b.conf.alertHooks() {
		v.Told = append(v.Told, h.Name)
	}
	return v, nil
}

// sayAlerts says what the table cannot.
func (f *factory) sayAlerts(v shownAlerts, now time.Time) {
	switch {
	case v.Seen.IsZero():
		f.say("warning: no scheduler has looked yet, so nobody is told of anything: nightshift scheduler")
	case !v.Watched:
		f.say("warning: no scheduler has looked since %s; this is what it saw then: nightshift scheduler", clock(v.Seen, now))
	case len(v.Firing) == 0:
		f.say("nothing needs a look (as of %s)", clock(v.Seen, now))
	}
	if len(v.Told) == 0 {
		f.say("note: nobody is told: set alerts.webhook, or a hook with on: [alert, recovered]")
	}
}

// alertHooks are the hooks that are told of alerts.
func (c *Config) alertHooks() []HookConfig {
	return slices.DeleteFunc(c.hookConfigs(), func(h HookConfig) bool { return !slices.Contains(h.On, scheduler.HookAlert) })
}

func testAlerts(ctx context.Context, f *factory, name string) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	list := c.alertHooks()
	var names []string
	for _, h := range list {
		names = append(names, h.Name)
	}
	switch {
	case len(list) == 0:
		return usageErrorf("nobody is told of alerts: set alerts.webhook, or give a hook on: [alert, recovered]")
	case name != "" && !slices.Contains(names, name):
		return usageErrorf("no hook %q that is told of alerts; there are: %s", name, strings.Join(names, ", "))
	}
	h := &scheduler.Hooks{Control: &scheduler.Control{Scope: c.scope()}, Command: scheduler.HookCommand{Env: c.commandEnv(), Out: f.Err}}
	failed := 0
	for _, hook := range list {
		if name != "" && hook.Name != name {
			continue
		}
		if err := testAlert(ctx, h, hook, f.now()); err != nil {
			failed++
			f.say("hook %s: %v", hook.Name, err)
			continue
		}
		fmt.Fprintf(f.Out, "%s: told %s\n", hook.Name, hook.target())
	}
	if failed > 0 {
		return fmt.Errorf("%s not told", plural(failed, "hook"))
	}
	return nil
}

func testAlert(ctx context.Context, h *scheduler.Hooks, c HookConfig, now time.Time) error {
	hook, err := c.open()
	if err != nil {
		return err
	}
	return h.TestAlert(ctx, hook, now)
}
