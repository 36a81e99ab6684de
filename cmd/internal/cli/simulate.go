package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"nightshift/scheduler/sim"
)

// exampleScenario is the one that --example prints.
const exampleScenario = "example"

type simulateOptions struct {
	*factory
	Scenario string
	Example  bool
	Policies []string
	HTML     string
}

func newSimulateCmd(f *factory) *cobra.Command {
	o := &simulateOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "simulate SCENARIO",
		Short: "Play a night on a virtual clock, with nightshift and with other ways, and compare",
		Long: "Plays people, bulk rows and a provider that counts, in seconds, with the rules that run in the fleet, and beside\n" +
			"them what is used otherwise. SCENARIO is a file, or the name of one that comes with nightshift:\n" +
			strings.Join(sim.Names(), ", ") + ". No Redis and no configuration is needed; the same\n" +
			"scenario gives the same result. Failures are those of the first try, as a caller sees them before any retry.\n\n" + policyHelp(),
		Example: "  nightshift simulate morning-peak\n" +
			"  nightshift simulate --example > my.yaml && nightshift simulate my.yaml --html night.html",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Scenario = firstArg(args)
			return runSimulate(cmd.Context(), o)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&o.Example, "example", false, "print a scenario with every key explained, to be adapted")
	fl.StringSliceVar(&o.Policies, "policy", nil, "play only this `POLICY`; may be given several times")
	fl.StringVar(&o.HTML, "html", "", "also write a page with charts to this `FILE`")
	f.addOutputFlag(cmd)
	return cmd
}

func policyHelp() string {
	var b strings.Builder
	b.WriteString("  POLICY              WHAT IT IS\n")
	for _, name := range sim.PolicyNames() {
		fmt.Fprintf(&b, "  %-18s  %s\n", name, sim.Label(name))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func runSimulate(ctx context.Context, o *simulateOptions) error {
	if o.Example {
		b, err := sim.Source(exampleScenario)
		if err == nil {
			_, err = o.Out.Write(b)
		}
		return err
	}
	if o.Scenario == "" {
		return usageErrorf("which SCENARIO? A file (`nightshift simulate --example` prints one), or one of %s", strings.Join(sim.Names(), ", "))
	}
	s, err := o.read()
	if err != nil {
		return err
	}
	all, err := sim.RunAll(ctx, s, o.played(len(s.Policies)))
	if err != nil {
		return err
	}
	advice, err := sim.Advise(ctx, s, all)
	if err != nil {
		return err
	}
	r := simulation{Scenario: s.Name, About: s.About, Seed: s.Seed, Outcomes: all, Advice: advice}
	if o.HTML != "" {
		if err := r.write(o.HTML, s); err != nil {
			return err
		}
	}
	if err := o.print(r.table(), r); err != nil || o.opts.output != "table" {
		return err
	}
	r.tell(o.Out)
	return nil
}

// played tells a person who waits how many of the policies are done: they take a minute.
func (o *simulateOptions) played(all int) func(policy string) {
	var done atomic.Int32
	return func(policy string) {
		if n := done.Add(1); terminal(o.Err) {
			o.say("%s is played (%d of %d)", policy, n, all)
		}
	}
}

// read finds the scenario and checks it.
func (o *simulateOptions) read() (*sim.Scenario, error) {
	name := o.Scenario
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, `/\`) && filepath.Ext(name) == "" {
		if b, err = sim.Source(name); err != nil {
			return nil, usageErrorf("%v, and no file has that name", err)
		}
	}
	if err != nil {
		return nil, configErrorf("%v (`nightshift simulate --example > my.yaml` writes one)", err)
	}
	s, err := sim.Read(b)
	if err != nil {
		return nil, scenarioError(name, b, err)
	}
	if len(o.Policies) > 0 {
		for _, p := range o.Policies {
			if !slices.Contains(sim.PolicyNames(), p) {
				return nil, usageErrorf("--policy %s: want some of %s", p, strings.Join(sim.PolicyNames(), ", "))
			}
		}
		s.Policies = o.Policies
	}
	if err := s.Replay(filepath.Dir(name)); err != nil {
		return nil, scenarioError(name, b, err)
	}
	return s, nil
}

// scenarioError says where in the file it is wrong, and what to do.
func scenarioError(name string, file []byte, err error) error {
	const help = "`nightshift simulate --example` prints a scenario with every key explained"
	if wrong := new(sim.FieldError); errors.As(err, &wrong) {
		at := name
		if line := wrong.Line(file); line > 0 {
			at = fmt.Sprintf("%s:%d", name, line)
		}
		return configErrorf("%s: %v\n%s", at, wrong, help)
	}
	err = cmp.Or(plainKind(err), err)
	return configErrorf("%s:\n%s\n%s", name, yamlFault(err), help)
}

// simulation is what the command shows and `--output json` has.
type simulation struct {
	Scenario string         `json:"scenario"`
	About    string         `json:"about,omitempty"`
	Seed     uint64         `json:"seed"`
	Outcomes []*sim.Outcome `json:"outcomes"`
	Advice   []string       `json:"advice"`
}
