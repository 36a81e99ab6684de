package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

func newSpendForecastCmd(f *factory) *cobra.Command {
	tenant := ""
	cmd := &cobra.Command{
		Use:   "forecast [--tenant NAME]",
		Short: "Say what the month will cost if the days go on as the last ones did, with a range",
		Long: "Each day to come is taken to cost what the same day of the week did in the last four weeks, or what the last days\n" +
			"did on average while less than a week is known. The range holds four months of five.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSpendForecast(cmd.Context(), f, tenant) },
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "of this `TENANT` alone")
	f.addOutputFlag(cmd)
	return cmd
}

func runSpendForecast(ctx context.Context, f *factory, tenant string) error {
	be, err := f.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	got, err := be.spendForecast(ctx, tenant, f.now())
	if err != nil {
		return err
	}
	t := newTable("MONTH", "SPENT", "TODAY", "AT ITS END", "FROM", "TO", "DAYS KNOWN").numeric(1, 2, 3, 4, 5, 6)
	high := usd(got.High)
	if got.High == 0 {
		high = "?"
	}
	t.row(got.Month, usd(got.Spent), usd(got.Today), orElse(monthEnd(got), "?"), usd(got.Low), high, got.Days)
	if err := f.print(t, got); err != nil || f.opts.output != "table" {
		return err
	}
	fmt.Fprintln(f.Out, "\n"+forecastWords(got))
	return nil
}

// spendForecast is the month's, of one tenant or of all: for the command and the page.
func (b *backend) spendForecast(ctx context.Context, tenant string, now time.Time) (gemini.SpendForecast, error) {
	node := limiter.ProjectKind
	if tenant != "" {
		node = "tenant/" + tenant
	}
	got, err := b.monthsOf(ctx, []string{node}, now)
	return got[node], err
}

// monthsOf are the forecasts of nodes: of tenants, of features, and of the project, whose
// money is all that was spent. Every answer to what a month will cost is one of them.
// Of other nodes no days are kept.
func (b *backend) monthsOf(ctx context.Context, nodes []string, now time.Time) (map[string]gemini.SpendForecast, error) {
	now = now.In(b.conf.spendZone())
	samples, err := gemini.ReadMoney(ctx, b.rdb, b.conf.scope(), now.AddDate(0, 0, -31), now)
	if err != nil {
		return nil, err
	}
	own := map[string][]gemini.MoneySample{}
	for _, s := range samples {
		own["tenant/"+s.Tenant] = append(own["tenant/"+s.Tenant], s)
		own["feature/"+s.Feature] = append(own["feature/"+s.Feature], s)
	}
	out := map[string]gemini.SpendForecast{}
	for _, node := range nodes {
		switch kind, name, _ := strings.Cut(node, "/"); {
		case kind == limiter.ProjectKind:
			out[node] = gemini.ForecastSpend(samples, now)
		case (kind == "tenant" || kind == "feature") && name != gemini.OtherFeature:
			out[node] = gemini.ForecastSpend(own[node], now)
		}
	}
	return out, nil
}

// monthEnd is what the month will have cost; "" while that is not known.
func monthEnd(f gemini.SpendForecast) string {
	if f.Days == 0 {
		return ""
	}
	return usd(f.Expected)
}

func forecastWords(f gemini.SpendForecast) string {
	switch {
	case f.Days == 0:
		return "Not known yet, for no whole day is: ask again tomorrow."
	case f.High == 0:
		return fmt.Sprintf("Worked out from %s: too few for a range.", plural(f.Days, "day"))
	case f.ByWeekday:
		return fmt.Sprintf("Each day as the same day of the week in the last %s; four months of five end within the range.", plural(f.Days, "day"))
	}
	return fmt.Sprintf("Each day as the mean of the last %s; four months of five end within the range.", plural(f.Days, "day"))
}
