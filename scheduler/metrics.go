package scheduler

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"nightshift/limiter"
	"nightshift/worker"
)

// FleetCollector tells Prometheus what stands in the shared state: limits, lines,
// pauses, breakers, health, runs, spend, processes. Only the scheduler that leads
// tells, so that a sum over processes counts nothing twice; the others say that they
// stand by. All labels are from the configuration, or from closed sets, and beyond
// that "other".
//
// It reads when it is asked, at most once in Keep, however many ask.
type FleetCollector struct {
	Control *Control
	Leads   func() bool   // Scheduler.Leads
	Keep    time.Duration // how long a reading serves; default 5 s
	Timeout time.Duration // of one reading; default 5 s
	Now     func() time.Time

	mu    sync.Mutex // one reading at a time
	read  time.Time  // when last was set
	last  *sheet
	runs  runTally
	fails float64

	models map[string]bool // that have limits, as of the last reading
}

// fleetDescs are the metrics' descriptions; several are filled by one part below.
type fleetDescs struct {
	leader, up, fails, took                                             *prometheus.Desc
	configured, effective, used, booked, protected, lent, lowered       *prometheus.Desc
	waiting, inPlace, inFlight, cooling, breaker, pauses, paused        *prometheus.Desc
	phase, p95, firstToken, refusedRatio, calls, silent                 *prometheus.Desc
	rows, runs, enqueued, ended                                         *prometheus.Desc
	workers, slots, busy, schedulers, capUsed, capLimit, capRatio, soft *prometheus.Desc
	ramps, rampShare                                                    *prometheus.Desc
}

var (
	fleetNames []string // filled with fleet
	fleet      = newFleetDescs()
)

func newFleetDescs() fleetDescs {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		fleetNames = append(fleetNames, "nightshift_"+name)
		return prometheus.NewDesc("nightshift_"+name, help, labels, nil)
	}
	limit := func(name, help string, more ...string) *prometheus.Desc {
		return d("lane_limit_"+name, help+" In the limit's unit: requests, tokens, or millionths of a US dollar.", append([]string{"model", "limit"}, more...)...)
	}
	return fleetDescs{
		leader: d("scheduler_leader", "1 in the scheduler that leads, 0 in one that stands by. Only the leader tells what follows of the fleet."),
		up:     d("redis_up", "1 when the shared state could be read."),
		fails:  d("fleet_read_failures_total", "Readings of the shared state that failed, in this process."),
		took:   d("fleet_read_seconds", "How long the last reading of the shared state took."),

		configured: limit("configured", "What a lane's limit is."),
		effective:  limit("effective", "What is enforced of a lane's limit: less what is left to calls that bypass the gate, and what errors of estimates need."),
		used:       limit("used", "What is used of a lane's limit, by class.", "class"),
		booked:     limit("booked", "What those who wait in line would take of a lane's limit."),
		protected:  limit("protected", "What the classes below leave to a class of a lane's limit now.", "class"),
		lent:       limit("lent", "What the classes below may use now of a class's guarantee.", "class"),
		lowered:    d("lane_limit_lowered", "1 while answers of the provider keep a limit below what is configured.", "model", "limit"),

		waiting:  d("lane_waiting", "Rows that have a place in a lane's line.", "model", "class"),
		inPlace:  d("lane_waiting_in_place", "Callers that wait for their permit where they are.", "model", "class"),
		inFlight: d("lane_permits_in_flight", "Permits that are open.", "model"),
		cooling:  d("lane_cooldown_seconds", "How long a lane still rests, since the provider asked for it.", "model"),
		breaker:  d("breaker_open", "1 while calls are held back that could not succeed, by what is closed.", "scope", "model", "reason"),
		pauses:   d("pauses", "Pauses in force.", "target", "reason"),
		paused:   d("class_paused_seconds", "How long a class has been paused, by reason.", "class", "reason"),

		phase:        d("health_phase", "1 for the phase of the health monitor that is in force.", "phase"),
		p95:          d("health_p95_seconds", "95th percentile of unary calls of a watched class in the last look: the wait for the permit and the call.", "class"),
		firstToken:   d("health_first_token_p95_seconds", "95th percentile of the time to the first token of a watched class's streams in the last look.", "class"),
		refusedRatio: d("health_refused_ratio", "Part of a watched class's calls that the provider or the limiter refused in the last look.", "class"),
		calls:        d("health_calls", "Calls of a watched class in the last look.", "class"),
		silent:       d("health_data_age_seconds", "How long ago a call of a watched class was last seen."),

		rows:     d("rows", "Rows of all runs that are kept, by state.", "class", "state"),
		runs:     d("runs", "Runs that are kept: with rows to do, or ended.", "state"),
		enqueued: d("rows_enqueued_total", "Rows that were added to runs since this process watches.", "class"),
		ended:    d("rows_ended_total", "Rows that ended since this process watches, by what they ended as.", "class", "state"),

		workers:    d("workers", "Worker processes that were heard of in the last ten seconds.", "state"),
		slots:      d("worker_fleet_slots", "Calls that all workers can make at once.", "model"),
		busy:       d("worker_fleet_slots_busy", "Calls that all workers make now.", "model"),
		schedulers: d("schedulers", "Scheduler processes that were heard of in the last ten seconds.", "role"),
		capUsed:    d("cap_used_usd", "What is spent and held of a money limit.", "node", "cap"),
		capLimit:   d("cap_limit_usd", "What a money limit is.", "node", "cap"),
		capRatio:   d("cap_used_ratio", "What part of a money limit is spent and held; of nodes beyond those that are told apart the largest.", "node", "cap"),
		soft:       d("cap_stopped_classes", "Classes that wait since a money limit leaves them nothing.", "node", "cap"),

		ramps:     d("ramps", "Moves of calls to another model, by how they stand.", "state"),
		rampShare: d("ramp_share", "What part of its callers a ramp has moved; of the first twenty ramps, those that go on first.", "scope", "from", "to"),
	}
}

// Describe implements prometheus.Collector. What there is follows from the state, so
// that nothing is promised.
func (c *FleetCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *FleetCollector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	if c.last == nil || now().Sub(c.read) >= cmp.Or(c.Keep, 5*time.Second) {
		c.last, c.read = c.look(now), now()
	}
	c.last.send(to)
}

// look reads the shared state. A part that cannot be read leaves the others.
func (c *FleetCollector) look(now func() time.Time) *sheet {
	s, begun := newSheet(), now()
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(c.Timeout, 5*time.Second))
	defer cancel()
	if !c.Leads() {
		s.add(fleet.leader, 0)
		s.add(fleet.up, flag(c.Control.Redis.Ping(ctx).Err() == nil))
		return s
	}
	s.add(fleet.leader, 1)
	up := 1.0
	for _, part := range []func(context.Context, *sheet) error{c.lanes, c.holds, c.health, c.rows, c.processes, c.caps, c.ramps} {
		if err := part(ctx, s); err != nil {
			up = 0
			c.fails++
			c.Control.log().Warn("metrics are incomplete: the shared state cannot be read", "err", err)
			break
		}
	}
	s.add(fleet.up, up)
	s.count(fleet.fails, c.fails)
	s.add(fleet.took, now().Sub(begun).Seconds())
	return s
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// class is the label of a class: one of the configuration's.
func (c *FleetCollector) class(name string) string {
	if slices.ContainsFunc(c.Control.Classes, func(k limiter.Class) bool { return k.Name == name }) {
		return name
	}
	return otherLabel
}

// model is the label of a model: one that has limits. Lanes of others exist where a
// worker or a pause names them.
func (c *FleetCollector) model(name string) string {
	if c.models[name] {
		return name
	}
	return otherLabel
}

const otherLabel = "other"

// lanes tells of those that are configured.
func (c *FleetCollector) lanes(ctx context.Context, s *sheet) error {
	states, err := c.Control.laneStates(ctx)
	if err != nil {
		return err
	}
	c.models = map[string]bool{}
	for _, l := range states {
		c.models[l.Lane.Model] = true
		c.lane(s, l)
	}
	return nil
}

func (c *FleetCollector) lane(s *sheet, l limiter.LaneState) {
	model := l.Lane.Model
	for _, limit := range l.Limits {
		c.limit(s, model, limit)
	}
	for _, k := range c.Control.Classes { // a line that is empty is 0 and not absent
		s.add(fleet.waiting, 0, model, k.Name)
		s.add(fleet.inPlace, 0, model, k.Name)
	}
	for _, leaf := range l.Leaves {
		s.add(fleet.waiting, float64(leaf.Waiting), model, c.class(leaf.Class))
	}
	for _, w := range l.InPlace {
		s.add(fleet.inPlace, 1, model, c.class(w.Class))
	}
	s.add(fleet.inFlight, float64(l.InFlight), model)
	left := 0.0
	if l.Cooldown != nil {
		left = max(0, l.Cooldown.Until.Sub(l.At).Seconds())
	}
	s.most(fleet.cooling, left, model)
}

func (c *FleetCollector) limit(s *sheet, model string, l limiter.LimitState) {
	s.add(fleet.configured, float64(l.Amount), model, l.Name)
	s.add(fleet.effective, float64(l.Effective), model, l.Name)
	s.add(fleet.booked, float64(l.Booked), model, l.Name)
	s.most(fleet.lowered, flag(l.Lowered != nil), model, l.Name)
	for _, k := range l.Classes {
		class := c.class(k.Class)
		s.add(fleet.used, float64(k.Used), model, l.Name, class)
		s.add(fleet.protected, float64(k.Protected), model, l.Name, class)
		s.add(fleet.lent, float64(k.Lent), model, l.Name, class)
	}
}

// processes tells who is there.
func (c *FleetCollector) processes(ctx context.Context, s *sheet) error {
	workers, err := worker.Fleet(ctx, c.Control.Redis)
	if err != nil {
		return err
	}
	s.add(fleet.workers, 0, "serving")
	s.add(fleet.workers, 0, "draining")
	for _, w := range workers {
		c.worker(s, w)
	}
	members, err := c.Control.Members(ctx)
	s.add(fleet.schedulers, 0, "leader")
	s.add(fleet.schedulers, 0, "standby")
	for _, m := range members {
		role := "standby"
		if m.Fence > 0 {
			role = "leader"
		}
		s.add(fleet.schedulers, 1, role)
	}
	return err
}

// worker counts one that serves this project.
func (c *FleetCollector) worker(s *sheet, w worker.WorkerInfo) {
	if w.Project != "" && w.Project != c.Control.Scope.Project {
		return
	}
	state := "serving"
	if w.Draining {
		state = "draining"
	}
	s.add(fleet.workers, 1, state)
	for _, l := range w.Lanes {
		if lane, err := limiter.ParseLane(l.Lane); err == nil && c.Control.Scope == lane.Scope() {
			s.add(fleet.slots, float64(l.Slots), c.model(lane.Model))
			s.add(fleet.busy, float64(l.Busy), c.model(lane.Model))
		}
	}
}

// FleetMetricNames are the names of all that a FleetCollector can tell.
func FleetMetricNames() []string { return slices.Clone(fleetNames) }
