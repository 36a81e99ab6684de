package limiter

import (
	"cmp"
	"slices"
	"time"
)

func (o Override) origin(now time.Time) string {
	at := o.At.In(now.Location())
	text := at.Format("15:04")
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		text = at.Format("2 Jan 15:04")
	}
	if o.Source == SourceProvider {
		return o.said() + ", " + text
	}
	return means("set", cmp.Or(o.By, "somebody")) + ", " + text
}

// said is which of the provider's answers set a value, for people. Calls at once
// follow its capacity, all else a 429 that named a quota.
func (o Override) said() string {
	if o.Capacity() {
		return "provider short of capacity: 503, or a 429 that names no quota"
	}
	return "provider's 429"
}

// Capacity says that the value is the limit of calls at once that a lane has since
// the provider was short of capacity.
func (o Override) Capacity() bool { return o.Source == SourceProvider && o.Name == "concurrency" }

// origin says where the limit of a node comes from, for people: "nightshift.yaml",
// "quota set by ada, 22:10". A provider's value does not decide where something
// lower is set.
func (s settings) origin(node, name string, amount int64, now time.Time) string {
	said := cmp.Or(s.file.Source, "configuration")
	for _, o := range inOrder(s.setAt(node)) {
		if o.Name == name && (o.Source != SourceProvider || o.Value == amount) {
			said = o.origin(now)
		}
	}
	return said
}

// origins fills in where a lane's limits come from.
func (s settings) origins(l LaneState) LaneState {
	for i, x := range l.Limits {
		l.Limits[i].Source = s.origin(l.Lane.String(), x.Name, x.Amount, l.At)
	}
	return l
}

// nodeOrigins fills in where a node's limits come from: its own, or its kind's.
func (s settings) nodeOrigins(n NodeState) NodeState {
	_, named := s.file.Nodes[n.Node]
	for i, x := range n.Limits {
		from := n.Node
		if !named && !s.sets(n.Node, x.Name) {
			from = pattern(n.Node)
		}
		n.Limits[i].Source = s.origin(from, x.Name, x.Amount, n.At)
	}
	return n
}

func (s settings) sets(node, name string) bool {
	return slices.ContainsFunc(s.setAt(node), func(o Override) bool { return o.Name == name })
}

// setAt are the overrides of a node: few, of the thousands that there may be.
func (s settings) setAt(node string) []Override {
	if s.byNode != nil {
		return s.byNode[node]
	}
	return slices.DeleteFunc(slices.Clone(s.overrides), func(o Override) bool { return o.Node != node })
}

// indexed is s with its overrides by node, for many questions about nodes.
func (s settings) indexed() settings {
	s.byNode = map[string][]Override{}
	for _, o := range s.overrides {
		s.byNode[o.Node] = append(s.byNode[o.Node], o)
	}
	return s
}
