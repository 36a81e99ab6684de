package cli

import (
	"math"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// evidence is what tells how much rows take, before they are made.
type evidence struct {
	source string // one of the jobs.Planned… words
	from   string // for people: "run catalog", "412 calls for tags"
	tried  []gemini.Usage
	taught *gemini.Taught
	most   int64 // tokens that an answer may have

	foreign bool // not all rows that were tried are of this input: their prompts say nothing of these
}

// need is what rows take.
type need struct {
	Rows   int64      `json:"rows"`
	Input  jobs.Span  `json:"input_tokens"`
	Output jobs.Span  `json:"output_tokens"`
	Source string     `json:"output_from"`
	From   string     `json:"output_from_what,omitempty"`
	Tier   string     `json:"tier"`            // the run is likely to go by
	Tiers  []tierCost `json:"tiers,omitempty"` // none where no price is known
}

// tierCost is what the rows cost at one service tier.
type tierCost struct {
	Tier string    `json:"tier"`
	Cost jobs.Span `json:"cost_micro_usd"`
	Used bool      `json:"used,omitempty"` // the run goes by this one
}

// need works out what so many rows of a batch take.
func (l *loaded) need(b *batch, e evidence, rows int64, at time.Time) need {
	n := need{Rows: rows, Source: e.source, From: e.from, Tier: l.usedTier(b.Spec, at)}
	part := float64(rows) / float64(max(b.Rows, 1))
	switch {
	case len(e.tried) > 0 && !e.foreign:
		n.Input = e.spanOf(b, rows, func(u gemini.Usage) float64 { return float64(u.Input()) })
	case e.taught != nil:
		low, mid, high := e.taught.Input(b.texts)
		n.Input = partOf(jobs.Span{Low: low, Mid: mid, High: high}, part)
	default:
		low, high := b.texts.Tokens()
		n.Input = partOf(jobs.Span{Low: low, Mid: (low + high) / 2, High: high}, part)
	}
	n.Output = e.answers(b, rows)
	n.Tiers = l.tiers(b, e, n, at)
	return n
}

// answers is what the answers of so many rows take: none more than it may.
func (e evidence) answers(b *batch, rows int64) (out jobs.Span) {
	most := e.most * rows
	switch {
	case b.Spec.Kind == jobs.Embed:
		return out
	case len(e.tried) > 0:
		out = e.spanOf(b, rows, func(u gemini.Usage) float64 { return float64(u.Output()) })
	case e.taught != nil:
		shortest, mean, longest := e.taught.Output()
		each := float64(rows)
		out = jobs.Span{Low: int64(shortest * each), Mid: int64(mean * each), High: int64(math.Ceil(longest * each))}
	default:
		return jobs.Span{Mid: most, High: most}
	}
	if most > 0 {
		out = jobs.Span{Low: min(out.Low, most), Mid: min(out.Mid, most), High: min(out.High, most)}
	}
	return out
}

// spanOf is what so many rows take of something, by rows that were tried. Only where
// those are a part of all these rows do they leave less to be guessed.
func (e evidence) spanOf(b *batch, rows int64, of func(gemini.Usage) float64) jobs.Span {
	values := make([]float64, len(e.tried))
	for i, u := range e.tried {
		values[i] = of(u)
	}
	population := rows
	if e.foreign || rows != b.Rows {
		population = math.MaxInt64
	}
	low, mid, high := expected(values, population)
	all := float64(rows)
	return jobs.Span{Low: int64(low * all), Mid: int64(math.Round(mid * all)), High: int64(math.Ceil(high * all))}
}

// tiers prices the rows at each tier that the book has, and for the Batch API.
func (l *loaded) tiers(b *batch, e evidence, n need, at time.Time) (out []tierCost) {
	model := l.priceOf(b.Spec.Model)
	if model == "" {
		return nil
	}
	for _, tier := range l.prices().Tiers() {
		if b.Spec.Kind == jobs.Embed && tier != "standard" && tier != "batch" {
			continue // an embedding has no tiers
		}
		out = append(out, tierCost{Tier: tier, Cost: l.costAt(b, e, n, model, tier, at), Used: tier == n.Tier})
	}
	return out
}

// usedTier is the one that will serve a run's rows, as far as can be said: "auto" goes
// by flex as long as the deadline is far enough.
func (l *loaded) usedTier(s jobs.Spec, now time.Time) string {
	left := s.Steer.Deadline.Sub(now)
	switch t := s.Steer.ServiceTier; {
	case t == "", t == jobs.TierAuto && !s.Steer.Deadline.IsZero() && left < 2*l.Worker.FlexTimeout:
		return gemini.TierStandard
	case t == jobs.TierAuto:
		return gemini.TierFlex
	default:
		return t
	}
}

// costAt is the cost at one tier: of tried rows what each would have cost, else the
// tokens at their prices. What was cached for tried rows may not be next time, so
// that the upper end takes it as fresh.
func (l *loaded) costAt(b *batch, e evidence, n need, model, tier string, at time.Time) jobs.Span {
	price := func(u gemini.Usage) float64 {
		u.Tier = tier
		return float64(l.prices().Bill(model, u, at).PicoUSD)
	}
	if len(e.tried) > 0 && !e.foreign {
		span := e.spanOf(b, n.Rows, price)
		fresh := e.spanOf(b, n.Rows, func(u gemini.Usage) float64 { u.Cached = 0; return price(u) })
		return microSpan(jobs.Span{Low: span.Low, Mid: span.Mid, High: fresh.High})
	}
	each := func(input, output int64) int64 {
		return int64(b.sized.bill(n.Rows, input, output, price))
	}
	return microSpan(jobs.Span{
		Low: each(n.Input.Low, n.Output.Low), Mid: each(n.Input.Mid, n.Output.Mid), High: each(n.Input.High, n.Output.High),
	})
}

// partOf is a part of an amount; microSpan rounds pico-dollars up.
func partOf(s jobs.Span, part float64) jobs.Span {
	of := func(n int64) int64 { return int64(math.Ceil(float64(n) * part)) }
	return jobs.Span{Low: of(s.Low), Mid: of(s.Mid), High: of(s.High)}
}

func microSpan(pico jobs.Span) jobs.Span {
	up := func(n int64) int64 { return (n + 999_999) / 1_000_000 }
	return jobs.Span{Low: up(pico.Low), Mid: up(pico.Mid), High: up(pico.High)}
}

// sizes are rows by the length of their prompts: long ones have prices of their own.
type sizes struct {
	prompts [2]int64 // short, long
	tokens  [2]int64 // of them, by rule
	long    func(tokens int64) bool
}

func (s *sizes) add(tokens int64) {
	at := 0
	if s.long != nil && s.long(tokens) {
		at = 1
	}
	s.prompts[at]++
	s.tokens[at] += tokens
}

// bill is what so many rows of them cost, by the mean row of each length, where all
// have so much input and output.
func (s *sizes) bill(rows, input, output int64, price func(gemini.Usage) float64) (pico float64) {
	all, counted := s.prompts[0]+s.prompts[1], s.tokens[0]+s.tokens[1]
	if all == 0 || rows == 0 {
		return 0
	}
	ratio := float64(input) / max(1, float64(counted)*float64(rows)/float64(all))
	answer := float64(output) / float64(rows)
	for i, n := range s.prompts {
		if n == 0 {
			continue
		}
		prompt := float64(s.tokens[i]) / float64(n) * ratio
		pico += meanPrice(price, prompt, answer) * float64(n) * float64(rows) / float64(all)
	}
	return pico
}

// meanPrice is the price of a call that has a fraction of a token, as the mean of many
// may: each further token costs the same.
func meanPrice(price func(gemini.Usage) float64, prompt, answer float64) float64 {
	whole := gemini.Usage{Prompt: int64(prompt), Candidates: int64(answer)}
	longer, more := whole, whole
	longer.Prompt++
	more.Candidates++
	base := price(whole)
	return base + (prompt-math.Floor(prompt))*(price(longer)-base) + (answer-math.Floor(answer))*(price(more)-base)
}

// longPrompts tells prompts that are paid as long ones; nil for a model that has no
// such price.
func (l *loaded) longPrompts(model string, at time.Time) func(int64) bool {
	priced := l.priceOf(model)
	if q, ok := l.prices().Quote(priced, math.MaxInt64, "", at); !ok || !q.Long {
		return nil
	}
	return func(tokens int64) bool {
		q, _ := l.prices().Quote(priced, tokens, "", at)
		return q.Long
	}
}
