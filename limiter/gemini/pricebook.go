package gemini

import (
	"bytes"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// PriceBook knows what models cost and when, and what they can take. It is fixed
// once made.
type PriceBook struct {
	models  map[string]*modelPrices // by normalized name
	tiers   map[string]Factor
	checked Day
	dearest Price // of each thing, over all models and times
}

type modelPrices struct {
	source  string
	limits  ModelLimits
	tiers   map[string]Factor
	prices  []Tariff // by their first day, without gaps
	dearest Tariff   // of each thing, over all times
}

// Tariff is a price for a time.
type Tariff struct {
	From  Day // first day; zero: always was
	Until Day // last day; zero: no end is known
	Price
	// Long replaces the price for a whole request whose prompt has more tokens than
	// LongAbove; nil: length makes no difference.
	Long      *Price
	LongAbove int64
}

// ModelLimits are what one request may have at most, in tokens; 0 is not known.
type ModelLimits struct {
	Context int64 // of the prompt
	Output  int64 // of one candidate, thinking included
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

// With gives a book in which the models of other take the place of this one's.
func (b *PriceBook) With(other *PriceBook) *PriceBook {
	sum := &PriceBook{models: maps.Clone(b.models), tiers: maps.Clone(b.tiers), checked: b.checked}
	maps.Copy(sum.models, other.models)
	maps.Copy(sum.tiers, other.tiers)
	sum.weigh()
	return sum
}

// weigh finds the dearest price of each thing. Tiers of single models are not in
// it: a model that is not known has none.
func (b *PriceBook) weigh() {
	b.dearest = Price{}
	for _, m := range b.models {
		b.dearest = b.dearest.dearer(m.dearest.Price)
		if m.dearest.Long != nil {
			b.dearest = b.dearest.dearer(*m.dearest.Long)
		}
	}
}

// weigh finds the dearest price of each thing over all times.
func (m *modelPrices) weigh() {
	for _, t := range m.prices {
		m.dearest.Price = m.dearest.dearer(t.Price)
	}
	for _, t := range m.prices {
		switch {
		case t.Long == nil:
		case m.dearest.Long == nil:
			long := t.Long.dearer(m.dearest.Price)
			m.dearest.Long, m.dearest.LongAbove = &long, t.LongAbove
		default:
			*m.dearest.Long, m.dearest.LongAbove = m.dearest.Long.dearer(*t.Long), min(m.dearest.LongAbove, t.LongAbove)
		}
	}
}

// Models lists the names that have a price, sorted.
func (b *PriceBook) Models() []string { return slices.Sorted(maps.Keys(b.models)) }

// Has says whether a price of the model is known, be it of another time.
func (b *PriceBook) Has(model string) bool { return b.models[NormalizeModel(model)] != nil }

// Tiers lists the service tiers that have prices, the standard one first.
func (b *PriceBook) Tiers() []string {
	return append([]string{"standard"}, slices.Sorted(maps.Keys(b.tiers))...)
}

// Checked is the day on which the prices were last compared to their sources.
func (b *PriceBook) Checked() Day { return b.checked }

// Limits are what a request to the model may have; zero where it is not known.
func (b *PriceBook) Limits(model string) ModelLimits {
	if m := b.models[NormalizeModel(model)]; m != nil {
		return m.limits
	}
	return ModelLimits{}
}

// Day is a calendar day in Pacific time, written 2026-12-31.
type Day struct{ start time.Time }

// UnmarshalText reads a day.
func (d *Day) UnmarshalText(b []byte) error {
	t, err := time.ParseInLocation(time.DateOnly, strings.TrimSpace(string(b)), pacific)
	d.start = t
	return err
}

// IsZero holds for no day.
func (d Day) IsZero() bool { return d.start.IsZero() }

// Start is the day's first moment.
func (d Day) Start() time.Time { return d.start }

// String is the day as 2026-12-31; "" for no day.
func (d Day) String() string {
	if d.IsZero() {
		return ""
	}
	return d.start.Format(time.DateOnly)
}

// next is the day after.
func (d Day) next() Day { return Day{NextPacificMidnight(d.start)} }

func (d Day) begins(at time.Time) bool { return d.IsZero() || !at.Before(d.start) }

func (d Day) lasts(at time.Time) bool { return d.IsZero() || at.Before(d.next().start) }
