package limiter

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// CapState is a money limit of a lane or node, and what it stands at.
type CapState struct {
	Node string `json:"node"` // Lane.String, or "tenant/acme"
	Limit
	Name   string    `json:"name"`           // "usd_per_month"
	Used   int64     `json:"used"`           // spent and held, in micro-dollars
	Held   int64     `json:"held"`           // of Used: by calls that are under way, at their estimates
	Soft   int64     `json:"soft,omitempty"` // what pausable classes stop at; 0: at the limit itself
	Start  time.Time `json:"start,omitzero"` // of the day or month; zero for ten minutes, and where it is for ever
	End    time.Time `json:"end,omitzero"`   // when it begins from nothing
	Source string    `json:"source"`         // where it was set, for people
	Shadow bool      `json:"shadow,omitempty"`
	// Stopped are the classes of which something waits that costs more than what
	// the cap leaves to them now: they go on when it is raised, or at End.
	Stopped []string `json:"stopped,omitempty"`
	// Next is what one call of those may cost, in micro-dollars; of several the least.
	Next int64 `json:"next,omitempty"`
}

// IsCap tells a cap of ours, of a day or month, from the provider's ten minutes.
func (c CapState) IsCap() bool { return c.isCap() }

// Caps gives the money limits of all lanes, and of the nodes that were seen, each
// node's together; lanes come last.
func (r *Redis) Caps(ctx context.Context) ([]CapState, error) {
	return caps(ctx, r)
}

// Caps is Redis.Caps on the Model's clock.
func (m *Model) Caps(ctx context.Context) ([]CapState, error) { return caps(ctx, m) }

// CapsOn is Caps of one lane and some nodes.
func (r *Redis) CapsOn(ctx context.Context, l Lane, nodes []string) ([]CapState, error) {
	c, err := r.Effective(ctx)
	if err != nil || !c.moneyed() {
		return nil, err
	}
	return capsOf(ctx, r, c, []Lane{l}, nodes)
}

// capped is what the states of caps are made from.
type capped interface {
	questioned
	Nodes(context.Context) ([]string, error)
	States(context.Context, []Lane) ([]LaneState, error)
	NodeStates(context.Context, []string) ([]NodeState, error)
	holding(context.Context, []Lane) (map[string]int64, error)
	began(time.Time, Window) time.Time
}

func caps(ctx context.Context, l capped) ([]CapState, error) {
	c, err := l.Effective(ctx)
	if err != nil || !c.moneyed() {
		return nil, err
	}
	var lanes []Lane
	for _, x := range c.Lanes {
		lanes = append(lanes, x.Lane)
	}
	nodes, err := l.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return capsOf(ctx, l, c, lanes, nodes)
}

func capsOf(ctx context.Context, l capped, c Config, lanes []Lane, nodes []string) ([]CapState, error) {
	states, err := l.States(ctx, lanes)
	if err != nil {
		return nil, err
	}
	held, err := l.holding(ctx, lanes)
	if err != nil {
		return nil, err
	}
	of, err := l.NodeStates(ctx, slices.DeleteFunc(slices.Clone(nodes), func(node string) bool {
		has, ok := c.limitsOf(node)
		return !ok || wildcard(node) || !has.moneyed()
	}))
	if err != nil {
		return nil, err
	}
	k := capReader{l: l, conf: c, held: held}
	for _, s := range states {
		k.lane(s)
	}
	for _, s := range of {
		list, rooms := k.states(s.Node, s.Limits, s.At)
		k.nodes, k.rooms = append(k.nodes, list...), append(k.rooms, rooms...)
	}
	k.stops()
	return append(k.nodes, k.lanes...), nil
}

// moneyed tells whether anything has a money limit.
func (c Config) moneyed() bool {
	for _, l := range c.Nodes {
		if l.moneyed() {
			return true
		}
	}
	return slices.ContainsFunc(c.Lanes, func(l LaneConfig) bool { return l.Limits.moneyed() })
}

func (l Limits) moneyed() bool { return l.USDPer10m+l.USDPerDay+l.USDPerMonth+l.USDTotal > 0 }

// capReader gathers the states of one look.
type capReader struct {
	l            capped
	conf         Config
	held         map[string]int64 // by node, and by lane
	waits        []wants
	lanes, nodes []CapState
	rooms        []map[string]int64 // of nodes, then lanes: what each class may still use
	laneRooms    []map[string]int64
}

// wants is what a call that waits in a line costs, and the nodes on its way.
type wants struct {
	class string
	cost  int64
	nodes []string
}

func (k *capReader) lane(s LaneState) {
	l := s.Lane
	for _, f := range s.Leaves {
		if f.Waiting > 0 && f.Booked[MicroUSD] > 0 {
			on := append(k.conf.nodesOf(ParseLeaf(f.Leaf), ""), l.String())
			k.waits = append(k.waits, wants{f.Class, f.Booked[MicroUSD] / f.Waiting, on})
		}
	}
	list, rooms := k.states(l.String(), s.Limits, s.At)
	k.lanes, k.laneRooms = append(k.lanes, list...), append(k.laneRooms, rooms...)
}

func (k *capReader) states(node string, limits []LimitState, at time.Time) (list []CapState, rooms []map[string]int64) {
	for _, l := range limits {
		if l.Unit != MicroUSD || l.Amount >= Unlimited {
			continue
		}
		s := CapState{Node: node, Limit: l.Limit, Name: l.Name, Used: l.Used, Held: min(k.held[node], l.Used), Source: l.Source, Shadow: l.Shadow}
		if l.isCap() && l.Window != Ever {
			s.Start, s.End = k.l.began(at, l.Window), l.NextFree
		}
		room := map[string]int64{}
		for _, c := range l.Classes {
			room[c.Class] = c.Room
			s.Soft = max(s.Soft, c.Soft)
		}
		list, rooms = append(list, s), append(rooms, room)
	}
	return list, rooms
}

// stops finds what waits for money: calls of a line that cost more than a cap on
// their way leaves to their class.
func (k *capReader) stops() {
	mark := func(list []CapState, rooms []map[string]int64) {
		for i := range list {
			for _, w := range k.waits {
				if list[i].isCap() && !list[i].Shadow && slices.Contains(w.nodes, list[i].Node) && w.cost > rooms[i][w.class] {
					list[i].stop(w)
				}
			}
			slices.Sort(list[i].Stopped)
		}
	}
	mark(k.nodes, k.rooms)
	mark(k.lanes, k.laneRooms)
}

func (c *CapState) stop(w wants) {
	if !slices.Contains(c.Stopped, w.class) {
		c.Stopped = append(c.Stopped, w.class)
	}
	if c.Next == 0 || w.cost < c.Next {
		c.Next = w.cost
	}
}

// String names the limit and whose it is: "usd_per_month of tenant/acme".
func (c CapState) String() string {
	if strings.Count(c.Node, "/") == 3 {
		l, _ := ParseLane(c.Node)
		return c.Name + " of " + cmp.Or(l.Model, c.Node)
	}
	return c.Name + " of " + c.Node
}
