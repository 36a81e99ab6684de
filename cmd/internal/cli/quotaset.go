package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/limiter"
)

type setOptions struct {
	*factory
	Target string
	Values []string // NAME=VALUE; only NAME to unset
	Shadow bool
	DryRun bool
	Unset  bool // take values back instead
	By     string
	Reason string

	shadowGiven bool
}

func newQuotaSetCmd(f *factory) *cobra.Command {
	o := &setOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "set TARGET NAME=VALUE...",
		Short: "Change limits, shares or weights while the fleet runs; what was used stays used",
		Long: "Puts values over the configuration, for all processes within a second and until they are unset: restarts and\n" +
			"new configuration files do not end them. All of the command's values are set, or none.\n\n" +
			"  TARGET           NAMES\n" +
			"  MODEL            " + strings.Join(limiter.LimitNames()[:6], ", ") + ",\n" +
			"                   " + strings.Join(limiter.LimitNames()[6:9], ", ") + ",\n" +
			"                   " + strings.Join(limiter.LimitNames()[9:], ", ") + ", outside, lend, shadow\n" +
			"  tenant/acme      limits and shadow, for organization/, tenant/, team/, key/, feature/ and run/;\n" +
			"                   tenant/* is the default of each tenant\n" +
			"  class/bulk       guarantee, floor, trickle, cap, output_floor\n" +
			"  weights          priority/high, tenant/acme, run/…",
		Example: "  nightshift quota set gemini-3.5-flash rpm=300 input_tpm=2M\n" +
			"  nightshift quota set tenant/acme rpm=100 usd_per_day=$25 --shadow\n" +
			"  nightshift quota set class/interactive floor=20%\n" +
			"  nightshift quota set weights priority/high=8 tenant/acme=3",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: f.completeQuota("="),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Target, o.Values, o.shadowGiven = args[0], args[1:], cmd.Flags().Changed("shadow")
			return o.run(cmd.Context(), o.setting)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.Shadow, "shadow", false, "these limits decide and report, and refuse nothing; --shadow=false enforces them again")
	cmd.Flags().StringVar(&o.Reason, "reason", "", "why, for those who see it")
	return cmd
}

func newQuotaUnsetCmd(f *factory) *cobra.Command {
	o := &setOptions{factory: f, Unset: true}
	cmd := &cobra.Command{
		Use:               "unset TARGET [NAME...]",
		Short:             "Take back what `quota set` or the provider set, so that the configuration holds again",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: f.completeQuota(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Target, o.Values = args[0], args[1:]
			return o.run(cmd.Context(), o.unsetting)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *setOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "say what would change and what the last day's calls would have met, and change nothing")
	cmd.Flags().StringVar(&o.By, "by", operator(), "who does it, for those who see it")
	o.addOutputFlag(cmd)
}

// quotaState is what a change of quotas begins with.
type quotaState struct {
	file      limiter.Config
	overrides []limiter.Override
	node      string
}

func (o *setOptions) run(ctx context.Context, change func(quotaState) (limiter.Change, error)) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	return o.change(ctx, be, change)
}

func (o *setOptions) change(ctx context.Context, be *backend, change func(quotaState) (limiter.Change, error)) error {
	s, err := be.quotaState(ctx, o.Target)
	if err != nil {
		return err
	}
	if err := o.nameRuns(ctx, be, &s); err != nil {
		return err
	}
	ch, err := change(s)
	if err != nil {
		return err
	}
	for _, x := range append(slices.Clone(ch.Set), ch.Unset...) {
		if err := be.stoppedAlready(ctx, x.Node, x.Name); err != nil {
			return err
		}
	}
	ch.By = o.By
	before, after, err := be.lim.Try(ctx, ch)
	if err == nil && !o.DryRun {
		err = be.lim.Override(ctx, ch)
	}
	if err != nil {
		return o.wrong(err)
	}
	changes, err := be.quotaChanges(ctx, s, before, after)
	if err != nil {
		return err
	}
	large, err := be.tooLargeNow(ctx, s.node, after)
	if err != nil {
		return err
	}
	notes := append(o.shadowNotes(s.node, before, after), large...)
	if o.DryRun && len(changes) > 0 && o.opts.output == "table" {
		replayed, err := be.replayed(ctx, s.node, before, after, o.now())
		if err != nil {
			return err
		}
		notes = append(notes, replayed...)
	}
	return o.tell(s.node, ch, changes, notes)
}

func (b *backend) quotaState(ctx context.Context, target string) (s quotaState, err error) {
	if s.file, err = b.lim.Configured(ctx); err != nil {
		return s, err
	}
	if len(s.file.Classes) == 0 {
		return s, noLane("", nil)
	}
	if s.overrides, err = b.lim.Overrides(ctx); err != nil {
		return s, err
	}
	for _, x := range s.overrides { // what is set may be unset though nothing names it now
		if target == x.Node || target == shownTarget(x.Node) {
			s.node = x.Node
		}
	}
	if node, err := b.conf.quotaTarget(target, s.file); err == nil || s.node == "" {
		s.node = node
		return s, err
	}
	return s, nil
}

// setting reads NAME=VALUE....
func (o *setOptions) setting(s quotaState) (limiter.Change, error) {
	var ch limiter.Change
	for _, text := range o.Values {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return ch, usageErrorf("%s: want NAME=VALUE, as in rpm=300", text)
		}
		x := limiter.Override{Node: s.node, Name: strings.TrimSpace(name), Reason: o.Reason}
		if err := firstError(quotaName(s.node, x.Name), readValue(&x, value)); err != nil {
			return ch, err
		}
		if slices.ContainsFunc(ch.Set, func(y limiter.Override) bool { return y.Name == x.Name }) {
			return ch, usageErrorf("%s is given twice; nothing was changed", x.Name)
		}
		ch.Set = append(ch.Set, x)
	}
	if o.shadowGiven {
		x, err := o.shadow(s, ch.Set)
		if err != nil {
			return ch, err
		}
		ch.Set = append(ch.Set, x)
	}
	return ch, nil
}

// shadow puts the limits of the command into shadow, or takes them out.
func (o *setOptions) shadow(s quotaState, set []limiter.Override) (limiter.Override, error) {
	x := limiter.Override{Node: s.node, Name: "shadow", Reason: o.Reason}
	now, err := s.file.With(s.overrides)
	if err != nil {
		return x, err
	}
	names := slices.Clone(now.Shadow[s.node])
	for _, v := range set {
		if !slices.Contains(limiter.LimitNames(), v.Name) {
			return x, usageErrorf("--shadow is for limits; %s is none", v.Name)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == v.Name })
		if o.Shadow {
			names = append(names, v.Name)
		}
	}
	x.Text = orElse(strings.Join(names, ","), limiter.None)
	return x, nil
}

// unsetting reads the names to unset; none means all of the target.
func (o *setOptions) unsetting(s quotaState) (limiter.Change, error) {
	var ch limiter.Change
	for _, name := range o.Values {
		ch.Unset = append(ch.Unset, limiter.Override{Node: s.node, Name: name})
	}
	if len(o.Values) == 0 {
		ch.Unset = []limiter.Override{{Node: s.node}}
	}
	for _, u := range ch.Unset {
		if !slices.ContainsFunc(s.overrides, func(x limiter.Override) bool { return x.Node == u.Node && (u.Name == "" || x.Name == u.Name) }) {
			return ch, usageErrorf("nothing is set for %s; %s", strings.TrimSpace(shownTarget(u.Node)+" "+u.Name), isSet(s.overrides))
		}
	}
	return ch, nil
}

func isSet(overrides []limiter.Override) string {
	var set []string
	for _, x := range overrides {
		set = append(set, shownTarget(x.Node)+" "+x.Name)
	}
	return "set are " + orElse(strings.Join(set, ", "), "no values at all")
}

// wrong makes what the user gave wrongly an error of the command line.
func (o *setOptions) wrong(err error) error {
	var wrong *limiter.ConfigError
	if errors.As(err, &wrong) {
		return &usageError{fmt.Errorf("%s %s: %w; nothing was changed", o.Target, strings.Join(o.Values, " "), err)}
	}
	return err
}
