package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/limiter"
)

type spendSetOptions struct {
	set                    setOptions
	Month, Day, TenMinutes string
}

func newSpendSetCmd(f *factory) *cobra.Command {
	o := &spendSetOptions{set: setOptions{factory: f}}
	cmd := &cobra.Command{
		Use:   "set [NODE] [LIMIT AMOUNT]",
		Short: "Set a cap in dollars while the fleet runs: the project's, a model's, a tenant's, …",
		Long: "Puts a money limit over the configuration, until it is unset; what was spent stays spent. Without NODE it is\n" +
			"the project's, over all models. NODE is a model, or a node of a path, as in tenant/acme, feature/chat or run/RUN.\n" +
			"LIMIT is " + strings.Join(capNames(), ", ") + "; AMOUNT is in dollars, none takes the limit away.\n\n" +
			"A cap that is raised lets what waits for it go on by itself, within a second or two.",
		Example: "  nightshift spend set --month 50\n" +
			"  nightshift spend set tenant/acme usd_per_month 50\n" +
			"  nightshift spend set gemini-3.5-flash --day 12.50 --reason \"trial week\"",
		Args: cobra.MaximumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			return o.set.run(cmd.Context(), o.set.setting)
		},
	}
	o.set.addFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.Month, "month", "", "`DOLLARS` of a calendar month")
	fl.StringVar(&o.Day, "day", "", "`DOLLARS` of a Pacific day")
	fl.StringVar(&o.TenMinutes, "ten-minutes", "", "`DOLLARS` in ten minutes, as the provider limits them")
	fl.StringVar(&o.set.Reason, "reason", "", "why, for those who see it")
	return cmd
}

// read makes of NODE, LIMIT, AMOUNT and the flags what `quota set` takes.
func (o *spendSetOptions) read(args []string) error {
	o.set.Target = limiter.ProjectKind
	if len(args) > 0 && !isCap(args[0]) {
		o.set.Target, args = args[0], args[1:]
	}
	switch len(args) {
	case 0:
	case 1:
		name, amount, ok := strings.Cut(args[0], "=")
		if !ok {
			return usageErrorf("%s: want a limit and its amount, as in usd_per_month 50; limits are %s", args[0], strings.Join(capNames(), ", "))
		}
		o.set.Values = append(o.set.Values, name+"="+amount)
	default:
		o.set.Values = append(o.set.Values, args[0]+"="+args[1])
	}
	for _, x := range []struct{ name, amount string }{{"usd_per_month", o.Month}, {"usd_per_day", o.Day}, {"usd_per_10m", o.TenMinutes}} {
		if x.amount != "" {
			o.set.Values = append(o.set.Values, x.name+"="+x.amount)
		}
	}
	if len(o.set.Values) == 0 {
		return usageErrorf("nothing to set; say how much, as in --month 50 or usd_per_month 50")
	}
	for _, text := range o.set.Values {
		if name, _, _ := strings.Cut(text, "="); !slices.Contains(capNames(), name) {
			return usageErrorf("unknown limit %s; money is limited by %s (`nightshift quota set` has the others)", name, strings.Join(capNames(), ", "))
		}
	}
	return nil
}

// isCap tells a limit's name, or NAME=AMOUNT, from a node.
func isCap(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return strings.HasPrefix(name, "usd_")
}
