package cli

import (
	"fmt"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter"
)

// unpriced refuses a run whose cost nobody can tell where a limit in money binds it:
// its rows would all wait for a price. What the configuration says is looked at here,
// what was set since at each call.
func (l *loaded) unpriced(spec jobs.Spec, lane limiter.Lane) error {
	if l.priceOf(spec.Model) != "" || !l.refuseUnpriced()[spec.Class] {
		return nil
	}
	limit := l.limiterConfig().MoneyLimit(lane, runPath(jobs.Run{Spec: spec}), spec.Feature)
	if limit == "" {
		return nil
	}
	return fmt.Errorf("%w.\nA limit in money (%s) binds this run, and nothing could hold it to that: nothing was enqueued", l.noPrice(spec.Model), limit)
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
