package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"nightshift/limiter"
)

type quotaStateOptions struct {
	*factory
	Model    string
	Class    string
	Used     limiter.Limits
	USDDay   float64
	USDMonth float64
	AsIs     bool
}

func newQuotaStateCmd(f *factory) *cobra.Command {
	o := &quotaStateOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "state [MODEL]",
		Short: "State what was used of the day and month, after Redis lost it, so that bulk goes on",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = firstArg(args)
			return runQuotaState(cmd.Context(), o)
		},
	}
	fl := cmd.Flags()
	fl.Int64Var(&o.Used.RPD, "rpd", 0, "`REQUESTS` that were made of the Pacific day")
	fl.Int64Var(&o.Used.TPD, "tpd", 0, "input `TOKENS` of the Pacific day")
	fl.Float64Var(&o.USDDay, "usd-day", 0, "`DOLLARS` of the Pacific day")
	fl.Float64Var(&o.USDMonth, "usd-month", 0, "`DOLLARS` of the calendar month")
	fl.StringVar(&o.Class, "class", "bulk", "the `CLASS` that they are counted for")
	fl.BoolVar(&o.AsIs, "as-is", false, "the counters are right as they are now")
	return cmd
}

func runQuotaState(ctx context.Context, o *quotaStateOptions) error {
	o.Used.USDPerDay, o.Used.USDPerMonth = int64(math.Round(o.USDDay*1e6)), int64(math.Round(o.USDMonth*1e6))
	given := len(o.Used.List()) > 0
	if given == o.AsIs || given && o.Model == "" {
		return usageErrorf("say what was used of a model's day or month (MODEL --rpd 1200), or --as-is when the counters are right")
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	if given {
		if err := be.stateUse(ctx, o); err != nil {
			return err
		}
	}
	n, err := be.lim.CountersKnown(ctx, operator(), "stated by "+operator())
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(o.Out, "counters of day and month are as stated; nothing was waiting for them")
		return nil
	}
	fmt.Fprintln(o.Out, "counters of day and month are as stated: bulk goes on")
	return nil
}

func (b *backend) stateUse(ctx context.Context, o *quotaStateOptions) error {
	lanes, err := b.lim.Lanes(ctx)
	if err != nil {
		return err
	}
	for _, l := range lanes {
		if equalModel(o.Model, l.Lane) {
			return b.lim.Stated(ctx, l.Lane, o.Class, o.Used)
		}
	}
	return noLane(o.Model, lanes)
}
