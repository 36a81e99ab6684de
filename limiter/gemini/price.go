package gemini

import "time"

// PriceBook has prices.
type PriceBook struct{}

// EmbeddedPrices is the book that comes with the program.
func EmbeddedPrices() *PriceBook { return &PriceBook{} }

// Cost is what a call costs.
func (b *PriceBook) Cost(model string, u Usage, at time.Time) (microUSD int64, known bool) {
	return 0, false
}
