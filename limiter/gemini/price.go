package gemini

import (
	"cmp"
	"strings"
	"time"
)

// Price is what a million tokens cost, in micro-dollars. A zero price of a
// modality means that it costs what text does.
type Price struct {
	Input       int64 `yaml:"input"`
	Cached      int64 `yaml:"cached"`
	Output      int64 `yaml:"output"`
	Audio       int64 `yaml:"audio"`
	Image       int64 `yaml:"image"`
	Video       int64 `yaml:"video"`
	CachedAudio int64 `yaml:"cached_audio"`
	ImageOutput int64 `yaml:"image_output"`
}

// Tariff is a price for a time.
type Tariff struct {
	From  Day `yaml:"from"`  // first day; zero: always was
	Until Day `yaml:"until"` // last day; zero: no end is known
	Price `yaml:",inline"`
	// Long replaces the price for a whole request whose prompt is larger.
	Long *struct {
		Above int64 `yaml:"above"` // tokens of the prompt
		Price `yaml:",inline"`
	} `yaml:"long"`
}

// Factor is a service tier's part of the standard price, in millionths.
type Factor struct {
	Input  int64 `yaml:"input"`
	Cached int64 `yaml:"cached"`
	Output int64 `yaml:"output"`
}

var standard = Factor{perMillion, perMillion, perMillion}

const perMillion = 1_000_000

// Quote is a price as it was found.
type Quote struct {
	Price
	Source  string
	Expired bool // no price is known for the time: the dearest known one is taken
}

// Quote finds the price of a model at a time, for a prompt of so many tokens
// served by a tier. A tier that is not known is taken for the dearest.
func (b *PriceBook) Quote(model string, prompt int64, tier string, at time.Time) (Quote, bool) {
	m, ok := b.models[NormalizeModel(model)]
	if !ok || len(m.Prices) == 0 {
		return Quote{}, false
	}
	tariff, current := m.at(at)
	q := Quote{Price: tariff.Price, Source: m.Source, Expired: !current}
	if tariff.Long != nil && prompt > tariff.Long.Above {
		q.Price = tariff.Long.Price
	}
	q.Price = q.times(b.factor(m, tier))
	return q, true
}

// at gives the tariff of the day, or the dearest of those known.
func (m *modelPrices) at(at time.Time) (Tariff, bool) {
	var dearest Tariff
	for _, t := range m.Prices {
		if t.From.begins(at) && t.Until.lasts(at) {
			return t, true
		}
		if t.Output+t.Input > dearest.Output+dearest.Input {
			dearest = t
		}
	}
	return dearest, false
}

func (b *PriceBook) factor(m *modelPrices, tier string) Factor {
	if tier == "" || tier == "standard" {
		return standard
	}
	if f, ok := m.Tiers[tier]; ok {
		return f
	}
	if f, ok := b.tiers[tier]; ok {
		return f
	}
	dearest := standard
	for _, tiers := range []map[string]Factor{b.tiers, m.Tiers} {
		for _, f := range tiers {
			if f.Output > dearest.Output {
				dearest = f
			}
		}
	}
	return dearest
}

func (p Price) times(f Factor) Price {
	return Price{
		Input: scale(p.Input, f.Input), Cached: scale(p.Cached, f.Cached), Output: scale(p.Output, f.Output),
		Audio: scale(p.Audio, f.Input), Image: scale(p.Image, f.Input), Video: scale(p.Video, f.Input),
		CachedAudio: scale(p.CachedAudio, f.Cached), ImageOutput: scale(p.ImageOutput, f.Output),
	}
}

// scale is n·millionths, rounded up.
func scale(n, millionths int64) int64 { return (n*millionths + perMillion - 1) / perMillion }

// Cost is what a call cost in micro-dollars, rounded up once. known is false
// for a model without a price: such a cost is never zero, it is not known.
func (b *PriceBook) Cost(model string, u Usage, at time.Time) (microUSD int64, known bool) {
	q, ok := b.Quote(model, u.Prompt, u.Tier, at)
	if !ok {
		return 0, false
	}
	return (q.of(u) + perMillion - 1) / perMillion, true
}

// of sums tokens × price: (prompt − cached + tools)·input + cached·cached price
// + (answer + thinking)·output, with the modalities that have prices of their own
// (https://ai.google.dev/gemini-api/docs/pricing). The largest context at the
// dearest price is under 10¹⁵, far from overflow.
func (p Price) of(u Usage) int64 {
	cached := min(u.Cached, u.Prompt)
	sum := (u.Prompt-cached+u.ToolUse)*p.Input + cached*p.Cached + u.Output()*p.Output
	audio := min(u.PromptByModality.Audio, u.Prompt)
	cachedAudio := min(u.CachedByModality.Audio, audio, cached)
	sum += (audio - cachedAudio) * (cmp.Or(p.Audio, p.Input) - p.Input)
	sum += cachedAudio * (cmp.Or(p.CachedAudio, p.Cached) - p.Cached)
	sum += min(u.PromptByModality.Image, u.Prompt) * (cmp.Or(p.Image, p.Input) - p.Input)
	sum += min(u.PromptByModality.Video, u.Prompt) * (cmp.Or(p.Video, p.Input) - p.Input)
	sum += min(u.ImageOutput, u.Candidates) * (cmp.Or(p.ImageOutput, p.Output) - p.Output)
	return sum
}

// Day is a calendar day in Pacific time, written 2026-12-31.
type Day struct{ start time.Time }

// UnmarshalText reads a day.
func (d *Day) UnmarshalText(b []byte) error {
	t, err := time.ParseInLocation(time.DateOnly, strings.TrimSpace(string(b)), pacific)
	d.start = t
	return err
}

func (d Day) begins(at time.Time) bool { return d.start.IsZero() || !at.Before(d.start) }

func (d Day) lasts(at time.Time) bool {
	if d.start.IsZero() {
		return true
	}
	return at.Before(NextPacificMidnight(d.start))
}
