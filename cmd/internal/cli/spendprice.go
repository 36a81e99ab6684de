package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
)

// priceOptions are the flags of spend price.
type priceOptions struct {
	Model    string
	Tier     string
	Batch    bool
	At       string
	Storage  time.Duration
	Searches int64
}

func newSpendPriceCmd(f *factory) *cobra.Command {
	o := &priceOptions{}
	cmd := &cobra.Command{
		Use:   "price --model MODEL < usage.json",
		Short: "Print what a given usage costs, with the arithmetic",
		Long: "Reads usageMetadata as Gemini sends it, or a whole saved answer, and prints what it costs and how\n" +
			"that is reckoned. Needs no Redis and makes no call.\n\n" +
			"Prices come with the program. A file that spend.prices names in the configuration takes the place of\n" +
			"them for the models that it lists:\n\n" +
			"  unit: usd_per_million_tokens\n" +
			"  models:\n" +
			"    - names: [gemini-9-flash]\n" +
			"      source: the contract of 2026-11-01\n" +
			"      prices:\n" +
			"        - {until: 2026-12-31, input: 0.75, cached: 0.075, output: 3.75}\n" +
			"        - {from: 2027-01-01, input: 1.50, cached: 0.15, output: 7.50}",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runSpendPrice(f, o) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Model, "model", "", "`MODEL` that was called")
	fl.StringVar(&o.Tier, "tier", "", "service `TIER` that served (default what the usage says, else standard)")
	fl.BoolVar(&o.Batch, "batch", false, "by the Batch API")
	fl.StringVar(&o.At, "at", "", "`DATE` of the call, such as 2027-01-01 (a day in California) or 2027-01-01T08:00:00Z (default now)")
	fl.DurationVar(&o.Storage, "storage", 0, "the cached input was kept for so long, as in 90m")
	fl.Int64Var(&o.Searches, "searches", 0, "queries of grounding with Google Search (a whole answer says by itself)")
	f.addOutputFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("model", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return gemini.EmbeddedPrices().Models(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func runSpendPrice(f *factory, o *priceOptions) error {
	c, err := f.config()
	if err != nil {
		return invalid(err)
	}
	at, err := o.check(f.now(), c.prices())
	if err != nil {
		return &usageError{err}
	}
	if terminal(f.In) {
		return &usageError{errors.New("no usage on standard input: give it usageMetadata as Gemini sends it, as in `nightshift spend price --model gemini-3.8-flash < usage.json`")}
	}
	u, err := gemini.ReadUsage(f.In)
	if err != nil {
		return invalid(fmt.Errorf("standard input: %w", err))
	}
	model := c.priceOf(o.Model)
	if model == "" {
		return invalid(c.noPrice(o.Model))
	}
	bill, err := o.bill(c.prices(), model, u, at)
	if err != nil {
		return invalid(err)
	}
	return f.printBill(bill, c.prices(), u, at)
}

// check refuses flags that make no sense.
func (o *priceOptions) check(now time.Time, prices *gemini.PriceBook) (at time.Time, err error) {
	switch {
	case o.Model == "":
		return at, errors.New("--model: say which model was called")
	case o.Batch && o.Tier != "":
		return at, errors.New("--batch and --tier: a batch has no other tier; give one of them")
	case o.Tier != "" && !slices.Contains(prices.Tiers(), o.Tier):
		return at, fmt.Errorf("--tier %s: unknown; want %s", o.Tier, strings.Join(prices.Tiers(), ", "))
	case o.Storage < 0:
		return at, fmt.Errorf("--storage %s: want a time above zero, as in 90m", o.Storage)
	case o.Searches < 0:
		return at, fmt.Errorf("--searches %d: want a number from 0 on", o.Searches)
	case o.At == "":
		return now, nil
	}
	var day gemini.Day
	if err := day.UnmarshalText([]byte(o.At)); err == nil {
		return day.Start(), nil
	}
	if at, err = time.Parse(time.RFC3339, o.At); err != nil {
		return at, fmt.Errorf("--at %s: want a day such as 2027-01-01, or a time such as 2027-01-01T08:00:00Z", o.At)
	}
	return at, nil
}

func (o *priceOptions) bill(prices *gemini.PriceBook, model string, u gemini.Usage, at time.Time) (gemini.Bill, error) {
	if o.Tier != "" {
		u.Tier = o.Tier
	}
	if o.Batch {
		u.Tier = "batch"
	}
	u.Searches += o.Searches
	b := prices.Bill(model, u, at)
	switch {
	case o.Storage == 0:
	case u.Cached == 0:
		return b, errors.New("--storage: the usage has no cachedContentTokenCount that could have been kept")
	case !b.Store(u.Cached, o.Storage):
		return b, fmt.Errorf("--storage: no price of storage is known for %s; put one into the file that spend.prices names (storage: dollars per million tokens and hour)", model)
	}
	return b, nil
}

// noPrice says what to do about a model without a price.
func (l *loaded) noPrice(model string) error {
	name, known := gemini.NormalizeModel(model), l.prices().Models()
	near := closest(name, known)
	if near == "" {
		near = "; known are " + strings.Join(known, ", ")
	}
	return fmt.Errorf("no price is known for %s%s\nput its price into a file and name that in spend.prices (`nightshift spend price --help` shows one)", name, near)
}

// countOf is a line's count with what it counts.
func countOf(l gemini.Line) string {
	noun := l.Unit + "s"
	switch {
	case l.Count == 1:
		noun = l.Unit
	case l.Unit == gemini.UnitQuery:
		noun = "queries"
	}
	return humanize.Comma(l.Count) + " " + noun
}
