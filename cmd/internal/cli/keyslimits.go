package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// keyLimits are a key's own limits as the flags give them, by shorthand.
type keyLimits map[string]*string

// addFlags gives each limit a flag: --rpm, --usd-per-day.
func (l *keyLimits) addFlags(cmd *cobra.Command) {
	*l = keyLimits{}
	for _, name := range limiter.LimitNames() {
		(*l)[name] = cmd.Flags().String(limitFlag(name), "", limitUsage(name))
	}
}

func limitFlag(name string) string { return strings.ReplaceAll(name, "_", "-") }

func limitUsage(name string) string {
	unit := "`AMOUNT` of its own: 300, 20k or 2M"
	if strings.HasPrefix(name, "usd_") {
		unit = "`DOLLARS` of its own: 25 or 0.50"
	}
	return name + ", " + unit
}

// read gives the limits that were asked for, without a node.
func (l keyLimits) read(cmd *cobra.Command) (out []limiter.Override, err error) {
	for _, name := range limiter.LimitNames() {
		if !cmd.Flags().Changed(limitFlag(name)) {
			continue
		}
		x := limiter.Override{Node: "key/", Name: name}
		if err := readValue(&x, *l[name]); err != nil || x.Text == limiter.None {
			return nil, usageErrorf("--%s %s: %s", limitFlag(name), *l[name], strings.TrimSuffix(wanted(&x), ", or none for no limit"))
		}
		out = append(out, x)
	}
	return out, nil
}

// keyNode is where a key's limits are, for `quota show` and `quota unset` too.
func keyNode(id string) string { return "key/" + id }

// keyNamed is the node of the key that has a name, or else of the name itself:
// a program may call its keys as it likes.
func (b *backend) keyNamed(ctx context.Context, name string) (string, error) {
	all, err := gateway.NewKeys(b.rdb, nil).List(ctx)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, k := range all {
		if k.ID == name {
			return keyNode(name), nil
		}
		if k.Name == name && k.Revoked.IsZero() {
			ids = append(ids, k.ID)
		}
	}
	if len(ids) > 1 {
		return "", usageErrorf("%d keys are named %q; name one by its id: %s", len(ids), name, strings.Join(ids, ", "))
	}
	return keyNode(append(ids, name)[0]), nil
}

// dropKeyLimits takes away what was set for a key that is no more.
func (b *backend) dropKeyLimits(ctx context.Context, id string) error {
	err := b.lim.Override(ctx, limiter.Change{Unset: []limiter.Override{{Node: keyNode(id)}}, By: operator()})
	if errors.Is(err, limiter.ErrNoOverride) {
		return nil
	}
	return err
}

// limitsText writes limits as people read them: "rpm 300, usd_per_day $20.00".
func limitsText(limits []limiter.Override, none string) string {
	var out []string
	for _, x := range limits {
		out = append(out, x.Name+" "+valueText(x))
	}
	return orElse(strings.Join(out, ", "), none)
}
