package limiter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Model is the rules of the scripts in plain Go, on a clock that is given: for
// simulations, for tests, and to be compared with the scripts step by step. Its
// functions bear the names of the Lua functions and follow them line by line.
// It is safe for concurrent use; nothing outlives it.
type Model struct {
	scope Scope

	mu        sync.Mutex
	now       time.Time
	cal       calendar
	settings  settings
	config    Config // that is enforced
	weights   map[string]int64
	rev       int64               // grows when weights change
	pauses    map[string]Pause    // by target and reason
	throttles map[string]Throttle // by class and reason
	events    []Event             // the oldest first
	breakers  map[string]*breaker // by lane; "" is the project's
	keys      map[string][2]int64 // by hash of a provider's key: when it worked and was refused last
	lanes     map[string]*modelLane
	nodes     map[string]*modelLane // those with limits that were seen
}

// NewModel makes a Model whose clock stands at start.
func NewModel(scope Scope, start time.Time) *Model {
	return &Model{scope: scope, now: start, pauses: map[string]Pause{}, throttles: map[string]Throttle{},
		breakers: map[string]*breaker{}, keys: map[string][2]int64{},
		lanes: map[string]*modelLane{}, nodes: map[string]*modelLane{}}
}

// Now is the Model's clock, in the milliseconds that the rules see.
func (m *Model) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// SetNow sets the clock; it may also be set back.
func (m *Model) SetNow(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t
}

// Advance moves the clock on.
func (m *Model) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// modelLane is one ledger: what the hash of a lane, and the keys beside it, or the
// hash of a node hold.
type modelLane struct {
	plan    plan
	m       *Model
	closed  bool  // its limits were taken away
	times   int64 // that a node was configured
	from    int64 // of a node by pattern: the pattern's times that it has its limits from
	slowed  bool  // throttles held when it was last looked at
	header  header
	squares []float64 // by dim
	came    []int64   // by dim: when the limit came; 0 with the ledger, < 0 by a clock that was set back since
	was     int64     // where the clock stood when it was set back
	use     [][]int64 // by dim and class
	peaks   [][]int64 // by dim and class, times 16
	classes []*modelClass
	reason  Reason // of the cool-down
	detail  string
	half    []*breaker // that the request at hand may look at
	learned learned
	lowered []lowered // by feedback
	inside  []int64   // by dim: the limit less outside, of those that are lowered; nil when none is
	short   [2]int64  // second and number of the latest calls that failed for want of capacity
	lows    []int64   // fl of lua/base.lua: their end, then by dim and class

	permits map[string]*modelPermit
	leases  map[string]int64 // "p"id and "t"ticket → ms
	tickets map[string]*modelTicket
	leaves  map[string]*modelLeaf // by class|leaf
	names   map[int64]string      // leaf id → class|leaf
	lastID  int64
	callers []*modelCaller // who wait in place, by class in the order in which they come
	wants   map[awaited]Amounts
	wanting int64      // when wants was written
	host    *modelLane // of a node: the lane that the request at hand is for

	shadowed map[Limit]int64 // how often each limit would have refused, by unit and window

	days [8]int64 // starts of days and months around now
}

// modelClass is a class's part of a lane.
type modelClass struct {
	Class
	n       *modelLane
	index   int
	reserve []int64          // dim*classes + other
	largest []int64          // by dim: the largest request that could ever fit
	open    []int64          // by dim: use in the slot that is open now
	pace    []int64          // by dim: the moment, in microseconds, at which an even use would be where the class is
	slots   [2][ring][]int64 // by window and slot: by dim
	line    *modelLine       // nil while nobody waits
	slow    []Throttle       // that hold now
	least   int64            // the least share of them, in ppm
	tells   string           // the throttle with that share
}

type modelPermit struct {
	class   string
	granted int64
	expires int64
	epoch   int64
	lapsed  bool
	amounts Amounts
	nodes   []string
	epochs  []int64 // of the nodes
}

// enter gives the lane at the clock's time, and that time; nil when unknown.
func (m *Model) enter(l Lane) (*modelLane, int64, error) {
	if l.Scope() != m.scope {
		return nil, 0, fmt.Errorf("limiter: lane %s is not of scope %s", l, m.scope)
	}
	t := m.now.UnixMilli()
	n := m.lanes[l.String()]
	if n == nil || n.closed {
		return nil, t, ErrUnknownLane
	}
	n.days = m.cal.at(m.now).at
	t = n.moveTo(t)
	m.bind(n, t)
	return n, t, nil
}

// moveTo is what open does in lua/base.lua: the clock never runs backwards, but
// follows one that was set back by more than five seconds.
func (n *modelLane) moveTo(t int64) int64 {
	last := n.header.last
	switch {
	case t < last-jump:
		n.rebase(t)
		n.calendar(t)
	case t < last:
		t = last
	}
	n.header.last = t
	n.roll(t)
	return t
}

// Acquire is Redis.Acquire on the Model's clock.
func (m *Model) Acquire(_ context.Context, q Request) (*Permit, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, t, err := m.enter(q.Lane)
	if errors.Is(err, ErrUnknownLane) {
		return nil, unknownLane(q, t)
	}
	if err != nil {
		return nil, err
	}
	a := m.decide(n, q, t)
	a.now = t
	p, err := a.result(q)
	return p, m.config.complete(q, err)
}

// Settle is Redis.Settle on the Model's clock.
func (m *Model) Settle(_ context.Context, s Settlement) error {
	x, err := s.entry()
	if err != nil {
		return err
	}
	_, err = m.settle(s.Lane, x)
	return err
}

// Extend is Redis.Extend on the Model's clock.
func (m *Model) Extend(_ context.Context, l Lane, id string, lease time.Duration) error {
	code, err := m.settle(l, settlement{id: id, what: "extend", lease: lease})
	if err != nil {
		return err
	}
	return extended(code)
}

// Lanes gives the lanes that are configured.
func (m *Model) Lanes(context.Context) ([]LaneConfig, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.config.Lanes, nil
}
