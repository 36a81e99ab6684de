package limiter

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// LaneState is what a lane looks like at one moment.
type LaneState struct {
	Lane     Lane         `json:"lane"`
	At       time.Time    `json:"at"` // the deciding clock
	Limits   []LimitState `json:"limits"`
	Leaves   []LeafState  `json:"leaves"`    // lines in which jobs wait, or were lately released
	InPlace  []InPlace    `json:"in_place"`  // callers who wait for their permit, in order of arrival
	InFlight int64        `json:"in_flight"` // permits that are open, lapsed ones awaiting a late settle included
	Cooldown *Cooldown    `json:"cooldown,omitempty"`
	// Breakers that are not closed, of the lane and of the project.
	Breakers  []BreakerState `json:"breakers,omitempty"`
	Pauses    []Pause        `json:"pauses"` // that may close something here
	Throttles []Throttle     `json:"throttles"`
}

// LimitState is one limit of a lane.
type LimitState struct {
	Limit
	Name      string     `json:"name"`               // shorthand
	Effective int64      `json:"effective"`          // what is enforced: the limit less Outside and Margin
	Outside   int64      `json:"outside"`            // left for calls that bypass the gate
	Margin    int64      `json:"margin"`             // kept for calls that settle above their estimate
	Used      int64      `json:"used"`               // by all classes
	Booked    int64      `json:"booked"`             // by what waits
	Released  int64      `json:"released"`           // by what was pulled and did not come yet
	NextFree  time.Time  `json:"next_free"`          // when the oldest use leaves the window; zero if nothing does
	Source    string     `json:"source"`             // where it was set, for people: "nightshift.yaml", "quota set by ada, 22:10"
	Shadow    bool       `json:"shadow,omitempty"`   // it decides and reports, and refuses nothing
	Shadowed  int64      `json:"shadowed,omitempty"` // how often it would have refused since it is there
	Classes   []ClassUse `json:"classes"`
	Lowered   *Lowering  `json:"lowered,omitempty"` // by feedback of the provider; nil when it is not
}

// NodeState is what a node of a path looks like at one moment.
type NodeState struct {
	Node   string       `json:"node"`
	From   string       `json:"from"` // where its limits are configured: itself, or its kind's pattern
	At     time.Time    `json:"at"`
	Limits []LimitState `json:"limits"`
}

// ClassUse is a class's part of a limit.
type ClassUse struct {
	Class     string `json:"class"`
	Used      int64  `json:"used"`
	AheadMS   int64  `json:"ahead_ms"`       // how far a smoothed class is before its even pace
	Protected int64  `json:"protected"`      // what the classes below leave to it now
	Lent      int64  `json:"lent"`           // of its guarantee, what the classes below may use now
	Room      int64  `json:"room"`           // the most it may still take now
	Floor     int64  `json:"floor"`          // always protected for it
	Forecast  int64  `json:"forecast"`       // what it is expected to need, from its largest use of late; days and months have none
	Cap       int64  `json:"cap"`            // the most it may use now, by its cap and throttles; 0: none
	Soft      int64  `json:"soft,omitempty"` // of a cap in money: what all may use for this class to go on; 0: all of it
	Why       string `json:"why"`            // where Protected and Cap come from, for people; "" when there is nothing to say
}

// LeafState is the line of a leaf.
type LeafState struct {
	Class  string `json:"class"`
	Leaf   string `json:"leaf"`
	Weight int64  `json:"weight"`
	// SharePPM is its part of what all that wait in the class get: level by level,
	// by weights. Worked out by the last pull.
	SharePPM int64   `json:"share_ppm"`
	Waiting  int64   `json:"waiting"`
	Booked   Amounts `json:"booked"`
}

// InPlace is a caller who waits for its permit where it is (Request.Wait).
type InPlace struct {
	ID      string    `json:"id"` // of its request
	Class   string    `json:"class"`
	Leaf    string    `json:"leaf"`
	Until   time.Time `json:"until"` // how long it waits
	Node    string    `json:"node"`  // whose rule is against it: "lane", "tenant/acme"; "" for what closes its class alone
	Amounts Amounts   `json:"amounts"`
}

// Cooldown is a rest that the provider asked for.
type Cooldown struct {
	Until  time.Time `json:"until"`
	Reason Reason    `json:"reason"`
	Detail string    `json:"detail,omitempty"`
}

// Broken is the breaker that keeps the lane's calls back, of two the one that is
// looked at later; nil when none does.
func (s LaneState) Broken() *BreakerState {
	var longest *BreakerState
	for i, b := range s.Breakers {
		if longest == nil || b.Next.After(longest.Next) {
			longest = &s.Breakers[i]
		}
	}
	return longest
}

// header are the first numbers of a lane's state, named as in lua/base.lua.
type header struct {
	last, slot, slot10              int64
	day, dayEnd, month, monthEnd    int64
	cool, rebased, pulled, nextPull int64
}

// laneView is a lane as State and Counters read it: written by the script's
// answer and by the Model alike.
type laneView struct {
	now     int64
	plan    plan
	header  header
	margins []float64 // by dim: sum of squares
	use     [][]int64 // by dim and class
	pace    [][]int64 // by dim and class, in microseconds
	reserve [][]int64 // by class, as it sees the others: dim*classes + other
	free    []int64   // by dim: when the oldest use leaves
	booked  Amounts
	out     Amounts
	leaves  []LeafState
	inPlace []InPlace
	permits int64
	peaks   []int64 // dim*classes + class, times 16
	reason  Reason  // of the cool-down
	detail  string
	learned learned
	lows    []int64 // floors that were learned and are in force: dim*classes + class, -1 for none; nil when there are none

	lowered  []lowered
	shadowed []int64 // by dim: how often it would have refused

	lend      string // what know adds
	pauses    []Pause
	throttles []Throttle
	breakers  []BreakerState
}

func (v laneView) state() LaneState {
	s := LaneState{Lane: v.plan.lane, At: time.UnixMilli(v.now), Leaves: v.leaves, InPlace: v.inPlace, InFlight: v.permits,
		Pauses: v.pauses, Throttles: v.throttles}
	slices.SortFunc(s.Leaves, func(a, b LeafState) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Leaf, b.Leaf))
	})
	if v.header.cool > v.now {
		s.Cooldown = &Cooldown{Until: time.UnixMilli(v.header.cool), Reason: v.reason, Detail: v.detail}
	}
	for _, b := range v.breakers {
		if b.Scope == BreakProject || b.Lane == v.plan.lane.String() {
			s.Breakers = append(s.Breakers, b)
		}
	}
	for d := range v.plan.dims {
		s.Limits = append(s.Limits, v.limit(d))
	}
	return s
}

// nodeState is state of a node.
func (v laneView) nodeState(c *Config) NodeState {
	v.lend = "now"
	v.plan.classes = c.nodePlan(v.plan.node).classes
	from := v.plan.node
	if _, own := c.Nodes[from]; !own {
		from = pattern(from)
	}
	s := NodeState{Node: v.plan.node, From: from, At: time.UnixMilli(v.now)}
	for d := range v.plan.dims {
		s.Limits = append(s.Limits, v.limit(d))
	}
	return s
}

func (v laneView) limit(d int) LimitState {
	p := v.plan.dims[d]
	l := LimitState{
		Limit:   Limit{Unit: p.unit, Window: p.window, Amount: p.limit},
		Outside: p.limit - p.inside, Margin: margin(v.margins[d]),
		Booked: v.booked[p.unit], Released: v.out[p.unit], Shadow: p.shadow, Shadowed: v.shadowed[d],
	}
	l.Name = l.Limit.Name()
	l.Effective = p.inside - l.Margin
	if x := v.lowering(p); x != nil {
		l.Outside, l.Lowered = p.limit-x.inside, x.shown(v.now, p.inside)
	}
	for _, u := range v.use[d] {
		l.Used += u
	}
	if v.free[d] > 0 {
		l.NextFree = time.UnixMilli(v.free[d])
	}
	for i := range v.plan.classes {
		l.Classes = append(l.Classes, v.class(d, i, l))
	}
	return l
}

func (v laneView) class(d, i int, l LimitState) ClassUse {
	n := len(v.plan.classes)
	c := ClassUse{Class: v.plan.classes[i].Name, Used: v.use[d][i], AheadMS: max(0, v.pace[d][i]/1000-v.now)}
	if i+1 < n {
		c.Protected = v.reserve[i+1][d*n+i]
		c.Lent = max(0, v.plan.dims[d].shares[i].guarantee-max(c.Protected, c.Used))
	}
	others := int64(0)
	for j, u := range v.use[d] {
		if j != i {
			others += max(u, v.reserve[i][d*n+j])
		}
	}
	most := min(l.Effective, v.plan.dims[d].open(i))
	c.Soft = max(0, v.plan.dims[d].shares[i].soft)
	byTrickle := min(v.reserve[i][d*n+i]-c.Used, most-l.Used)
	c.Room = max(0, most-others-c.Used, byTrickle)
	v.explain(d, i, &c)
	return c
}

// counters are the day's and month's use, for a Snapshot.
func (v laneView) counters() []Counter {
	var out []Counter
	for d, p := range v.plan.dims {
		if !p.window.counted() {
			continue
		}
		start := v.header.day
		switch p.window {
		case Month:
			start = v.header.month
		case Ever:
			start = 0
		}
		for i, c := range v.plan.classes {
			if n := v.use[d][i]; n > 0 {
				out = append(out, Counter{Lane: v.plan.lane, Node: v.plan.node, Class: c.Name, Unit: p.unit, Window: p.window,
					Start: time.UnixMilli(start), Used: n})
			}
		}
	}
	return out
}

// Snapshot holds what must outlive the shared state: day and month counters, and
// what was set over the configuration.
type Snapshot struct {
	Scope     Scope      `json:"scope"`
	At        time.Time  `json:"at"`
	Counters  []Counter  `json:"counters"`
	Overrides []Override `json:"overrides,omitempty"`
}

// Counter is the use of a class in one day or month.
type Counter struct {
	Lane   Lane      `json:"lane"`           // whose counter it is
	Node   string    `json:"node,omitempty"` // or, where this is set, the node's: "tenant/acme"
	Class  string    `json:"class"`
	Unit   Unit      `json:"unit"`
	Window Window    `json:"window"`
	Start  time.Time `json:"start"` // of the day or month; a later one ignores the counter
	Used   int64     `json:"used"`
}

// margin is z times the root of the sum of squares, z = 1.5.
func margin(squares float64) int64 {
	if squares <= 0 {
		return 0
	}
	return int64(math.Floor(1.5 * math.Sqrt(squares)))
}
