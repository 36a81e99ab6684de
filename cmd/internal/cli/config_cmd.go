package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
)

func newConfigCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration, or show each value and where it came from",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	check := &cobra.Command{
		Use:   "check",
		Short: "Read the configuration and say what is wrong with it",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return runConfigCheck(f) },
	}
	show := &cobra.Command{
		Use:   "show",
		Short: "Print every value in force and its source",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return runConfigShow(f) },
	}
	f.addOutputFlag(show)
	cmd.AddCommand(check, show)
	return cmd
}

func runConfigCheck(f *factory) error {
	c, err := f.config()
	if err != nil {
		return invalid(err)
	}
	where := c.File
	if where == "" {
		where = "no " + configName + " here; defaults, environment and flags"
	}
	if err := c.Gateway.TLS.checkFiles(f.now()); err != nil {
		return invalid(c.located(err))
	}
	if len(c.Models) == 0 {
		f.say("%s: no models. A run needs the limits of its model:\n%s", where, modelExample("gemini-3.5-flash"))
	}
	for _, warning := range c.priceWarnings(f.now()) {
		f.say("%s: %s", where, warning)
	}
	if _, wrong := c.hooks(); len(wrong) > 0 {
		return invalid(c.located(wrong[0]))
	}
	for _, s := range c.Schedules {
		b, _, err := c.prepareSchedule(context.Background(), s, "")
		if err != nil {
			return invalid(fmt.Errorf("%s: schedules: %s: %w", where, s.text("name"), err))
		}
		b.close()
	}
	fmt.Fprintf(f.Out, "ok: %s, %s\n", where, plural(len(c.Models), "model"))
	return nil
}

// modelExample is the lines to add for a model; the numbers are for the reader
// to replace.
func modelExample(model string) string {
	return "  models:\n" +
		"    " + model + ":\n" +
		"      rpm: 1000          # from https://aistudio.google.com/rate-limit, for your project\n" +
		"      input_tpm: 1000000\n" +
		"      rpd: 10000"
}

// setting is one row of config show.
type setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Source string `json:"source"`
}

func runConfigShow(f *factory) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	var rows []setting
	for _, key := range slices.Sorted(maps.Keys(c.Sources)) {
		rows = append(rows, setting{key, c.value(key), c.Sources[key]})
	}
	t := newTable("KEY", "VALUE", "SOURCE")
	for _, r := range rows {
		t.row(r.Key, r.Value, r.Source)
	}
	return f.print(t, rows)
}

// value looks a key up whose levels were joined by '.', though levels may hold
// dots themselves.
func (l *loaded) value(key string) any {
	for _, k := range l.k.Keys() {
		if strings.ReplaceAll(k, keySep, ".") == key {
			if key == "hooks" {
				return l.shownHooks()
			}
			return shown(key, l.k.Get(k))
		}
	}
	return nil
}

// shown hides the password of a URL, and what looks like a key anywhere.
func shown(key string, v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	if (key == "dashboard.token" || key == "dashboard.view_token") && text != "" {
		return "***"
	}
	if (key == "report.webhook" || key == "alerts.webhook") && text != "" {
		return HookConfig{URL: text}.target()
	}
	if key == "redis" && redisHost(text) != afterScheme(text) && strings.Contains(text, "@") {
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://***@" + redisHost(text)
	}
	return gemini.Redact(text)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// print writes a table, or the rows behind it as JSON lines of one array.
func (f *factory) print(t *dataTable, rows any) error {
	switch f.opts.output {
	case "json":
		enc := json.NewEncoder(f.Out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(rows)
	case "plain":
		t.plain(f.Out)
		return nil
	case "table", "":
		t.render(f.Out)
		return nil
	}
	return usageErrorf("--output %s: want table, json or plain", f.opts.output)
}
