package gemini

import (
	"fmt"
	"slices"
	"testing"
)

// tableChecked is the day on which the table below was read from the price page and
// its copies by hand. Whoever changes prices.yaml changes both.
const tableChecked = "2026-11-29"

// table has each model's dollars per million tokens: input, cached, output; audio,
// image and video input; image output; long input, cached, output; storage; search
// per thousand. What is left to text is spelled out, "-" is none.
var table = map[string]string{
	"gemini-3.8-flash":                   "0.75 0.075 3.75 | 0.75 0.75 0.75 | 3.75 | - | 0.5 14 a query",
	"gemini-3.7-flash":                   "0.75 0.075 3.75 | 0.75 0.75 0.75 | 3.75 | - | 0.5 14 a query",
	"gemini-3.6-flash":                   "0.75 0.075 3.75 | 0.75 0.75 0.75 | 3.75 | - | 0.5 14 a query",
	"gemini-3.5-flash":                   "1.5 0.15 9 | 1.5 1.5 1.5 | 9 | - | 0 14 a query",
	"gemini-3.5-flash-lite":              "0.3 0.03 2.5 | 0.3 0.3 0.3 | 2.5 | - | 0 14 a query",
	"gemini-3.1-flash-lite":              "0.25 0.025 1.5 | 0.5 0.25 0.25 | 1.5 | - | 0 14 a query",
	"gemini-3.1-pro-preview":             "2 0.2 12 | 2 2 2 | 12 | 4 0.4 18 above 200000 | 4.5 14 a query",
	"gemini-3.1-pro-preview-customtools": "2 0.2 12 | 2 2 2 | 12 | 4 0.4 18 above 200000 | 4.5 14 a query",
	"gemini-3-flash-preview":             "0.5 0.05 3 | 1 0.5 0.5 | 3 | - | 0 14 a query",
	"gemini-2.5-pro":                     "1.25 0.125 10 | 1.25 1.25 1.25 | 10 | 2.5 0.25 15 above 200000 | 4.5 35 a request",
	"gemini-2.5-flash":                   "0.3 0.03 2.5 | 1 0.3 0.3 | 2.5 | - | 0 35 a request",
	"gemini-2.5-flash-lite":              "0.1 0.01 0.4 | 0.3 0.1 0.1 | 0.4 | - | 0 35 a request",
	"gemini-embedding-2":                 "0.2 0.2 0 | 6.5 0.45 12 | 0 | - | 0 0 a query",
	"gemini-embedding-001":               "0.15 0.15 0 | 0.15 0.15 0.15 | 0 | - | 0 0 a query",
	"gemini-3-pro-image":                 "2 2 12 | 2 2 2 | 120 | - | 0 14 a query",
}

// after is what is another price from 2027-01-01 on.
var after = map[string]string{
	"gemini-3.8-flash": "1.5 0.15 7.5 | 1.5 1.5 1.5 | 7.5 | - | 1 14 a query",
	"gemini-3.7-flash": "1.5 0.15 7.5 | 1.5 1.5 1.5 | 7.5 | - | 1 14 a query",
	"gemini-3.6-flash": "1.5 0.15 7.5 | 1.5 1.5 1.5 | 7.5 | - | 1 14 a query",
}

func TestTableIsPinned(t *testing.T) {
	book := EmbeddedPrices()
	if got := book.Checked().String(); got != tableChecked {
		t.Errorf("the prices were checked on %s, the table on %s", got, tableChecked)
	}
	for _, model := range book.Models() {
		for _, c := range []struct{ at, want string }{
			{"2026-11-29 12:00", table[model]}, {"2026-12-31 23:59", table[model]},
			{"2027-01-01 00:00", firstOf(notEmptyOf(after[model], table[model]))},
		} {
			if got := spellPrice(book, model, c.at); got != c.want {
				t.Errorf("%s at %s:\n%s\n%s in the table", model, c.at, got, c.want)
			}
		}
	}
	for model := range table {
		if !book.Has(model) {
			t.Errorf("%s is not in the book", model)
		}
	}
	if got, want := book.Tiers(), []string{"standard", "batch", "flex", "priority"}; !slices.Equal(got, want) {
		t.Errorf("tiers %v", got)
	}
}

func notEmptyOf(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func spellPrice(b *PriceBook, model, at string) string {
	q, _ := b.Quote(model, 1, "", day(at))
	p, long, per := q.spelled(), "-", "a query"
	if l, _ := b.Quote(model, 200_001, "", day(at)); l.Long {
		long = fmt.Sprintf("%s %s %s above 200000", million(l.Input), million(l.Cached), million(l.Output))
	}
	if l, _ := b.Quote(model, 200_000, "", day(at)); l.Long {
		long = "too soon"
	}
	if p.SearchPerRequest {
		per = "a request"
	}
	return fmt.Sprintf("%s %s %s | %s %s %s | %s | %s | %s %s %s", million(p.Input), million(p.Cached), million(p.Output),
		million(p.InputBy.Audio), million(p.InputBy.Image), million(p.InputBy.Video), million(p.OutputBy.Image), long,
		million(p.Storage), million(p.Search/1000), per)
}

// million is micro-dollars as dollars.
func million(micro int64) string { return fmt.Sprint(float64(micro) / perMillion) }

// TestLimitsOfModels: each that answers says how long its prompts and answers may be.
func TestLimitsOfModels(t *testing.T) {
	for _, model := range EmbeddedPrices().Models() {
		l := EmbeddedPrices().Limits(model)
		q, _ := EmbeddedPrices().Quote(model, 1, "", noon)
		if l.Context < 2048 || (l.Output == 0) != (q.Output == 0) {
			t.Errorf("%s: %+v", model, l)
		}
	}
	if got := EmbeddedPrices().Limits("nobody's"); got != (ModelLimits{}) {
		t.Errorf("%+v", got)
	}
}
