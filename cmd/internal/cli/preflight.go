package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
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

// tooDear refuses a run of which one row may cost more than a limit in money ever lets
// bulk have: its rows would all be held up by it for good.
func (l *loaded) tooDear(spec jobs.Spec, lane limiter.Lane, now time.Time) error {
	model := l.priceOf(spec.Model)
	if model == "" || spec.Kind == jobs.Embed {
		return nil
	}
	longest, err := l.longestAnswer(spec)
	if err != nil {
		return err
	}
	bill := l.prices().Bill(model, gemini.Usage{Candidates: longest, Tier: spec.Steer.DearestTier()}, now)
	cost, conf := bill.MicroUSD(), l.limiterConfig()
	for _, x := range conf.MoneyLimits(lane, runPath(jobs.Run{Spec: spec}), spec.Feature) {
		if most := conf.MostOf(spec.Class, x); cost > most {
			return fmt.Errorf("a row may cost up to %s, since its answer may have %s tokens; %s lets %s have %s.\n"+
				"Give --max-output-tokens, or raise the limit: nothing was enqueued", usd(cost), humanize.Comma(longest), x, spec.Class, usd(most))
		}
	}
	return nil
}

// longestAnswer is how many tokens are held for an answer of the run, at first.
func (l *loaded) longestAnswer(spec jobs.Spec) (int64, error) {
	if n := int64(spec.MaxOutput()); n > 0 {
		return n, nil
	}
	lanes, err := l.laneMap()
	if err != nil {
		return 0, err
	}
	_, model, err := lanes.Lookup(spec.Model)
	return model.MaxOutput, err
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
