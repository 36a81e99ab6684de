package gemini

import (
	"math"
	"math/bits"
)

// Price is what things cost, in micro-dollars per million: tokens, hours of a
// cached token, searches. A zero price of a modality means that it costs what
// text does.
type Price struct {
	Input  int64 // text of prompts, and of results of tools
	Cached int64 // prompt that came from a cache; zero: Input
	Output int64 // answers and thinking

	InputBy  Modalities // input that is not text
	CachedBy Modalities // cached input that is not text
	OutputBy Modalities // output that is not text

	Storage int64 // an hour of a token in an explicit cache; 0: not known
	Search  int64 // grounding with Google Search: a query, or a request that made any; 0: not known
	// SearchPerRequest: one fee a request, however many queries it made.
	SearchPerRequest bool
}

// Factor is a service tier's part of the standard price, in millionths.
type Factor struct {
	Input  int64
	Cached int64
	Output int64
}

var standard = Factor{perMillion, perMillion, perMillion}

const perMillion = 1_000_000

func (p Price) times(f Factor) Price {
	p.Input, p.Cached, p.Output = scale(p.Input, f.Input), scale(p.Cached, f.Cached), scale(p.Output, f.Output)
	p.InputBy, p.CachedBy, p.OutputBy = p.InputBy.times(f.Input), p.CachedBy.times(f.Cached), p.OutputBy.times(f.Output)
	return p
}

func (m Modalities) times(millionths int64) Modalities {
	return Modalities{Audio: scale(m.Audio, millionths), Image: scale(m.Image, millionths), Video: scale(m.Video, millionths)}
}

// scale is n·millionths, rounded up to a micro-dollar per million.
func scale(n, millionths int64) int64 { return (n*millionths + perMillion - 1) / perMillion }

// dearer takes the larger price of each thing. What a price leaves to that of
// text stays as dear as it is.
func (p Price) dearer(o Price) Price {
	p, o = p.spelled(), o.spelled()
	p.Input, p.Cached, p.Output = max(p.Input, o.Input), max(p.Cached, o.Cached), max(p.Output, o.Output)
	p.InputBy, p.CachedBy, p.OutputBy = p.InputBy.dearer(o.InputBy), p.CachedBy.dearer(o.CachedBy), p.OutputBy.dearer(o.OutputBy)
	p.Storage, p.Search = max(p.Storage, o.Storage), max(p.Search, o.Search)
	p.SearchPerRequest = p.SearchPerRequest && o.SearchPerRequest
	return p
}

func (m Modalities) dearer(o Modalities) Modalities {
	return Modalities{Audio: max(m.Audio, o.Audio), Image: max(m.Image, o.Image), Video: max(m.Video, o.Video)}
}

// spelled fills the prices that are those of text.
func (p Price) spelled() Price {
	if p.Cached == 0 {
		p.Cached = p.Input
	}
	p.InputBy, p.OutputBy = p.InputBy.or(p.Input), p.OutputBy.or(p.Output)
	p.CachedBy = p.CachedBy.or(p.Cached)
	return p
}

func (m Modalities) or(n int64) Modalities {
	for _, at := range []*int64{&m.Audio, &m.Image, &m.Video} {
		if *at == 0 {
			*at = n
		}
	}
	return m
}

// dearer takes the larger factor of each thing.
func (f Factor) dearer(o Factor) Factor {
	return Factor{max(f.Input, o.Input), max(f.Cached, o.Cached), max(f.Output, o.Output)}
}

// times is n·price in pico-dollars, since a micro-dollar per million is a
// pico-dollar each. Nonsense ends at the largest number instead of below zero.
func times(n, price int64) int64 {
	hi, lo := bits.Mul64(uint64(max(n, 0)), uint64(max(price, 0)))
	if hi > 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
