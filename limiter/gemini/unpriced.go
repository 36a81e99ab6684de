package gemini

import (
	"context"
	"sync"
	"time"

	"nightshift/limiter"
)

// Effective gives the limits in force. A Gate that has it can say whether a call is
// bound by a limit in money; *limiter.Redis is one.
type Effective interface {
	Effective(context.Context) (limiter.Config, error)
}

// noPriceWait is how long a call waits that needs an operator to state a price.
const noPriceWait = time.Minute

// priced refuses a call whose model has no known price where a limit in money binds
// it and its class is one that waits: a budget cannot be kept by guesses. Other
// calls pass at the dearest price that is known, and are said to.
func (c *call) priced() error {
	book := c.t.cfg.Prices
	model := c.model.PricedAs(book, c.route.model)
	if book.Has(model) {
		return nil
	}
	c.obs.Price = PriceUnknown
	limit, err := c.moneyLimit()
	switch {
	case err != nil:
		return c.unavailable(err)
	case limit == "":
		c.doubt(model)
		return nil
	case c.t.cfg.Observe:
		c.obs.Over = string(limiter.ReasonNoPrice)
		return nil
	}
	return c.noPrice(model, limit)
}

func (c *call) doubt(model string) {
	c.t.doubts.note(model, c.t.cfg.Now(), func(n int64) {
		c.t.log.Warn("no price of the model is known: its calls are charged as those of the dearest; put its price into the file that spend.prices names",
			"model", model, "calls", n)
	})
}

func (c *call) noPrice(model, limit string) error {
	return c.deny(limiter.ReasonNoPrice, func(d *limiter.Denied) {
		d.Node = "lane"
		d.RetryAfterMS, d.RetryAt = noPriceWait.Milliseconds(), c.t.cfg.Now().Add(noPriceWait)
		d.Detail = "no price of " + model + " is known and " + limit + " holds: put its price into the file that spend.prices names"
	})
}

// moneyLimit names what binds a call of a class that waits; "" for others.
func (c *call) moneyLimit() (string, error) {
	if !c.t.cfg.RefuseUnpriced[c.caller.Class] {
		return "", nil
	}
	gate, ok := c.t.cfg.Gate.(Effective)
	if !ok {
		return "", nil
	}
	conf, err := c.t.limits.in(c.ctx, gate, time.Now(), c.t.cfg.Bounds.Settle)
	if err != nil {
		return "", err
	}
	return conf.MoneyLimit(c.obs.Lane, c.caller.Path, c.caller.Feature), nil
}

// limitsKept is how old the limits may be by which an unpriced call is refused.
const limitsKept = time.Second

// limitsKnown keeps the limits in force for a moment.
type limitsKnown struct {
	mu   sync.Mutex
	conf limiter.Config // guarded by mu
	at   time.Time      // when it was read; guarded by mu
}

func (l *limitsKnown) in(ctx context.Context, gate Effective, now time.Time, most time.Duration) (limiter.Config, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && now.Sub(l.at) < limitsKept {
		return l.conf, nil
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	conf, err := gate.Effective(ctx)
	if err == nil {
		l.conf, l.at = conf, now
	}
	return conf, err
}
