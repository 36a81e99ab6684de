package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
)

func newPlanCmd(f *factory) *cobra.Command {
	o := &specOptions{}
	cmd := &cobra.Command{
		Use:   "plan INPUT -t TEMPLATE",
		Short: "Check rows and template, and say what they need; makes no call",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return runPlan(cmd.Context(), f, o, cmd, args[0]) },
	}
	o.addFlags(cmd)
	f.addOutputFlag(cmd)
	return cmd
}

// planReport is what plan prints.
type planReport struct {
	Rows        int64   `json:"rows"`
	InputTokens int64   `json:"input_tokens"`
	Model       string  `json:"model"`
	Lane        string  `json:"lane"`
	Share       float64 `json:"bulk_share"`
	Seconds     int64   `json:"seconds"`
	Limit       string  `json:"limit,omitempty"`
	Done        string  `json:"done_by"`
	InputCost   *int64  `json:"input_cost_micro_usd,omitempty"`
}

func runPlan(ctx context.Context, f *factory, o *specOptions, cmd *cobra.Command, input string) error {
	b, err := o.prepare(ctx, f, cmd, input)
	if err != nil {
		return err
	}
	defer b.close()
	now := f.now()
	conf, err := f.config()
	if err != nil {
		return err
	}
	fc := b.quota.forecast(b.Rows, b.tokens, now)
	r := planReport{
		Rows: b.Rows, InputTokens: b.tokens, Model: b.quota.model, Lane: b.quota.lane.String(), Share: b.quota.share,
		Seconds: int64(fc.took.Seconds()), Limit: fc.limit, Done: now.Add(fc.took).Format("2006-01-02T15:04:05Z07:00"),
		InputCost: conf.inputCost(b.Spec.Model, b.Rows, b.tokens, now),
	}
	t := newTable("WHAT", "")
	t.row("rows", humanize.Comma(r.Rows)+", all valid")
	t.row("model", r.Model)
	t.row("input tokens", "about "+humanize.Comma(r.InputTokens)+", estimated high")
	if r.InputCost != nil {
		t.row("input cost", "up to "+usd(*r.InputCost)+"; answers come on top")
	} else {
		t.row("cost", "no price is known for "+b.Spec.Model)
	}
	t.row("time", fc.sentence(now))
	t.row("assumes", fmt.Sprintf("bulk alone, with %.0f %% of each limit", r.Share*100))
	return f.print(t, r)
}

// inputCost is what the rows' input costs, where a price is known. Whether a prompt
// is a long one goes by the mean row.
func (l *loaded) inputCost(model string, rows, tokens int64, now time.Time) *int64 {
	priced := l.priceOf(model)
	if priced == "" {
		return nil
	}
	rows = max(rows, 1)
	each := (tokens + rows - 1) / rows
	bill := l.prices().Bill(priced, gemini.Usage{Prompt: each}, now)
	bill.PicoUSD *= rows
	micro := bill.MicroUSD()
	return &micro
}
