package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/scheduler"
)

func newHooksCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "Show who is told what happens to runs, and try it",
		Long: "Lists the hooks of the configuration and what is on its way to them. The leading scheduler calls them, and a\n" +
			"`run` that has its Redis for itself: at least once for each event, again after failures, for up to a day.\n" +
			"`hooks test NAME` sends a sample now.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return showHooks(cmd.Context(), f) },
	}
	f.addOutputFlag(cmd)
	test := &cobra.Command{
		Use:   "test NAME",
		Short: "Call a hook with a sample, once and now",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return testHook(cmd.Context(), f, args[0]) },
	}
	cmd.AddCommand(test)
	return cmd
}

// hookRow is one hook as it is listed.
type hookRow struct {
	Name    string   `json:"name"`
	On      []string `json:"on"`
	To      string   `json:"to"`
	Format  string   `json:"format,omitempty"`
	Pending int      `json:"pending"` // events on their way
	Failed  string   `json:"failed,omitempty"`
}

func showHooks(ctx context.Context, f *factory) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	rows := []hookRow{}
	for _, h := range c.hookConfigs() {
		rows = append(rows, hookRow{Name: h.Name, On: h.on(), To: h.target(), Format: h.Format})
	}
	if be, err := f.openAny(ctx); err == nil {
		defer be.close()
		pending, err := be.control().Deliveries(ctx)
		if err != nil {
			return err
		}
		rows = withPending(rows, pending)
	} else if c.Redis != "embedded" {
		f.say("warning: what is on its way to them is not known: %v", err)
	}
	if len(rows) == 0 {
		f.say("no hooks: see hooks in `nightshift init --stdout`, and --notify of `nightshift enqueue`")
	}
	t := newTable("HOOK", "ON", "TO", "FORMAT", "PENDING", "LAST FAILURE").numeric(4)
	for _, r := range rows {
		t.row(r.Name, strings.Join(r.On, ","), r.To, r.Format, r.Pending, r.Failed)
	}
	return f.print(t, rows)
}

// withPending adds what is on its way, of runs' own hooks too.
func withPending(rows []hookRow, pending []scheduler.Delivery) []hookRow {
	for _, d := range pending {
		i := slices.IndexFunc(rows, func(r hookRow) bool { return r.Name == d.Hook })
		if i < 0 {
			rows = append(rows, hookRow{Name: d.Hook, On: []string{d.Event.Kind}, To: "--notify of its run"})
			i = len(rows) - 1
		}
		rows[i].Pending++
		rows[i].Failed = orElse(d.Failed, rows[i].Failed)
	}
	return rows
}

func testHook(ctx context.Context, f *factory, name string) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	all := c.hookConfigs()
	i := slices.IndexFunc(all, func(h HookConfig) bool { return h.Name == name })
	if i < 0 {
		var names []string
		for _, h := range all {
			names = append(names, h.Name)
		}
		return usageErrorf("no hook %q; there are: %s", name, orElse(strings.Join(names, ", "), "none"))
	}
	hook, err := all[i].open()
	if err != nil {
		return err
	}
	h := &scheduler.Hooks{Control: &scheduler.Control{}, Command: scheduler.HookCommand{Env: c.commandEnv(), Out: f.Err},
		Report: func(context.Context, string) (scheduler.RunReport, error) {
			return trialReport(f.now()).forHooks(), nil
		}}
	e := scheduler.RunEvent{Run: "trial", Kind: all[i].on()[0], At: f.now(), Text: "this is a trial by `nightshift hooks test`", Occasion: f.now().String()}
	if err := h.Test(ctx, hook, e); err != nil {
		return fmt.Errorf("hook %s: %w", name, err)
	}
	fmt.Fprintf(f.Out, "%s: told %s that a run %s\n", name, all[i].target(), e.Kind)
	return nil
}

// trialReport is that of a run that never was.
func trialReport(now time.Time) *runReport {
	return &runReport{At: now, From: now.Add(-time.Hour), To: now, Ended: true, Rows: 3, Good: 3, States: map[string]int64{"done": 3},
		Run: jobs.Run{ID: "trial", Input: "trial.csv", Rows: 3, Spec: jobs.Spec{Name: "trial", Model: "none", Feature: "trial", Priority: jobs.Normal}},
		Do:  []reportStep{}, Failed: []*cause{}, Waits: []reportWait{}, Quota: []reportQuota{}, People: []reportPeople{}, Events: []reportEvent{}, Unknown: []string{}}
}

// newHooks are the configured hooks as one process calls them. One that cannot be called
// is said, and keeps no other from being called.
func (b *backend) newHooks(control *scheduler.Control) *scheduler.Hooks {
	hooks, wrong := b.conf.hooks()
	for _, err := range wrong {
		b.log.Error("a hook cannot be called", "err", err)
	}
	return &scheduler.Hooks{Control: control, Hooks: hooks, Report: b.hookReport, Command: scheduler.HookCommand{Env: b.conf.commandEnv()}, Zone: time.Local} // as of the report that goes with it
}

// hookReport is what hooks are told of a run; nothing of one that is not there.
func (b *backend) hookReport(ctx context.Context, id string) (scheduler.RunReport, error) {
	run, err := b.store.Load(ctx, id)
	if errors.Is(err, jobs.ErrNoRun) {
		return scheduler.RunReport{}, nil
	}
	if err != nil {
		return scheduler.RunReport{}, err
	}
	r, err := b.report(ctx, run, time.Now())
	if err != nil {
		return scheduler.RunReport{Title: run.Title()}, err
	}
	return r.forHooks(), nil
}

// forHooks is the report in the forms that hooks take.
func (r *runReport) forHooks() scheduler.RunReport {
	var md, js strings.Builder
	_ = r.write(&md, "markdown") // a builder never fails
	_ = r.write(&js, "json")
	lines := append([]string{r.lead()}, r.short()...)
	for _, s := range r.Do {
		lines = append(lines, "→ "+s.Why+colon(s)+" "+s.Command)
	}
	return scheduler.RunReport{Title: r.Run.Title(), Short: strings.TrimSpace(strings.Join(lines, "\n")), Markdown: md.String(), JSON: []byte(js.String())}
}
