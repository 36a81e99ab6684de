package gemini

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The bounds of what can be a price: beyond them somebody mistook the unit.
const (
	mostUSD    = 10_000 // per million tokens, or per thousand searches
	mostFactor = 10     // of the standard price
	mostWindow = 100_000_000
)

func (p *priceReader) limits(f fileModel) (l ModelLimits, err error) {
	for _, x := range []struct {
		name string
		word word
		to   *int64
	}{{"context", f.Context, &l.Context}, {"output_limit", f.Most, &l.Output}} {
		if !x.word.there() {
			continue
		}
		if *x.to, err = strconv.ParseInt(x.word.text, 10, 64); err != nil || *x.to <= 0 || *x.to > mostWindow {
			return l, p.wrong(x.word.line, x.name, "%q; want a number of tokens, such as 1048576", x.word.text)
		}
	}
	return l, nil
}

func (p *priceReader) factors(list map[string]fileFactor) (map[string]Factor, error) {
	out := map[string]Factor{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		f, got := list[name], Factor{}
		if tier := tierName(name, ""); tier == "" || tier != name || tier == "standard" {
			return nil, p.wrong(f.Input.line, "tiers."+name, "want the name of a service tier other than standard, in small letters")
		}
		for _, x := range []struct {
			name string
			word word
			to   *int64
		}{{"input", f.Input, &got.Input}, {"cached", f.Cached, &got.Cached}, {"output", f.Output, &got.Output}} {
			n, problem := decimal(x.word.text, 6)
			if problem != "" || n <= 0 || n > mostFactor*perMillion {
				return nil, p.wrong(x.word.line, "tiers."+name+"."+x.name, "%q; want a multiple of the standard price, such as 0.5", x.word.text)
			}
			*x.to = n
		}
		out[name] = got
	}
	return out, nil
}

// tariffs reads a model's prices and puts them in order.
func (p *priceReader) tariffs(f fileModel) ([]Tariff, error) {
	if len(f.Prices) == 0 {
		return nil, p.wrong(f.Names[0].line, "prices", "missing; a model without prices is one that is not known, so leave it out")
	}
	out := make([]Tariff, len(f.Prices))
	line := map[Day]int{}
	for i, t := range f.Prices {
		var err error
		if out[i], err = p.tariff(t); err != nil {
			return nil, err
		}
		line[out[i].From] = max(t.From.line, t.Amount.Input.line)
	}
	slices.SortStableFunc(out, func(a, b Tariff) int { return a.From.start.Compare(b.From.start) })
	for i := 1; i < len(out); i++ {
		if err := p.follows(out[i-1], out[i], line[out[i].From]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// follows wants a price to begin on the day after the one before it ends.
func (p *priceReader) follows(before, t Tariff, line int) error {
	switch {
	case before.Until.IsZero():
		return p.wrong(line, "from", "%s is inside the price before it, which has no end; give that one its last day as until", t.begins())
	case !before.Until.start.Before(t.From.start):
		return p.wrong(line, "from", "%s overlaps the price that lasts until %s; make it %s", t.begins(), before.Until, before.Until.next())
	case !before.Until.next().start.Equal(t.From.start):
		return p.wrong(line, "from", "%s leaves the days after %s without a price; make it %s", t.begins(), before.Until, before.Until.next())
	}
	return nil
}

func (t Tariff) begins() string {
	if t.From.IsZero() {
		return "a price without a first day"
	}
	return t.From.String()
}

func (p *priceReader) tariff(f fileTariff) (t Tariff, err error) {
	if t.From, err = p.day("from", f.From); err != nil {
		return t, err
	}
	if t.Until, err = p.day("until", f.Until); err != nil {
		return t, err
	}
	if !t.Until.IsZero() && t.Until.start.Before(t.From.start) {
		return t, p.wrong(f.Until.line, "until", "%s is before from, %s", t.Until, t.From)
	}
	if t.Price, err = p.price("", f.Amount); err != nil || f.Long == nil {
		return t, err
	}
	if t.LongAbove, err = strconv.ParseInt(f.Long.Above.text, 10, 64); err != nil || t.LongAbove <= 0 {
		return t, p.wrong(max(f.Long.Above.line, f.Amount.Input.line), "long.above", "%q; want the tokens beyond which a prompt is long, such as 200000", f.Long.Above.text)
	}
	long, err := p.price("long.", f.Long.Amount)
	t.Long = &long
	return t, err
}

func (p *priceReader) day(field string, w word) (d Day, err error) {
	if !w.there() {
		return d, nil
	}
	if err := d.UnmarshalText([]byte(w.text)); err != nil {
		return d, p.wrong(w.line, field, "%q; want a day such as 2026-12-31", w.text)
	}
	return d, nil
}

// decimal reads a number exactly, as so many of the last decimal place. The problem
// says what is wrong with it.
func decimal(text string, places int) (n int64, problem string) {
	whole, part, point := strings.Cut(text, ".")
	switch {
	case strings.HasPrefix(text, "-"):
		return 0, "is negative"
	case whole == "" || len(whole) > 12 || strings.Trim(whole+part, "0123456789") != "" || point && part == "":
		return 0, "is no plain number"
	case len(part) > places && places == 0:
		return 0, "has decimals, though the unit is whole micro-dollars"
	case len(part) > places:
		return 0, "has more than six decimals: nothing is counted finer than that"
	}
	n, err := strconv.ParseInt(whole+part+strings.Repeat("0", places-len(part)), 10, 64)
	if err != nil {
		return 0, "is too large"
	}
	return n, ""
}
