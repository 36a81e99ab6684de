package gemini

import (
	"math/big"
	"regexp"
	"strings"
	"testing"
)

// FuzzDecimal: a price is the number that is written, or it is refused.
func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"0.75", "750000", "1.0000001", "-1", "", ".", "1.", ".5", "1e3", "0x1", "999999999999.999999", "1_000", " 1", "０.5", "00.10"} {
		f.Add(text)
	}
	plain := regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,6})?$`)
	f.Fuzz(func(t *testing.T, text string) {
		n, problem := decimal(text, 6)
		if (problem == "") != plain.MatchString(text) {
			t.Fatalf("%q: %d, %q", text, n, problem)
		}
		if problem != "" {
			return
		}
		want, _ := new(big.Rat).SetString(text)
		if got := big.NewRat(n, perMillion); got.Cmp(want) != 0 {
			t.Errorf("%q is %s", text, got)
		}
	})
}

// FuzzPrices: a book that is taken has no model that is free, no price beyond what one
// can be, and no days without one; what is refused is refused in one readable piece.
func FuzzPrices(f *testing.F) {
	const head = "unit: usd_per_million_tokens\n"
	for _, text := range []string{
		head + "checked: 2026-11-30\nmodels:\n- names: [gemini-x, models/gemini-y]\n  source: https://example.com\n  context: 1048576\n  prices:\n  - {input: 1.25, cached: 0.125, output: 10, until: 2026-11-30, long: {above: 200000, input: 2.5, output: 15}}\n  - {from: 2026-12-01, input: 1, output: 8, search: 14, search_per: request}\n",
		head + "tiers: {flex: {input: 0.5, cached: 0.5, output: 0.5}}\nmodels: [{names: [m], prices: [{input: 0, output: 1}]}]\n",
		"unit: micro_usd_per_million_tokens\nmodels: [{names: [m], prices: [{input: 1.5, output: 1}]}]", head + "models: [{names: [m, m], prices: [{input: 1, output: 1}]}]",
		head + "models: [{names: ['a/b'], prices: [{input: 1, output: 0}]}]", head, "", "[", "unit: {a: b}", "models: [null]", head + "models: [{names: [&a m, *a]}]", head + "<<: 1\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		book, err := ReadPrices(strings.NewReader(string(text)))
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" || len(err.Error()) > 2000+12*len(text) {
				t.Errorf("%q: %d bytes of error", text, len(err.Error()))
			}
			return
		}
		for _, name := range book.Models() {
			checkModelPrices(t, name, book.models[name])
			if !book.Has(name) || NormalizeModel(name) != name {
				t.Errorf("%q cannot be looked up", name)
			}
		}
		for name, factor := range book.tiers {
			if name == "standard" || factor.Input <= 0 || factor.Cached <= 0 || factor.Output <= 0 || max(factor.Input, factor.Cached, factor.Output) > mostFactor*perMillion {
				t.Errorf("tier %q: %+v", name, factor)
			}
		}
		if joined := EmbeddedPrices().With(book); len(joined.Models()) < len(book.Models()) {
			t.Error("models are lost beside those of the embedded book")
		}
	})
}

func checkModelPrices(t *testing.T, name string, m *modelPrices) {
	t.Helper()
	if len(m.prices) == 0 || !validModel(name) {
		t.Fatalf("%q has %d prices", name, len(m.prices))
	}
	for i, tariff := range m.prices {
		if i > 0 && !m.prices[i-1].Until.next().start.Equal(tariff.From.start) {
			t.Errorf("%s: %s does not follow %s", name, tariff.From, m.prices[i-1].Until)
		}
		all := []Price{tariff.Price}
		if tariff.Long != nil {
			all = append(all, *tariff.Long)
		}
		for _, p := range all {
			if p.Input <= 0 || p.Output < 0 || max(p.Input, p.Output, p.Cached) > mostUSD*perMillion {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if d := m.dearest.dearer(tariff.Price); d != m.dearest.Price {
			t.Errorf("%s: %+v is dearer than the dearest %+v", name, tariff.Price, m.dearest.Price)
		}
	}
}
