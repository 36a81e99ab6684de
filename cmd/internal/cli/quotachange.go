package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
)

// quotaChange is one value that a command changed, or would.
type quotaChange struct {
	Node       string `json:"node"`
	Name       string `json:"name"`
	From       string `json:"from"`
	To         string `json:"to"`
	Configured string `json:"configured"`     // what the file says
	Used       *int64 `json:"used,omitempty"` // of a limit, now

	is limiter.Override
}

// quotaChanges compares the node's values before and after.
func (b *backend) quotaChanges(ctx context.Context, s quotaState, before, after limiter.Config) ([]quotaChange, error) {
	used, err := b.usedOf(ctx, s.node)
	if err != nil {
		return nil, err
	}
	var out []quotaChange
	for _, name := range namesOf(s.node, before, after) {
		was, is := before.Value(s.node, name), after.Value(s.node, name)
		if was == is {
			continue
		}
		c := quotaChange{Node: s.node, Name: name, From: valueText(was), To: valueText(is), Configured: valueText(s.file.Value(s.node, name)), is: is}
		if n, ok := used[name]; ok {
			c.Used = &n
		}
		out = append(out, c)
	}
	return out, nil
}

// namesOf are the values that a node can have.
func namesOf(node string, configs ...limiter.Config) []string {
	names := limiter.Override{Node: node}.Names()
	if node == limiter.NodeWeights {
		seen := map[string]bool{"priority/high": true, "priority/normal": true, "priority/low": true}
		for _, c := range configs {
			for name := range c.Weights {
				seen[name] = true
			}
		}
		names = slices.Sorted(maps.Keys(seen))
	}
	return names
}

// usedOf is what is used of a lane's limits now, by name.
func (b *backend) usedOf(ctx context.Context, node string) (map[string]int64, error) {
	lane, err := limiter.ParseLane(node)
	if err != nil {
		return nil, nil // classes and weights use nothing
	}
	s, err := b.lim.State(ctx, lane)
	if errors.Is(err, limiter.ErrUnknownLane) {
		return nil, nil
	}
	used := map[string]int64{}
	for _, l := range s.Limits {
		used[l.Name] = l.Used
	}
	return used, err
}

// tell says what changed, where the values come from, and how to undo it.
func (o *setOptions) tell(node string, ch limiter.Change, changes []quotaChange, notes []string) error {
	o.deed.about(shownTarget(node))
	before, after, both := changeWords(changes)
	o.deed.changed(before, after)
	o.deed.says(orElse(both, "It held already"))
	if o.opts.output == "json" {
		return o.print(nil, changes)
	}
	if len(changes) == 0 {
		fmt.Fprintf(o.Out, "%s: nothing changes now, these values hold already.\n", shownTarget(node))
		o.tellNext(node, ch)
		return nil
	}
	t := newTable("TARGET", "NAME", "WAS", "IS", "CONFIGURED", "USED NOW").numeric(2, 3, 4, 5)
	if o.DryRun {
		t = newTable("TARGET", "NAME", "IS", "WOULD BE", "CONFIGURED", "USED NOW").numeric(2, 3, 4, 5)
	}
	for _, c := range changes {
		used := ""
		if c.Used != nil {
			used = valueText(limiter.Override{Name: c.Name, Value: *c.Used})
		}
		t.row(shownTarget(c.Node), c.Name, c.From, c.To, c.Configured, used)
	}
	if err := o.print(t, changes); err != nil || o.opts.output == "plain" {
		return err
	}
	for _, c := range changes {
		o.warnChange(c)
	}
	for _, n := range notes {
		fmt.Fprintln(o.Out, n)
	}
	o.tellNext(node, ch)
	return nil
}

// warnChange says what a value does that is below what is used already.
func (o *setOptions) warnChange(c quotaChange) {
	if c.Used == nil || c.is.Value == 0 || *c.Used <= c.is.Value {
		return
	}
	o.say("%s %s: %s are used of %s: nothing more is admitted until so much has left the window", shownTarget(c.Node), c.Name,
		humanize.Comma(*c.Used), humanize.Comma(c.is.Value))
}

func (o *setOptions) tellNext(node string, ch limiter.Change) {
	switch {
	case o.DryRun:
		fmt.Fprintln(o.Out, "Nothing was changed: this was a dry run.")
	case len(ch.Set) > 0:
		var names []string
		for _, x := range ch.Set {
			names = append(names, x.Name)
		}
		fmt.Fprintf(o.Out, "Every process follows within a second, and restarts keep it. To undo it: nightshift quota unset %s %s\n",
			shellWord(shownTarget(node)), strings.Join(names, " "))
	default:
		fmt.Fprintln(o.Out, "What is configured holds again; every process follows within a second.")
	}
}
