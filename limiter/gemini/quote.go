package gemini

import "time"

// Quote is a price as it was found.
type Quote struct {
	Price
	Model   string // the name that was priced, normalized
	Source  string // where the price was read, and when
	From    Day    // first day of the price; zero: always was
	Until   Day    // last day; zero: no end is known
	Tier    string // as it was charged: "standard", "flex", …; DearestTier for one that is not known
	Factor  Factor // what the tier makes of the standard price; Price has it already
	Long    bool   // the price of long prompts, for the whole request
	Expired bool   // no price is known for the time: the dearest that is known of the model is taken
	Unknown bool   // no price is known for the model: the dearest of all models is taken
}

// DearestTier stands in Quote.Tier for a tier that nobody knows.
const DearestTier = "dearest"

// Quote finds the price of a model at a time, for a prompt of so many tokens
// served by a tier. A tier that is not known is taken for the dearest. It is not
// ok for a model without a price: then nothing is dearer than the quote.
func (b *PriceBook) Quote(model string, prompt int64, tier string, at time.Time) (q Quote, ok bool) {
	m := b.models[NormalizeModel(model)]
	if m == nil {
		return b.unknown(model, tier), false
	}
	t, current := m.at(at)
	q = Quote{Price: t.Price, Model: NormalizeModel(model), Source: m.source, From: t.From, Until: t.Until, Expired: !current}
	if t.Long != nil && prompt > t.LongAbove {
		q.Price, q.Long = *t.Long, true
		q.inherit(t.Price)
	}
	q.Tier, q.Factor = b.factor(m, tier)
	q.Price = q.times(q.Factor)
	return q, true
}

// inherit takes what does not depend on the prompt's length.
func (q *Quote) inherit(short Price) {
	q.Storage, q.Search, q.SearchPerRequest = short.Storage, short.Search, short.SearchPerRequest
}

// unknown is dearer than all that is known: of each thing the largest price, and
// no tier makes it cheaper.
func (b *PriceBook) unknown(model, tier string) Quote {
	name, f := b.factor(&modelPrices{}, tier)
	f = f.dearer(standard)
	return Quote{
		Price: b.dearest.times(f), Model: NormalizeModel(model), Unknown: true, Tier: name, Factor: f,
		Source: "no price is known; of each thing the dearest of all models",
	}
}

// at gives the tariff of the day, or the dearest of those known.
func (m *modelPrices) at(at time.Time) (Tariff, bool) {
	for _, t := range m.prices {
		if t.From.begins(at) && t.Until.lasts(at) {
			return t, true
		}
	}
	return m.dearest, false
}

func (b *PriceBook) factor(m *modelPrices, tier string) (string, Factor) {
	if tier == "" || tier == "standard" {
		return "standard", standard
	}
	if f, ok := m.tiers[tier]; ok {
		return tier, f
	}
	if f, ok := b.tiers[tier]; ok {
		return tier, f
	}
	dearest := standard
	for name, f := range b.tiers {
		if own, ok := m.tiers[name]; ok {
			f = own
		}
		dearest = dearest.dearer(f)
	}
	for _, f := range m.tiers {
		dearest = dearest.dearer(f)
	}
	return DearestTier, dearest
}
