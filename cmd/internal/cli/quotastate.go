package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

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
		Use:   "state [MODEL|NODE]",
		Short: "State what was used of the day and month, after Redis lost it, so that bulk goes on",
		Long: "After Redis lost its data, counters of the day and month are what the scheduler kept of them, or nothing: then\n" +
			"bulk waits until somebody says what was used. A model's counters and those of a node (project, tenant/acme) are\n" +
			"counted apart: state each that has a limit by the day or month, or --as-is when all are right.",
		Example: "  nightshift quota state gemini-3.5-flash --rpd 1200\n  nightshift quota state project --usd-month 41.50",
		Args:    cobra.MaximumNArgs(1),
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
	if err := o.read(); err != nil {
		return err
	}
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
			return b.stated(ctx, o, l.Lane.String(), b.lim.Stated(ctx, l.Lane, o.Class, o.Used))
		}
	}
	node := o.Model
	if node == limiter.ProjectKind {
		node = b.conf.scope().ProjectNode()
	}
	if !isNode(node) {
		return noLane(o.Model, lanes)
	}
	err = b.lim.StatedNode(ctx, node, o.Class, o.Used)
	if errors.Is(err, limiter.ErrUnknownNode) {
		return b.noNode(ctx, node)
	}
	return b.stated(ctx, o, node, err)
}

// stated notes what was stated, or says what is wrong with it.
func (b *backend) stated(ctx context.Context, o *quotaStateOptions, node string, err error) error {
	var wrong *limiter.ConfigError
	if errors.As(err, &wrong) {
		return usageErrorf("%s %s; --as-is keeps what is counted", strings.TrimPrefix(wrong.Field, "used."), wrong.Problem)
	}
	if err != nil {
		return err
	}
	var stated []string
	for _, l := range o.Used.List() {
		stated = append(stated, l.Name()+" "+amount(l.Unit, l.Amount))
	}
	return b.lim.Note(ctx, limiter.Event{Kind: limiter.EventLimits, Subject: node, By: operator(),
		Text: fmt.Sprintf("stated as used by %s: %s", o.Class, strings.Join(stated, ", "))})
}

// mostDollars is far above what anybody spends, and in micro-dollars an integer yet.
const mostDollars = 1e9

// read takes the amounts over, and refuses what no counter can have.
func (o *quotaStateOptions) read() error {
	for flag, n := range map[string]int64{"rpd": o.Used.RPD, "tpd": o.Used.TPD} {
		if n < 0 {
			return usageErrorf("--%s %d: want how much was used, 0 or more", flag, n)
		}
	}
	for flag, v := range map[string]float64{"usd-day": o.USDDay, "usd-month": o.USDMonth} {
		if !(v >= 0 && v <= mostDollars) { // NaN is neither
			return usageErrorf("--%s %v: want the dollars that were used, from 0 to a billion", flag, v)
		}
	}
	o.Used.USDPerDay, o.Used.USDPerMonth = int64(math.Round(o.USDDay*1e6)), int64(math.Round(o.USDMonth*1e6))
	return nil
}
