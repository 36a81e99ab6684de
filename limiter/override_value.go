package limiter

import (
	"cmp"
	"strings"
)

// Value is what the configuration says where an override could say something else:
// in the form of an Override, with Text None for a limit that there is not.
func (c Config) Value(node, name string) Override {
	o := Override{Node: node, Name: name}
	switch o.kind() {
	case kindLane:
		c.laneValue(&o)
	case kindNode:
		l, named := c.Nodes[node]
		if !named {
			l = c.Nodes[pattern(node)]
		}
		c.limitValue(&o, &l)
	case kindClass:
		if i := c.classAt(o.class()); i >= 0 && c.Classes[i].sharePPM(name) != nil {
			o.Value = *c.Classes[i].sharePPM(name)
		}
	case kindWeights:
		o.Value = max(1, c.weights()[name])
	}
	return o
}

func (c Config) laneValue(o *Override) {
	var l LaneConfig
	if i := c.laneAt(o.Node); i >= 0 {
		l = c.Lanes[i]
	}
	switch o.Name {
	case "outside":
		o.Value = l.OutsidePPM
	case "lend":
		o.Text = cmp.Or(l.Lend, "auto")
	default:
		c.limitValue(o, &l.Limits)
	}
}

func (c Config) limitValue(o *Override, l *Limits) {
	if o.Name == "shadow" {
		o.Text = cmp.Or(strings.Join(c.Shadow[o.Node], ","), None)
		return
	}
	if at := l.field(o.Name); at != nil && *at < Unlimited {
		o.Value = *at
	}
	if o.Value == 0 {
		o.Text = None
	}
}
