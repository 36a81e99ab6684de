package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nightshift/cmd/internal/tenants"
	"nightshift/jobs"
	"nightshift/limiter/gateway"
)

// mustBeKnown refuses a stop of what nobody has ever heard of: whoever mistypes a name
// in an emergency must not read that the right one is stopped.
func (b *backend) mustBeKnown(ctx context.Context, node string, runs []jobs.Run) error {
	known, err := b.stoppable(ctx, runs)
	if err != nil || known[node] {
		return err
	}
	if stopped, err := b.book.IsStopped(ctx, node); err != nil || stopped {
		return err
	}
	kind, name, _ := strings.Cut(node, "/")
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(n string) bool { return !strings.HasPrefix(n, kind+"/") })
	list := "tenants list"
	if kind == "key" {
		list = "keys list"
	}
	hint := orElse(nearest(node, names), "; see: nightshift "+list)
	return usageErrorf("no such %s: %s%s; nobody is stopped", kind, cutText(name, tenants.LongestName), hint)
}

// stoppable are the tenants, teams and keys that somebody configured, made, or has used
// something as.
func (b *backend) stoppable(ctx context.Context, runs []jobs.Run) (map[string]bool, error) {
	known := map[string]bool{}
	c, err := b.lim.Effective(ctx)
	if err != nil {
		return nil, err
	}
	for node := range c.Nodes {
		known[node] = true
	}
	for _, r := range runs {
		known["tenant/"+r.Spec.Tenant], known["team/"+r.Spec.Team] = true, true
	}
	keys, err := gateway.NewKeys(b.rdb, nil).List(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		known[keyNode(orElse(k.Path.Key, k.ID))], known["tenant/"+k.Path.Tenant], known["team/"+k.Path.Team] = true, true, true
	}
	nodes, err := b.book.Nodes(ctx)
	for _, node := range nodes {
		known[node] = true
	}
	return known, err
}

// stoppedNodes are those that an emergency stop holds now.
func (b *backend) stoppedNodes(ctx context.Context) (map[string]bool, error) {
	set, err := b.lim.Overrides(ctx)
	stopped := map[string]bool{}
	for _, x := range set {
		if x.Name == "rpm" && x.Reason == stopReason {
			stopped[x.Node] = true
		}
	}
	return stopped, err
}

// stoppedRun warns of a run that is resumed while its tenant or team is stopped: "" for
// any other.
func (b *backend) stoppedRun(ctx context.Context, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	r, err := b.store.Find(ctx, id)
	if err != nil {
		return "", err
	}
	other, err := b.otherStop(ctx, "", r)
	if err != nil || other == "" {
		return "", err
	}
	return fmt.Sprintf("\nIts %s is stopped still, so it makes one call a minute: `nightshift lift %s` ends that.", other, other), nil
}

// stoppedAlready refuses a change of the limit that an emergency stop has set: it would
// end the stop without a word.
func (b *backend) stoppedAlready(ctx context.Context, node, name string) error {
	if name != "" && name != "rpm" {
		return nil
	}
	if kind, _, _ := strings.Cut(node, "/"); !slices.Contains(stopKinds, kind) {
		return nil
	}
	stopped, err := b.book.IsStopped(ctx, node)
	if err != nil || !stopped {
		return err
	}
	return fmt.Errorf("%s is stopped (one call a minute): lift that first, with `nightshift lift %s`; nothing was changed", node, node)
}
