package limiter

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// kind is what sort of thing an override's node is.
type kind uint8

const (
	kindUnknown kind = iota
	kindLane
	kindNode
	kindClass
	kindWeights
)

func (o Override) kind() kind {
	head, _, _ := strings.Cut(o.Node, "/")
	switch {
	case o.Node == NodeWeights:
		return kindWeights
	case strings.Count(o.Node, "/") == 3:
		return kindLane
	case head == "class" && o.class() != "":
		return kindClass
	case slices.Contains(nodeKinds, head):
		return kindNode
	}
	return kindUnknown
}

func (o Override) class() string { return strings.TrimPrefix(o.Node, "class/") }

// Names are what overrides of a node may set; nil for a node of no known kind,
// and for the weights, whose names are nodes themselves.
func (o Override) Names() []string {
	switch o.kind() {
	case kindLane:
		return append(LimitNames(), "outside", "lend", "shadow")
	case kindNode:
		return append(LimitNames(), "shadow")
	case kindClass:
		return shareNames
	}
	return nil
}

// LimitNames are the shorthands of all limits.
func LimitNames() (out []string) {
	for _, s := range shorthands {
		out = append(out, s.name)
	}
	return out
}

func isLimit(name string) bool { return slices.Contains(LimitNames(), name) }

func (o Override) field() string { return o.Node + " " + o.Name }

// check finds what is wrong with an override by itself.
func (o Override) check() error {
	if err := o.checkNode(); err != nil {
		return err
	}
	if o.Source != "" && o.Source != SourceOperator && (o.Source != SourceProvider || !isLimit(o.Name)) {
		return wrong(o.field(), "source %q; want %s, or for a limit %s", o.Source, SourceOperator, SourceProvider)
	}
	if o.kind() == kindWeights {
		return checkWeight(o.field(), o.Name, o.Value)
	}
	if !slices.Contains(o.Names(), o.Name) {
		return wrong(o.field(), "unknown; known are %s", strings.Join(o.Names(), ", "))
	}
	switch o.Name {
	case "shadow":
		return checkShadow(o.field(), o.list())
	case "lend":
		return checkLend(o.field(), o.Text)
	case "outside":
		return checkPPM(o.field(), o.Value, million-1)
	}
	if o.kind() == kindClass {
		return checkPPM(o.field(), o.Value, million)
	}
	return o.checkLimit()
}

func (o Override) checkNode() error {
	switch o.kind() {
	case kindUnknown:
		return wrong("node", "%q; want a lane, class/NAME, %s, or one of %s with its name, as in tenant/acme",
			o.Node, NodeWeights, strings.Join(nodeKinds, ", "))
	case kindNode:
		return CheckNode("node", o.Node)
	}
	return nil
}

func (o Override) checkLimit() error {
	if o.Text == None && o.Value == 0 && o.Source != SourceProvider {
		return nil
	}
	if o.Text != "" || o.Value < 1 || o.Value > maxAmount {
		return wrong(o.field(), "%s; want 1 to %d, or %s for no limit", cmp.Or(o.Text, strconv.FormatInt(o.Value, 10)), int64(maxAmount), None)
	}
	return nil
}

// named finds an override that has nothing to be put over: a lane or class that
// is not configured. Nodes need not be.
func (c Config) named(o Override) error {
	switch {
	case o.kind() == kindLane && c.laneAt(o.Node) < 0:
		return wrong("node", "lane %s is not configured", o.Node)
	case o.kind() == kindClass && c.classAt(o.class()) < 0:
		return wrong("node", "%s is not configured", o.Node)
	case o.Source == SourceProvider && o.kind() != kindLane:
		return wrong(o.field(), "a provider's value is a lane's")
	}
	return nil
}

// Has says whether the configuration names what the override is of: one that it
// does not is kept without effect.
func (c Config) Has(o Override) bool { return c.named(o) == nil }
