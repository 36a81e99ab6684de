package sim

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
)

// The policies, in the order of a table.
const (
	Alone          = "alone"
	None           = "none"
	Retry          = "retry"
	RequestsOnly   = "requests-only"
	FixedSplit     = "fixed-split"
	UsualSplit     = "usual-split"
	ReservedBucket = "reserved-bucket"
	FixedCountdown = "fixed-countdown"
	Ours           = "nightshift"
	OursLearned    = "nightshift-learned"
)

// labels say what each policy is.
var labels = map[string]string{
	Alone:          "no bulk at all: what people meet by themselves",
	None:           "no gate, no retries of bulk: what is refused has failed",
	Retry:          "no gate; who is refused tries again after 1, 2, 4, … s",
	RequestsOnly:   "the same gate, but it counts requests alone",
	FixedSplit:     "bulk has 70 % of each limit to itself, people 30 %; exact sliding minutes",
	UsualSplit:     "the same split with the usual margin: 0.85 of each part",
	ReservedBucket: "one token bucket of a minute's limit; bulk takes nothing below 30 % of it",
	FixedCountdown: "the same gate, but a refused row comes back after 10 s: no line, no pulls",
	Ours:           "nightshift with default settings, first night",
	OursLearned:    "nightshift with default settings, after a learned week",
}

// PolicyNames are all policies, in the order of a table.
func PolicyNames() []string {
	return []string{Alone, None, Retry, RequestsOnly, FixedSplit, UsualSplit, ReservedBucket, FixedCountdown, Ours, OursLearned}
}

// Label says what a policy is, for people.
func Label(name string) string { return labels[name] }

func newPolicy(name string, s *Scenario) policy {
	switch name {
	case Alone, None:
		return &direct{}
	case Retry:
		return &direct{retries: true}
	case FixedSplit:
		return newSplit(s, 1)
	case UsualSplit:
		return newSplit(s, usualMargin)
	case ReservedBucket:
		return newReserved(s)
	}
	return newGated(name, s)
}

// RunAll plays the scenario with each of its policies, side by side, and tells of each
// that is done. The error is that ctx is done.
func RunAll(ctx context.Context, s *Scenario, done func(policy string)) ([]*Outcome, error) {
	out := make([]*Outcome, len(s.Policies))
	all, ctx := errgroup.WithContext(ctx)
	for i, name := range s.Policies {
		all.Go(func() (err error) {
			if out[i], err = Run(ctx, s, name); err == nil {
				done(name)
			}
			return err
		})
	}
	return out, all.Wait()
}

// Find gives the outcome of a policy; nil where it was not played.
func Find(all []*Outcome, name string) *Outcome {
	if i := slices.IndexFunc(all, func(o *Outcome) bool { return o.Policy == name }); i >= 0 {
		return all[i]
	}
	return nil
}
