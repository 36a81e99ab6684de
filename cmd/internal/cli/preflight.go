package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// causeNoPrice is the end of rows whose cost nobody can tell while money is limited.
const causeNoPrice = "no_price"

// refuseRows says why no row of such a run may be called for; nil when they may. A
// model without a price would slip past every limit in money.
func (l *loaded) refuseRows(spec jobs.Spec) *jobs.RowError {
	limits := l.moneyLimits()
	if len(limits) == 0 || gemini.EmbeddedPrices().Has(spec.Model) {
		return nil
	}
	return &jobs.RowError{Cause: causeNoPrice, Message: fmt.Sprintf(
		"no price is known for %s, and money is limited (%s): nothing could hold its calls to that. Give its price in a file that spend.prices names, or take another model",
		gemini.NormalizeModel(spec.Model), limits[0])}
}

// moneyLimits names the limits in money that are configured.
func (l *loaded) moneyLimits() []string {
	var out []string
	add := func(where string, limits limiter.Limits) {
		for _, one := range limits.List() {
			if one.Unit == limiter.MicroUSD {
				out = append(out, where+" "+one.Name())
			}
		}
	}
	conf := l.limiterConfig()
	for _, node := range slices.Sorted(maps.Keys(conf.Nodes)) {
		add(node, conf.Nodes[node])
	}
	for _, lane := range conf.Lanes {
		add(lane.Lane.Model, lane.Limits)
	}
	return out
}

// largeNamed bounds how many rows an error names that are too long; all are counted.
const largeNamed = 10

// withLarge says after all problems how many rows could never be sent.
func (b *batch) withLarge(err error) error {
	n := len(b.large)
	if n < 2 {
		return err
	}
	named := strings.Join(b.large[:min(n, largeNamed)], ", ")
	if n > largeNamed {
		named += ", …"
	}
	return fmt.Errorf("%w\n%s are too long for %s: %s\n    shorten or leave them out", err, plural(n, "row"), b.quota.model, named)
}
