package cli

import (
	"fmt"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// causeNoPrice is the end of rows whose cost nobody can tell while money is limited.
const causeNoPrice = "no_price"

// refuseRows says why no row of such a run may be called for; nil when they may. A
// model without a price would slip past every limit in money on its way.
func (l *loaded) refuseRows(spec jobs.Spec) *jobs.RowError {
	if l.priceOf(spec.Model) != "" {
		return nil
	}
	limit := l.moneyLimit(spec)
	if limit == "" {
		return nil
	}
	return &jobs.RowError{Cause: causeNoPrice, Message: fmt.Sprintf(
		"no price is known for %s, and money is limited (%s): nothing could hold its calls to that. Give its price in a file that spend.prices names, or take another model",
		gemini.NormalizeModel(spec.Model), limit)}
}

// moneyLimit names what binds the run's calls, as it is configured.
func (l *loaded) moneyLimit(spec jobs.Spec) string {
	lanes, err := l.laneMap()
	if err != nil {
		return ""
	}
	lane, _, err := lanes.Lookup(spec.Model)
	if err != nil {
		return "" // it has no limits at all, which is another error
	}
	path := limiter.Path{Organization: spec.Organization, Tenant: spec.Tenant, Team: spec.Team}
	return l.limiterConfig().MoneyLimit(lane, path, spec.Feature)
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
