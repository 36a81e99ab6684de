package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter"
)

// mostRuns bounds how many runs an error names.
const mostRuns = 10

// patternOf is "tenant/*" for "tenant/acme".
func patternOf(node string) string {
	kind, _, _ := strings.Cut(node, "/")
	return kind + "/*"
}

// nameRuns puts ids in the place of what the user calls runs: as the target, and
// among the names of weights. Calls carry the id alone, so that a limit of anything
// else would be without effect.
func (o *setOptions) nameRuns(ctx context.Context, be *backend, s *quotaState) (err error) {
	if s.node != limiter.NodeWeights {
		s.node, err = o.runNode(ctx, be, s.node, s.overrides, func(x limiter.Override) bool { return x.Node == s.node })
		return err
	}
	for i, text := range o.Values {
		name, value, given := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		node, err := o.runNode(ctx, be, name, s.overrides, func(x limiter.Override) bool { return x.Node == s.node && x.Name == name })
		if err != nil {
			return err
		}
		if o.Values[i] = node; given {
			o.Values[i] += "=" + value
		}
	}
	return nil
}

// runNode is "run/ID" for "run/REF", "key/ID" for "key/NAME", and any other node as it is. What is set of a
// run that is gone may be taken back by what it was set for.
func (o *setOptions) runNode(ctx context.Context, be *backend, node string, set []limiter.Override, same func(limiter.Override) bool) (string, error) {
	if name, is := strings.CutPrefix(node, "key/"); is {
		return be.keyNamed(ctx, name)
	}
	ref, is := strings.CutPrefix(node, "run/")
	if !is || ref == "" || ref == "*" || o.Unset && slices.ContainsFunc(set, same) {
		return node, nil
	}
	run, err := be.store.Find(ctx, ref)
	switch {
	case err == nil:
		return "run/" + run.ID, nil
	case !errors.Is(err, jobs.ErrNoRun):
		return "", err
	case o.Unset:
		return node, nil // what is set is said next
	}
	return "", be.noRun(ctx, ref)
}

// noRun says which runs there are instead, the latest first.
func (b *backend) noRun(ctx context.Context, ref string) error {
	runs, err := b.store.Runs(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, r := range runs[:min(len(runs), mostRuns)] {
		known = append(known, strings.TrimSpace(r.ID+" "+r.Spec.Name))
	}
	if len(known) == 0 {
		return usageErrorf("no run %q; there is none yet", ref)
	}
	return usageErrorf("no run %q; the latest are %s", ref, strings.Join(known, ", "))
}
