package gemini

import (
	"cmp"
	"sync"
	"time"

	"nightshift/limiter"
)

// PriceState says how far the price of a call is to be trusted.
type PriceState string

// The states. "" is a price that is known.
const (
	PriceUnknown PriceState = "unknown" // of the model: charged as the dearest of all
	PriceExpired PriceState = "expired" // of the time: charged as the dearest that is known of the model
)

func (q Quote) state() PriceState {
	switch {
	case q.Unknown:
		return PriceUnknown
	case q.Expired:
		return PriceExpired
	}
	return ""
}

// PricedAs is the name whose price holds for a call that was made by the name
// asked: that one, else its bucket's, else another of the same bucket.
func (m Model) PricedAs(b *PriceBook, asked string) string {
	for _, name := range append([]string{asked, m.Name}, m.Aliases...) {
		if b.Has(name) {
			return NormalizeModel(name)
		}
	}
	return cmp.Or(asked, m.Name)
}

// priceOf finds the exact cost, and what of it is charged. The price is that of the
// moment in which the call went out.
func (c *call) priceOf(u Usage) {
	at := c.sentAt
	if at.IsZero() {
		at = c.t.cfg.Now()
	}
	book := c.t.cfg.Prices
	q, known := book.Quote(c.model.PricedAs(book, c.route.model), u.Prompt, u.Tier, at)
	c.obs.PicoUSD, c.obs.Priced, c.obs.Price = q.pico(u), known, q.state()
	c.obs.MicroUSD = c.t.change.charge(changeKey{c.obs.Lane, c.caller.Path, c.caller.Class, c.caller.Feature}, c.obs.PicoUSD)
	c.obs.cacheSaved = q.cacheSaved(u) / picoPerMicro
	if q.Expired {
		c.t.doubts.note(q.Model, c.t.cfg.Now(), func(n int64) {
			c.t.log.Warn("the price of the model has expired: its dearest known is charged; put the new one into the file that spend.prices names",
				"model", q.Model, "calls", n)
		})
	}
}

// costed says that the call has a cost, be it one of a price that nobody knows.
func (o *Observation) costed() bool { return o.Priced || o.PicoUSD > 0 }

// change makes whole micro-dollars of exact costs, so that sums of what was charged
// are exact too: what one call was rounded up by is taken off the next one of the
// same caller. A caller is never charged less than its calls cost, nor a whole
// micro-dollar more.
type change struct {
	mu   sync.Mutex
	paid map[changeKey]int64 // pico-dollars paid ahead, below a micro-dollar; guarded by mu
}

// changeKey is as fine as anything that adds money up, so that each such sum is made
// of whole callers.
type changeKey struct {
	lane    limiter.Lane
	path    limiter.Path
	class   string
	feature string
}

// mostChange bounds the callers that are remembered. Forgetting one costs it less
// than a micro-dollar.
const mostChange = 20_000

func (c *change) charge(k changeKey, pico int64) int64 {
	if pico == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paid == nil || len(c.paid) >= mostChange {
		c.paid = map[changeKey]int64{}
	}
	due := pico - c.paid[k]
	micro := max(0, roundUp(due))
	if ahead := micro*picoPerMicro - due; ahead > 0 {
		c.paid[k] = ahead
	} else {
		delete(c.paid, k)
	}
	return micro
}

// doubts say once a minute and model that its price is not to be trusted.
type doubts struct {
	mu     sync.Mutex
	models map[string]*tally // guarded by mu
}

// mostDoubts bounds the models that have a line of their own: where nobody is
// refused, callers choose their names.
const mostDoubts = 50

func (d *doubts) note(model string, now time.Time, say func(n int64)) {
	if n, due := d.of(model).note(now); due {
		say(n)
	}
}

func (d *doubts) of(model string) *tally {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.models == nil {
		d.models = map[string]*tally{}
	}
	if d.models[model] == nil && len(d.models) >= mostDoubts {
		model = OtherFeature
	}
	if d.models[model] == nil {
		d.models[model] = &tally{}
	}
	return d.models[model]
}
