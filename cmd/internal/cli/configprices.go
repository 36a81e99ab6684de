package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nightshift/limiter/gemini"
)

// prices is the book in force: the program's own, with the models of spend.prices in
// their place. check has made sure that the file can be read.
func (l *loaded) prices() *gemini.PriceBook {
	if l.book == nil {
		return gemini.EmbeddedPrices()
	}
	return l.book
}

// readPrices reads the file of spend.prices, which is beside the configuration file as a
// schedule's files are; what a variable names is beside the user.
func (l *loaded) readPrices() error {
	name := l.Spend.Prices
	if name == "" {
		return nil
	}
	if !filepath.IsAbs(name) && l.Sources["spend.prices"] == l.File {
		name = filepath.Join(filepath.Dir(l.File), name)
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("spend.prices: %w", err)
	}
	defer file.Close()
	own, err := gemini.ReadPrices(file)
	if err != nil {
		return fmt.Errorf("spend.prices: %s: %w", name, err)
	}
	l.book = gemini.EmbeddedPrices().With(own)
	return nil
}

// priceOf names the model whose price holds for a configured one, in whatever
// spelling; "" when none is known.
func (l *loaded) priceOf(model string) string {
	known := gemini.Model{Name: model}
	for name, m := range l.Models {
		if slices.ContainsFunc(append([]string{name}, m.Aliases...), func(n string) bool {
			return gemini.NormalizeModel(n) == gemini.NormalizeModel(model)
		}) {
			known = gemini.Model{Name: name, Aliases: m.Aliases}
		}
	}
	if name := known.PricedAs(l.prices(), model); l.prices().Has(name) {
		return name
	}
	return ""
}

// priceWarnings say which models' money cannot be counted rightly at a time.
func (l *loaded) priceWarnings(now time.Time) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(l.Models)) {
		priced := l.priceOf(name)
		if priced == "" {
			out = append(out, "models."+name+": no price is known; its calls are charged as those of the dearest model, and where a limit in money holds those of "+
				strings.Join(l.unpricedRefused(), ", ")+" are refused. Put its price into a file and name that in spend.prices (`nightshift spend price --help` shows one)")
			continue
		}
		if q, _ := l.prices().Quote(priced, 1, "", now); q.Expired {
			out = append(out, "models."+name+": its price has expired; the dearest known is charged. Put the new one into a file and name that in spend.prices")
		}
	}
	return out
}

// unpricedRefused are the classes that wait, whose calls without a known price are
// refused under a limit in money.
func (l *loaded) unpricedRefused() (names []string) {
	for _, c := range l.classTable() {
		if c.Pausable {
			names = append(names, c.Name)
		}
	}
	return names
}

func (l *loaded) refuseUnpriced() map[string]bool {
	out := map[string]bool{}
	for _, name := range l.unpricedRefused() {
		out[name] = true
	}
	return out
}
