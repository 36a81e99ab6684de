package cli

import (
	"nightshift/limiter"
)

// wayStep is one limit on a request's way.
type wayStep struct {
	node  string // "": the lane
	from  string // where a node's limits are configured, if not at itself
	limit limiter.LimitState
	needs int64
	room  int64 // for the request's class

	features map[string]string // of runs, by run: to tell whose lines go by a feature
}

func (s wayStep) name() string {
	if s.node == "" {
		return s.limit.Name
	}
	return s.limit.Name + " of " + s.node
}

// waySteps are all limits that a request must fit, the lane's first.
func waySteps(e *explained) []wayStep {
	var out []wayStep
	add := func(node, from string, limits []limiter.LimitState) {
		for _, l := range limits {
			s := wayStep{node: node, from: from, limit: l, needs: e.Amounts[l.Unit], room: max(0, l.Effective-l.Used)}
			for _, c := range l.Classes {
				if c.Class == e.Class {
					s.room = c.Room
				}
			}
			out = append(out, s)
		}
	}
	add("", "", e.Lane.Limits)
	for _, n := range e.Nodes {
		from := ""
		if n.From != n.Node {
			from = n.From
		}
		add(n.Node, from, n.Limits)
	}
	return out
}

// wayTable is every limit on the way, with what it has for this request.
func wayTable(e *explained) *dataTable {
	t := newTable("NODE", "LIMIT", "USED", "ENFORCED", "SET", "ROOM FOR "+e.Class, "NEEDS", "").numeric(2, 3, 4, 5, 6)
	for _, s := range waySteps(e) {
		node := orElse(s.node, e.Lane.Lane.Model)
		if s.from != "" {
			node += " (" + s.from + ")"
		}
		u := s.limit.Unit
		t.row(node, s.limit.Name, amount(u, s.limit.Used), enforced(s.limit), amount(u, s.limit.Amount), amount(u, s.room), amount(u, s.needs), s.verdict())
	}
	return t
}

// verdict is what the limit says to the request.
func (s wayStep) verdict() string {
	lacks := amount(s.limit.Unit, s.needs-s.room)
	switch {
	case s.needs == 0:
		return ""
	case s.needs <= s.room:
		return "fits"
	case s.limit.Shadow:
		return "in shadow: would lack " + lacks
	}
	return "lacks " + lacks
}

// enforced is what is enforced of a limit; nothing of one in shadow.
// setWords is what somebody set, or the file; "–" for calls at once of which only the
// provider's want of room makes a limit.
func setWords(l limiter.LimitState) string {
	if l.Unbound() {
		return "–"
	}
	return amount(l.Unit, l.Amount)
}

func enforced(l limiter.LimitState) string {
	if l.Shadow {
		return "shadow"
	}
	return amount(l.Unit, l.Effective)
}
