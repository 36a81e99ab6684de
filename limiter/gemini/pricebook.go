package gemini

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"
)

// PriceBook knows what models cost and when. It is fixed once made.
type PriceBook struct {
	models map[string]*modelPrices
	tiers  map[string]Factor
}

type modelPrices struct {
	Names  []string          `yaml:"names"`
	Source string            `yaml:"source"`
	Tiers  map[string]Factor `yaml:"tiers"`
	Prices []Tariff          `yaml:"prices"`
}

type priceFile struct {
	Checked Day               `yaml:"checked"`
	Tiers   map[string]Factor `yaml:"tiers"`
	Models  []modelPrices     `yaml:"models"`
}

//go:embed prices.yaml
var embeddedPrices []byte

// EmbeddedPrices is the book that comes with the program. Prices change: a
// configuration may bring its own by ReadPrices.
var EmbeddedPrices = sync.OnceValue(func() *PriceBook {
	b, err := ReadPrices(bytes.NewReader(embeddedPrices))
	if err != nil {
		panic(err) // a test reads it
	}
	return b
})

// ReadPrices reads a price book. Unknown keys, a model named twice and
// impossible prices are errors that name the place.
func ReadPrices(r io.Reader) (*PriceBook, error) {
	var f priceFile
	if err := yaml.NewDecoder(r, yaml.Strict()).Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("prices: %w", err)
	}
	b := &PriceBook{models: map[string]*modelPrices{}, tiers: f.Tiers}
	for i := range f.Models {
		if err := b.add(&f.Models[i]); err != nil {
			return nil, fmt.Errorf("prices: %w", err)
		}
	}
	return b, nil
}

func (b *PriceBook) add(m *modelPrices) error {
	if len(m.Names) == 0 {
		return errors.New("a model without names")
	}
	for _, name := range m.Names {
		name = NormalizeModel(name)
		if b.models[name] != nil {
			return fmt.Errorf("%s: has prices twice", name)
		}
		b.models[name] = m
	}
	for _, t := range m.Prices {
		if t.Input <= 0 || t.Cached < 0 || t.Output < 0 {
			return fmt.Errorf("%s: a price needs an input above zero and nothing below", m.Names[0])
		}
		if !t.Until.start.IsZero() && t.Until.start.Before(t.From.start) {
			return fmt.Errorf("%s: until is before from", m.Names[0])
		}
	}
	return nil
}

// With gives a book in which the models of other take the place of this one's.
func (b *PriceBook) With(other *PriceBook) *PriceBook {
	sum := &PriceBook{models: map[string]*modelPrices{}, tiers: map[string]Factor{}}
	for _, from := range []*PriceBook{b, other} {
		for name, m := range from.models {
			sum.models[name] = m
		}
		for name, f := range from.tiers {
			sum.tiers[name] = f
		}
	}
	return sum
}

// Models lists the names that have a price, sorted.
func (b *PriceBook) Models() []string {
	names := make([]string, 0, len(b.models))
	for name := range b.models {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
