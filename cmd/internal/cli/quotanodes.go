package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nightshift/limiter"
)

// mostNodes bounds what one look reads: a fleet may have thousands of tenants.
const mostNodes = 200

// isNode tells a node's name ("tenant/acme") from a model's or a lane's.
func isNode(name string) bool {
	kind, id, ok := strings.Cut(name, "/")
	return ok && id != "" && slices.Contains(limiter.NodeKinds(), kind)
}

// isPattern holds for what stands for all nodes of a kind.
func isPattern(node string) bool { return strings.HasSuffix(node, "/*") }

// addNodes reads nodes, the fullest first. One that went away meanwhile is passed
// over, if others were asked for too.
func (v *quotaView) addNodes(ctx context.Context, b *backend, nodes []string) error {
	v.more = max(0, len(nodes)-mostNodes)
	for _, node := range nodes[:len(nodes)-v.more] {
		s, err := b.lim.NodeState(ctx, node)
		if errors.Is(err, limiter.ErrUnknownNode) && len(nodes) > 1 {
			continue
		}
		if err != nil {
			return err
		}
		v.Nodes = append(v.Nodes, s)
	}
	slices.SortStableFunc(v.Nodes, func(a, b limiter.NodeState) int { return cmp.Compare(fullness(b), fullness(a)) })
	return nil
}

// noNode says which nodes there are instead.
func (b *backend) noNode(ctx context.Context, name string) error {
	known, err := b.lim.Nodes(ctx)
	switch {
	case err != nil:
		return err
	case len(known) == 0:
		return usageErrorf("%s has no limits, nor has any other node", name)
	}
	return usageErrorf("%s has no limits; those that have are %s", name, strings.Join(known, ", "))
}

// fullness is the part of its fullest limit that a node uses.
func fullness(s limiter.NodeState) (most float64) {
	for _, l := range s.Limits {
		most = max(most, ratio(l.Used, l.Effective))
	}
	return most
}

// showNodes is what nodes with limits of their own use; one alone has its classes too.
func (o *showOptions) showNodes(v *quotaView) {
	section(o.Out, "nodes, the fullest first", nodeTable(v, o))
	if v.more > 0 {
		fmt.Fprintf(o.Out, "and %s that were not looked at\n", plural(v.more, "node"))
	}
	for _, s := range v.Nodes {
		if len(v.Lanes) == 0 {
			section(o.Out, "classes", classTable(s.Limits))
		}
		o.printNotes(s.Node+": ", s.Limits)
	}
}

func nodeTable(v *quotaView, o *showOptions) *dataTable {
	t := newTable("NODE", "LIMIT", "USED", "FULL", "ENFORCED", "SET", "NEXT FREE", "BY").numeric(2, 3, 4, 5)
	for _, s := range v.Nodes {
		name := s.Node
		if s.From != s.Node {
			name += " (" + s.From + ")"
		}
		for _, l := range s.Limits {
			t.row(name, l.Name, amount(l.Unit, l.Used), percent(ratio(l.Used, l.Effective)), enforced(l),
				setWords(l), nextFree(l, s.At, o.now()), usersOf(l))
			name = "" // said once
		}
	}
	return t
}

// usersOf is who uses a limit, the largest class first.
func usersOf(l limiter.LimitState) string {
	classes := slices.DeleteFunc(slices.Clone(l.Classes), func(c limiter.ClassUse) bool { return c.Used == 0 })
	slices.SortStableFunc(classes, func(a, b limiter.ClassUse) int { return cmp.Compare(b.Used, a.Used) })
	var parts []string
	for _, c := range classes {
		parts = append(parts, c.Class+" "+amount(l.Unit, c.Used))
	}
	return strings.Join(parts, ", ")
}

// printNotes says what else there is to know of limits: what the provider's answers
// took off, and what only watches.
func (f *factory) printNotes(whose string, limits []limiter.LimitState) {
	for _, l := range limits {
		if whose != "" && strings.Contains(l.Source, " ") { // a lane's table has the source; a file's name says little
			fmt.Fprintf(f.Out, "%s%s: %s\n", whose, l.Name, l.Source)
		}
		if w := l.Lowered; w != nil {
			why := "the provider refused what was admitted"
			if l.Window == limiter.Held {
				why = "the provider was short of capacity"
			}
			fmt.Fprintf(f.Out, "%s%s is lowered %s after %s; all of it is back at %s if it refuses no more\n",
				whose, l.Name, loweredWords(l), why, clock(w.Until, f.now()))
		}
		if l.Shadow {
			fmt.Fprintf(f.Out, "%s%s is in shadow and refuses nothing; it would have refused %s\n", whose, l.Name, plural(int(l.Shadowed), "call"))
		}
	}
}
