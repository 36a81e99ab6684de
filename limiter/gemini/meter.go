package gemini

import (
	"cmp"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// MeterOptions has the rarer settings of a Meter; zero fields take the defaults.
type MeterOptions struct {
	Process  string           // names this process among those that count ("gateway host-a 4711"); default "process"
	Every    time.Duration    // between flushes; default 1 s
	Timeout  time.Duration    // of one script; default 2 s
	Tenants  int              // that are told apart per process and hour; default 2,000, the rest are OtherFeature
	Features int              // that are told apart per process and hour; default 200, the rest are OtherFeature
	Pending  int              // counts kept apart while Redis is away; default 10,000, beyond that they are merged
	Zone     *time.Location   // of the days that money is counted by; nil means America/Los_Angeles
	Logger   *slog.Logger     // nil means none
	Now      func() time.Time // how old a count is at its flush; nil means time.Now. Redis's clock says when that was

	redisNow func() time.Time // replaces Redis's clock in tests
	ramps    bool             // counts what ramps decided, and nothing else
}

func (o MeterOptions) filled() MeterOptions {
	o.Process = cmp.Or(o.Process, "process")
	o.Every, o.Timeout = cmp.Or(o.Every, time.Second), cmp.Or(o.Timeout, 2*time.Second)
	if o.Zone == nil {
		o.Zone = pacific
	}
	o.Features, o.Pending, o.Tenants = cmp.Or(o.Features, 200), cmp.Or(o.Pending, 10_000), cmp.Or(o.Tenants, fullTenants)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Meter counts calls by model, class and feature, in buckets of time that all
// processes of a scope share in Redis (ReadMeter), and what they cost by the day,
// also by tenant and run (ReadMoney), and what each tenant used (ReadUse). Put only counts in memory;
// what was counted goes out once a second. With Redis away it is kept, ever more
// coarsely, and sent later with its own time; nothing is counted twice.
type Meter struct {
	rdb     redis.UniversalClient
	scope   limiter.Scope
	keys    meterKeys
	opts    MeterOptions
	process string        // opts.Process and a mark of this Meter's own
	stop    chan struct{} // closed by Close
	done    chan struct{} // closed when the flusher has ended

	mu         sync.Mutex
	closed     bool                        // guarded by mu
	names      names                       // guarded by mu
	cells      map[cellKey]*UsageSample    // counted and not yet taken by the flusher; guarded by mu
	rejections map[rejectionKey]*Rejection // guarded by mu
	money      map[moneyKey]*moneyCount    // guarded by mu
	use        map[useKey]*UseCounts       // guarded by mu

	// Of the flusher's goroutine; after done is closed, of Close's caller.
	seq     int64
	sending *parcel // what was sent and not acknowledged: it must go again as it is
	failed  error   // of the last flush
	trouble tally
}

// cellKey is a count's place: whose, and the second in which it was counted.
type cellKey struct {
	second int64 // of opts.Now
	kind   cellKind
	usageKey
}

// NewMeter counts the calls of one scope; records of others are passed over. It
// starts the flusher, which Close ends.
func NewMeter(rdb redis.UniversalClient, scope limiter.Scope, opts MeterOptions) *Meter {
	m := &Meter{
		rdb: rdb, scope: scope, keys: newMeterKeys(scope), opts: opts.filled(),
		stop: make(chan struct{}), done: make(chan struct{}),
		cells: map[cellKey]*UsageSample{}, rejections: map[rejectionKey]*Rejection{}, money: map[moneyKey]*moneyCount{}, use: map[useKey]*UseCounts{},
	}
	if m.opts.ramps {
		m.keys = meterKeysAt(rampMeterRoot(scope))
	}
	m.process = label(m.opts.Process, 80) + "#" + newID()[:8]
	m.names.most, m.names.mostTenants = m.opts.Features, m.opts.Tenants
	go m.run()
	return m
}

// Put counts a call. It never waits for Redis.
func (m *Meter) Put(r Record) {
	if !m.counts(r) {
		return
	}
	if m.opts.ramps {
		r = r.ofRamp()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	now := m.opts.Now()
	key := m.names.key(r, now)
	m.cell(cellKey{now.Unix(), byFeature, key}).count(r)
	if !m.opts.ramps {
		m.countTenant(r, key, now)
		m.noteRejection(r, key, now)
		m.noteMoney(r, key)
		m.noteUse(r, key)
	}
}

// counts says whether a call is one for this meter.
func (m *Meter) counts(r Record) bool {
	if !r.Lent && !rules[r.Method].tokens || r.Scope != "" && r.Scope != m.scope.String() {
		return false
	}
	return !m.opts.ramps || r.RampSide != ""
}

// countTenant counts a call by its tenant too, without durations: what is not a
// tenant's is the rest of what is counted by feature.
func (m *Meter) countTenant(r Record, key usageKey, now time.Time) {
	if r.Path.Tenant == "" {
		return
	}
	key.feature = known(m.names.tenants, label(r.Path.Tenant, 64), m.names.mostTenants)
	c := m.cell(cellKey{now.Unix(), byTenant, key})
	c.count(r)
	c.Latency, c.FirstToken, c.Waited = Histogram{}, Histogram{}, Histogram{}
}

func (m *Meter) cell(k cellKey) *UsageSample {
	c, ok := m.cells[k]
	if ok {
		return c
	}
	if len(m.cells) >= m.opts.Pending {
		m.coarsen()
	}
	c = &UsageSample{}
	m.cells[k] = c
	return c
}

// coarsen makes room by merging what waits: to five seconds, a minute, an hour,
// and at last all features of a class in an hour to one.
func (m *Meter) coarsen() {
	for _, seconds := range []int64{5, 60, 3600, 0} {
		merged := map[cellKey]*UsageSample{}
		for k, c := range m.cells {
			if seconds == 0 {
				k.feature = OtherFeature
			} else {
				k.second -= k.second % seconds
			}
			if to, ok := merged[k]; ok {
				to.Merge(*c)
			} else {
				merged[k] = c
			}
		}
		if m.cells = merged; len(merged) <= m.opts.Pending/2 {
			return
		}
	}
}

// Close sends what is left and ends the flusher. The error says what was lost.
func (m *Meter) Close() error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	m.mu.Unlock()
	if first {
		close(m.stop)
	}
	<-m.done
	if m.failed != nil {
		return fmt.Errorf("usage of the last moments is not counted: %w", m.failed)
	}
	return nil
}

// run is the flusher. At its end it sends what is left until that fails: a Redis
// that is away must not hold up the end of a process.
func (m *Meter) run() {
	defer close(m.done)
	tick := time.NewTicker(m.opts.Every)
	defer tick.Stop()
	for beat := 0; ; beat++ {
		select {
		case <-m.stop:
			for m.flush(false); m.failed == nil && m.pending() > 0; m.flush(false) {
			}
			return
		case <-tick.C:
			m.flush(beat%5 == 0 && !m.opts.ramps)
		}
	}
}

// flushParcels bounds one flush, so that what an outage has left goes out over
// half a minute instead of holding Redis.
const flushParcels = 20

// flush sends what was counted, and with alive set a sign of life when that is
// nothing.
func (m *Meter) flush(alive bool) {
	m.failed = nil
	for range flushParcels {
		if m.sending == nil {
			m.sending = m.take(alive)
		}
		if m.sending == nil {
			return
		}
		if m.failed = m.send(m.sending); m.failed != nil {
			m.complain()
			return
		}
		m.sending, alive = nil, false
	}
}

// complain logs what keeps Redis from counting, once a minute.
func (m *Meter) complain() {
	if n, due := m.trouble.note(m.opts.Now()); due {
		m.opts.Logger.Warn("usage cannot be counted in Redis now; it is kept", "flushes", n, "pending", m.pending(), "error", m.failed)
	}
}

func (m *Meter) pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.cells) + len(m.rejections) + len(m.money) + len(m.use)
}

// names bounds how many names become fields, since callers may choose them.
type names struct {
	most        int // features an hour
	mostTenants int

	hour     int64
	tenants  map[string]bool
	features map[string]bool
	lanes    map[string]bool
	classes  map[string]bool
}

// Lanes and classes are configured, so these are never met but by mistake.
const mostLanes, mostClasses = 100, 30

func (n *names) key(r Record, now time.Time) usageKey {
	if hour := now.Unix() / 3600; hour != n.hour || n.features == nil {
		n.hour = hour
		n.features, n.lanes, n.classes, n.tenants = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	return usageKey{
		known(n.lanes, label(laneKey(r.Lane), 200), mostLanes),
		known(n.classes, label(r.Class, 64), mostClasses),
		known(n.features, label(r.Feature, 64), n.most),
	}
}

// known gives the name back while there is room among the known ones.
func known(seen map[string]bool, name string, most int) string {
	if !seen[name] {
		if len(seen) >= most {
			return OtherFeature
		}
		seen[name] = true
	}
	return name
}
