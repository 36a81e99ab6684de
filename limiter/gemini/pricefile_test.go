package gemini

import (
	"strings"
	"testing"
)

// TestBadPriceFiles: each fault of a file is an error that names its line, the model
// and the field, and says what to do.
func TestBadPriceFiles(t *testing.T) {
	const usd, micro = "unit: usd_per_million_tokens\nmodels:\n", "unit: micro_usd_per_million_tokens\nmodels:\n"
	one := func(price string) string { return usd + "- names: [a]\n  prices:\n  - " + price + "\n" }
	two := func(first, second string) string { return one(first) + "  - " + second + "\n" }
	for name, c := range map[string]struct{ text, want string }{
		"no unit":          {"models: [{names: [a], prices: [{input: 1, output: 1}]}]", "unit: missing; say unit: usd_per_million_tokens"},
		"another unit":     {"unit: euro\n", `line 1: unit: "euro"; want usd_per_million_tokens or micro_usd_per_million_tokens`},
		"nothing":          {"unit: usd_per_million_tokens\n", "models: missing"},
		"empty":            {"", "unit: missing"},
		"unknown key":      {one("{input: 1, output: 1, prize: 3}"), `[5:27] unknown field "prize"`},
		"no YAML":          {"unit: [", "[1:7]"},
		"a list":           {one("{input: [1], output: 1}"), "want a single value"},
		"negative":         {one("{input: -1, output: 1}"), `line 5: a: input: "-1" is negative; want a price in dollars, such as 0.75`},
		"NaN":              {one("{input: .nan, output: 1}"), `line 5: a: input: ".nan" is no plain number`},
		"infinite":         {one("{input: 1, output: .inf}"), `line 5: a: output: ".inf" is no plain number`},
		"minus infinite":   {one("{input: 1, output: -.inf}"), `line 5: a: output: "-.inf" is negative`},
		"exponent":         {one("{input: 1e-1, output: 1}"), `line 5: a: input: "1e-1" is no plain number`},
		"with a comma":     {one(`{input: "1,5", output: 1}`), `line 5: a: input: "1,5" is no plain number`},
		"too fine":         {one("{input: 0.0000001, output: 1}"), "has more than six decimals"},
		"fine in micro":    {micro + "- {names: [a], prices: [{input: 0.75, output: 1}]}", `line 3: a: input: "0.75" has decimals, though the unit is whole micro-dollars; want a price in micro-dollars, such as 750000`},
		"micro as dollars": {one("{input: 750000, output: 1}"), "line 5: a: input: 750000 is above 10000 dollars; is it in dollars?"},
		"enormous":         {one("{input: 99999999999999999999, output: 1}"), "is no plain number"},
		"no input":         {one("{output: 1}"), "line 5: a: input: missing"},
		"no output":        {one("{input: 1}"), "line 5: a: output: missing; every price has input and output (output: 0 is for models that only embed)"},
		"free input":       {one("{input: 0, output: 1}"), "line 5: a: input: 0 would make it free; want a price in dollars"},
		"free cache":       {one("{input: 1, output: 1, cached: 0}"), "line 5: a: cached: 0 would make it free; leave it out, and its price is input's"},
		"no prices":        {usd + "- names: [a]\n", "line 3: a: prices: missing"},
		"no names":         {usd + "- prices:\n  - {input: 1, output: 1}\n", "line 4: names: missing"},
		"bad name":         {usd + `- {names: ["a b"], prices: [{input: 1, output: 1}]}`, `line 3: a b: names: "a b" is not a model's name`},
		"twice":            {one("{input: 1, output: 1}") + "- names: [models/A]\n  prices:\n  - {input: 1, output: 1}\n", "line 6: models/A: names: a has prices twice"},
		"bad day":          {one("{from: soon, input: 1, output: 1}"), `line 5: a: from: "soon"; want a day such as 2026-12-31`},
		"no such day":      {one("{until: 2026-02-30, input: 1, output: 1}"), `line 5: a: until: "2026-02-30"; want a day`},
		"backwards":        {one("{from: 2026-02-01, until: 2026-01-01, input: 1, output: 1}"), "line 5: a: until: 2026-01-01 is before from, 2026-02-01"},
		"overlap":          {two("{until: 2026-12-31, input: 1, output: 1}", "{from: 2026-12-31, input: 2, output: 2}"), "line 6: a: from: 2026-12-31 overlaps the price that lasts until 2026-12-31; make it 2027-01-01"},
		"no end":           {two("{input: 1, output: 1}", "{from: 2027-01-01, input: 2, output: 2}"), "line 6: a: from: 2027-01-01 is inside the price before it, which has no end"},
		"both always":      {two("{input: 1, output: 1}", "{input: 2, output: 2}"), "a price without a first day is inside the price before it"},
		"gap":              {two("{until: 2026-12-30, input: 1, output: 1}", "{from: 2027-01-01, input: 2, output: 2}"), "line 6: a: from: 2027-01-01 leaves the days after 2026-12-30 without a price; make it 2026-12-31"},
		"gap in disorder":  {two("{from: 2027-01-01, input: 1, output: 1}", "{until: 2026-12-30, input: 2, output: 2}"), "line 5: a: from: 2027-01-01 leaves the days after 2026-12-30"},
		"long from where":  {one("{input: 1, output: 1, long: {input: 2, output: 2}}"), `line 5: a: long.above: ""; want the tokens`},
		"long negative":    {one("{input: 1, output: 1, long: {above: 5, input: 2, output: -2}}"), `line 5: a: long.output: "-2" is negative`},
		"bad context":      {usd + "- {names: [a], context: 1M, prices: [{input: 1, output: 1}]}", `line 3: a: context: "1M"; want a number of tokens`},
		"bad factor":       {"unit: usd_per_million_tokens\ntiers:\n  flex: {input: 500000, cached: 1, output: 1}\n", `line 3: tiers.flex.input: "500000"; want a multiple of the standard price, such as 0.5`},
		"half a factor":    {"unit: usd_per_million_tokens\ntiers:\n  flex: {input: 0.5, output: 0.5}\n", `tiers.flex.cached: ""; want a multiple`},
		"standard tier":    {"unit: usd_per_million_tokens\ntiers:\n  standard: {input: 0.5, cached: 1, output: 0.5}\n", "tiers.standard: want the name of a service tier other than standard"},
		"search per what":  {one("{input: 1, output: 1, search: 14, search_per: day}"), `line 5: a: search_per: "day"; want query or request`},
	} {
		if _, err := ReadPrices(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %q", name, err, c.want)
		}
	}
}

// TestPricesAreReadExactly: no price goes through a float, in whatever unit it is
// written.
func TestPricesAreReadExactly(t *testing.T) {
	for _, text := range []string{
		`{unit: usd_per_million_tokens, models: [{names: [m], prices: [{input: 0.000007, cached: "0.1", output: 9007.199255}]}]}`,
		`{unit: micro_usd_per_million_tokens, models: [{names: [m], prices: [{input: 7, cached: 100000, output: 9007199255}]}]}`,
	} {
		b, err := ReadPrices(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		q, ok := b.Quote("m", 1, "", noon)
		if !ok || q.Input != 7 || q.Cached != 100_000 || q.Output != 9_007_199_255 {
			t.Errorf("%+v", q)
		}
	}
}

// TestPricesInAnyOrder: the file may list the new price first.
func TestPricesInAnyOrder(t *testing.T) {
	b, err := ReadPrices(strings.NewReader("unit: usd_per_million_tokens\nmodels: [{names: [m], context: 5, output_limit: 3, prices: " +
		"[{from: 2027-01-01, input: 2, output: 2}, {until: 2026-12-31, input: 1, output: 1}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]int64{"2026-12-31 23:59": 1, "2027-01-01 00:00": 2} {
		if q, _ := b.Quote("m", 1, "", day(at)); q.Input != want*perMillion || q.Expired {
			t.Errorf("%s: %+v", at, q)
		}
	}
	if got := b.Limits("models/M"); got != (ModelLimits{Context: 5, Output: 3}) {
		t.Errorf("%+v", got)
	}
}
