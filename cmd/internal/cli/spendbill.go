package cli

import (
	"fmt"
	"strings"
	"time"

	"nightshift/limiter/gemini"
)

// priceReport is what spend price prints as JSON. Dollars are decimal numbers in
// strings, so that no reader rounds them.
type priceReport struct {
	Model   string      `json:"model"`
	At      time.Time   `json:"at"`
	Tier    string      `json:"tier"`
	Long    bool        `json:"long_prompt"`
	Expired bool        `json:"expired"`
	From    string      `json:"price_from,omitempty"`
	Until   string      `json:"price_until,omitempty"`
	Source  string      `json:"source"`
	Lines   []priceLine `json:"lines"`
	USD     string      `json:"usd"`       // exact
	Micro   int64       `json:"micro_usd"` // rounded up
}

type priceLine struct {
	What  string `json:"what"`
	Count int64  `json:"count"`
	Unit  string `json:"unit"`
	Price string `json:"usd_per_million"`
	USD   string `json:"usd"`
}

func (f *factory) printBill(b gemini.Bill, prices *gemini.PriceBook, u gemini.Usage, at time.Time) error {
	r := priceReport{
		Model: b.Model, At: at.UTC(), Tier: b.Tier, Long: b.Long, Expired: b.Expired,
		From: b.From.String(), Until: b.Until.String(), Source: b.Source, Lines: []priceLine{},
		USD: exactUSD(b.PicoUSD), Micro: b.MicroUSD(),
	}
	t := newTable("WHAT", "COUNT", "USD PER MILLION", "USD").numeric(1, 2, 3)
	for _, l := range b.Lines {
		line := priceLine{What: l.What, Count: l.Count, Unit: l.Unit, Price: exactUSD(l.Price * 1_000_000), USD: exactUSD(l.PicoUSD)}
		r.Lines = append(r.Lines, line)
		t.row(l.What, countOf(l), line.Price, line.USD)
	}
	t.row("total", "", "", r.USD)
	t.row("in micro-dollars, rounded up", "", "", r.Micro)
	if err := f.print(t, r); err != nil || f.opts.output == "json" || f.opts.output == "plain" {
		return err
	}
	fmt.Fprintln(f.Out)
	for _, note := range billNotes(b, prices, u) {
		fmt.Fprintln(f.Out, note)
	}
	return nil
}

// billNotes say which price was taken, and what is odd about it.
func billNotes(b gemini.Bill, prices *gemini.PriceBook, u gemini.Usage) (notes []string) {
	add := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	add("Price of %s%s, from %s.", b.Model, validity(b), orElse(b.Source, "the file of spend.prices"))
	if b.Long {
		add("The prompt is a long one: its price holds for the whole request.")
	}
	switch {
	case b.Tier == gemini.DearestTier:
		add("Nobody knows the service tier %q: the dearest is charged (%s).", u.Tier, factorWords(b.Factor))
	case b.Tier != "standard":
		add("Service tier %s: %s.", b.Tier, factorWords(b.Factor))
	}
	if b.Expired {
		add("No price is known for that time: the dearest known of the model is taken. Put the new one into the file that spend.prices names.")
	}
	if u.Mismatch {
		add("The counts do not add up to totalTokenCount, %d: the parts are charged.", u.Total)
	}
	if !prices.Checked().IsZero() {
		add("The program's prices were last checked on %s.", prices.Checked())
	}
	return notes
}

func validity(b gemini.Bill) string {
	switch {
	case b.Expired || b.From.IsZero() && b.Until.IsZero():
		return ""
	case b.From.IsZero():
		return fmt.Sprintf(" until %s", b.Until)
	case b.Until.IsZero():
		return fmt.Sprintf(" from %s on", b.From)
	}
	return fmt.Sprintf(" from %s until %s", b.From, b.Until)
}

// factorWords is what a tier makes of the standard price.
func factorWords(x gemini.Factor) string {
	times := func(n int64) string { return exactUSD(n * 1_000_000) }
	if x.Input == x.Cached && x.Input == x.Output {
		return times(x.Input) + " × the standard price"
	}
	return fmt.Sprintf("input %s, cached input %s, output %s × the standard price", times(x.Input), times(x.Cached), times(x.Output))
}

// exactUSD is pico-dollars as dollars, every digit of them.
func exactUSD(pico int64) string {
	const dollar = 1_000_000_000_000
	text := fmt.Sprintf("%d.%012d", pico/dollar, pico%dollar)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
