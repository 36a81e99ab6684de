package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// factory is what every command is made with: the streams, and the
// configuration once the flags are parsed.
type factory struct {
	*streams
	now    func() time.Time
	conf   *loaded
	log    *slog.Logger // of a process that goes on running; nil in a command, which says what matters itself
	by     string       // who gives the command, where that is nobody at the keyboard; see operator
	behind io.Writer    // the screen, while a look at it is gathered (paint)
	deed   *deed        // what the command changes, for the audit log; nil for one that only looks
	opts   struct {
		config   string
		redis    string
		gemini   string
		project  string
		stateDir string
		output   string
	}
}

// newRootCmd is the one list of commands.
func newRootCmd(s *streams) *cobra.Command {
	f := &factory{streams: s, now: time.Now}
	root := &cobra.Command{
		Use:   "nightshift",
		Short: "Bulk Gemini jobs overnight, without taking quota from the people who wait",
		Long: "nightshift runs bulk Gemini jobs under one shared permit, so that they use what quota is\n" +
			"idle and never what an interactive service needs. Start with `nightshift init`.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.PersistentPreRunE = nothingEmpty
	root.SuggestionsMinimumDistance = 2
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	f.addGlobalFlags(root)
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Rows in, results out:"},
		&cobra.Group{ID: "see", Title: "See and steer:"},
		&cobra.Group{ID: "fleet", Title: "The fleet:"},
		&cobra.Group{ID: "setup", Title: "Set up:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			wrapArgs(c)
			root.AddCommand(c)
		}
	}
	add("run", newDemoCmd(f), newRunCmd(f), newPlanCmd(f), newSampleCmd(f), newEnqueueCmd(f), newWaitCmd(f), newResultsCmd(f), newDiffCmd(f), newErrorsCmd(f), newReportCmd(f), newRetryCmd(f), newCancelCmd(f), newPurgeCmd(f))
	add("see", newStatusCmd(f), newWatchCmd(f), newWhyCmd(f), newQuotaCmd(f), newSpendCmd(f), newHealthCmd(f), newEventsCmd(f), newAlertsCmd(f), newHooksCmd(f), newClassifyCmd(f), newSetCmd(f), newPauseCmd(f), newResumeCmd(f), newStopCmd(f), newLiftCmd(f), newRampCmd(f))
	add("fleet", newWorkerCmd(f), newGatewayCmd(f), newSchedulerCmd(f), newSchedulesCmd(f), newDashboardCmd(f), newGeminiSimCmd(f))
	add("setup", newInitCmd(f), newDoctorCmd(f), newSimulateCmd(f), newConfigCmd(f), newKeysCmd(f), newTenantsCmd(f), newVersionCmd(f), newLicensesCmd(f))
	f.keepDeeds(root)
	onlyOnce(root)
	root.SetHelpCommand(newHelpCmd())
	root.SetUsageFunc(showUsage)
	fitLong(root)
	return root
}

// nothingEmpty refuses arguments and values that are there and empty: mostly that is a
// shell variable that is not set, and going on without a deadline, a cause or an
// input file is not what was meant.
func nothingEmpty(cmd *cobra.Command, args []string) (err error) {
	if slices.Contains(args, "") {
		return usageErrorf("an argument is empty (a shell variable that is not set?): give it a value, or leave it out")
	}
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		if text := fl.Value.String(); text == "" || text == "[]" || text == `[""]` {
			err = usageErrorf("--%s is empty (a shell variable that is not set?): give it a value, or leave it out", fl.Name)
		}
	})
	return err
}

func (f *factory) addGlobalFlags(root *cobra.Command) {
	p := root.PersistentFlags()
	p.StringVar(&f.opts.config, "config", os.Getenv(envPrefix+"CONFIG"), "configuration `FILE` (default ./"+configName+" if there is one)")
	p.StringVar(&f.opts.redis, "redis", "", "`URL` of the shared Redis, or embedded")
	p.StringVar(&f.opts.gemini, "gemini", "", "live, simulated, or the base `URL` of a Gemini API")
	p.StringVar(&f.opts.project, "project", "", "`NAME` of the provider's project whose quota is used")
	p.StringVar(&f.opts.stateDir, "state-dir", "", "`DIR` for the lock, call records and spool")
}

// addOutputFlag gives a command that prints data its --output.
func (f *factory) addOutputFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.opts.output, "output", "table", "table, json or plain")
}

// config loads the configuration once, with the flags that were given on top.
func (f *factory) config() (*loaded, error) {
	if f.conf != nil {
		return f.conf, nil
	}
	conf, err := loadConfig(f.opts.config, os.Environ(), f.flagValues())
	if err != nil {
		return nil, err
	}
	f.conf = conf
	return conf, nil
}

func (f *factory) flagValues() map[string]any {
	v := map[string]any{}
	set := func(key, value string) {
		if value != "" {
			v[key] = value
		}
	}
	set("redis", f.opts.redis)
	set("gemini.project", f.opts.project)
	set("state_dir", f.opts.stateDir)
	if strings.Contains(f.opts.gemini, "://") {
		set("gemini.api", "live")
		set("gemini.base_url", f.opts.gemini)
	} else {
		set("gemini.api", f.opts.gemini)
	}
	return v
}

func unknownCommand(cmd *cobra.Command, name string) error {
	return usageErrorf("unknown command %q%s", name, didYouMean(cmd.SuggestionsFor(name)))
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(names, " or "))
}

// nearest asks the library's sense of likeness among names that are no commands.
func nearest(name string, known []string) string {
	all := &cobra.Command{SuggestionsMinimumDistance: 3}
	for _, k := range known {
		all.AddCommand(&cobra.Command{Use: k, Run: func(*cobra.Command, []string) {}})
	}
	return didYouMean(all.SuggestionsFor(name))
}

// newHelpCmd is cobra's help, except that a command that does not exist is an error.
func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// wrapArgs makes a wrong number of arguments a usage error, in cmd and below.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return &usageError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
}
