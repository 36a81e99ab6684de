package gemini

import "time"

// Bill is what a call costs, with the arithmetic. It is exact: a price of a
// micro-dollar per million tokens is one of a pico-dollar a token.
type Bill struct {
	Quote
	Lines   []Line // what is paid for, in the order of the API's fields; none of zero
	PicoUSD int64  // the sum
}

// Line is one product of a Bill: Count things at a price.
type Line struct {
	What    string // "input", "cached audio input", "thinking", …
	Unit    string // what Count counts: "token", "query", "request", "token-hour"
	Count   int64
	Price   int64 // micro-dollars per million
	PicoUSD int64 // Count × Price
}

// The units of lines.
const (
	UnitToken     = "token"
	UnitQuery     = "query"
	UnitRequest   = "request"
	UnitTokenHour = "token-hour"
)

// picoPerMicro is how many pico-dollars are a micro-dollar.
const picoPerMicro = 1_000_000

// MicroUSD is the sum in micro-dollars, rounded up once.
func (b Bill) MicroUSD() int64 { return roundUp(b.PicoUSD) }

func roundUp(pico int64) int64 {
	micro := pico / picoPerMicro
	if pico%picoPerMicro > 0 {
		micro++
	}
	return micro
}

// Cost is what a call cost in micro-dollars, rounded up once. known is false
// for a model without a price: then it is what the dearest would cost, never zero.
func (b *PriceBook) Cost(model string, u Usage, at time.Time) (microUSD int64, known bool) {
	q, ok := b.Quote(model, u.Prompt, u.Tier, at)
	return roundUp(q.pico(u)), ok
}

// Bill is Cost with every step of it.
func (b *PriceBook) Bill(model string, u Usage, at time.Time) Bill {
	q, _ := b.Quote(model, u.Prompt, u.Tier, at)
	bill := Bill{Quote: q}
	q.each(u, func(l Line) { bill.add(l) })
	return bill
}

// Store adds what it costs to keep so many tokens in an explicit cache for a time,
// begun hours in full. It is not ok where no price of that is known.
func (b *Bill) Store(tokens int64, d time.Duration) bool {
	hours := int64((d + time.Hour - 1) / time.Hour)
	b.add(Line{What: "storage of cached input", Unit: UnitTokenHour, Count: times(tokens, hours), Price: b.Storage})
	return b.Storage > 0
}

func (b *Bill) add(l Line) {
	l.PicoUSD = times(l.Count, l.Price)
	b.Lines = append(b.Lines, l)
	b.PicoUSD = plus(b.PicoUSD, l.PicoUSD)
}

// pico sums up without keeping the lines.
func (q Quote) pico(u Usage) (sum int64) {
	q.each(u, func(l Line) { sum = plus(sum, times(l.Count, l.Price)) })
	return sum
}

// cacheSaved is what the cached part would cost more as fresh input, in pico-dollars.
func (q Quote) cacheSaved(u Usage) int64 {
	if u.Cached == 0 {
		return 0
	}
	fresh := u
	fresh.Cached, fresh.CachedByModality = 0, Modalities{}
	return max(0, q.pico(fresh)-q.pico(u))
}

// each gives every product: (prompt − cached + results of tools)·input +
// cached·cached price + (answer + thinking)·output, each modality at its own price
// (https://ai.google.dev/gemini-api/docs/pricing), and searches.
func (p Price) each(u Usage, add func(Line)) {
	p = p.spelled()
	cached := min(u.Cached, u.Prompt)
	hit := u.CachedByModality.within(cached)
	fresh := u.PromptByModality.within(u.Prompt).minus(hit)
	spread("input", u.Prompt-cached, fresh, p.Input, p.InputBy, add)
	spread("tool result", u.ToolUse, u.ToolUseByModality, p.Input, p.InputBy, add)
	spread("cached input", cached, hit, p.Cached, p.CachedBy, add)
	spread("output", u.Candidates, u.OutputByModality, p.Output, p.OutputBy, add)
	spread("thinking", u.Thoughts, Modalities{}, p.Output, p.OutputBy, add)
	p.searches(u.Searches, add)
}

func (p Price) searches(n int64, add func(Line)) {
	switch {
	case n <= 0:
	case p.SearchPerRequest:
		add(Line{What: "search", Unit: UnitRequest, Count: 1, Price: p.Search})
	default:
		add(Line{What: "search", Unit: UnitQuery, Count: n, Price: p.Search})
	}
}

// spread gives the modalities of a count that have prices of their own, and the
// rest as text. Together they are the count, whatever the details say.
func spread(what string, n int64, by Modalities, text int64, price Modalities, add func(Line)) {
	by = by.within(n)
	for _, l := range [...]Line{
		{What: what, Count: n - by.Audio - by.Image - by.Video, Price: text},
		{What: "audio " + what, Count: by.Audio, Price: price.Audio},
		{What: "image " + what, Count: by.Image, Price: price.Image},
		{What: "video " + what, Count: by.Video, Price: price.Video},
	} {
		if l.Count > 0 {
			l.Unit = UnitToken
			add(l)
		}
	}
}

// within cuts the modalities to a count that they are parts of.
func (m Modalities) within(n int64) Modalities {
	m.Video = min(max(m.Video, 0), n)
	m.Image = min(max(m.Image, 0), n-m.Video)
	m.Audio = min(max(m.Audio, 0), n-m.Video-m.Image)
	return m
}

// minus takes the cached part off.
func (m Modalities) minus(o Modalities) Modalities {
	return Modalities{Audio: max(0, m.Audio-o.Audio), Image: max(0, m.Image-o.Image), Video: max(0, m.Video-o.Video)}
}
