package limiter

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Weights of the priorities where the configuration has none.
var priorityWeights = map[Priority]int64{High: 4, Normal: 2, Low: 1}

// PriorityWeight is a priority's weight where the configuration has none.
func PriorityWeight(p Priority) int64 { return priorityWeights[p] }

// weights are c.Weights with the priorities' defaults.
func (c Config) weights() map[string]int64 {
	w := map[string]int64{}
	for p, n := range priorityWeights {
		w["priority/"+string(p)] = n
	}
	maps.Copy(w, c.Weights)
	return w
}

// Configure writes limits, classes and weights for all processes of the scope.
// What was used stays used; a lane that is no longer named is unknown from now
// on. The error is a *ConfigError when the configuration itself is wrong.
func (r *Redis) Configure(ctx context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Scope != r.scope {
		return wrong("scope", "%s; this limiter is for %s", c.Scope, r.scope)
	}
	for range patience {
		done, err := r.configure(ctx, c, nil)
		if err != nil || done {
			return err
		}
	}
	return errBusy
}

// configure makes one try; false when an override came between. lost are
// overrides for a scope that has none.
func (r *Redis) configure(ctx context.Context, c Config, lost []Override) (bool, error) {
	s, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	before := s
	if s.over == "" && len(lost) > 0 {
		s.overrides, s.over = lost, jsonOf(lost)
	}
	next, err := s.configured(c)
	if err != nil {
		return false, err
	}
	done, err := r.write(ctx, before, &next, "*")
	if err != nil || !done {
		return false, err
	}
	defer r.note(ctx, changes(before.file, c))
	if err := r.enforce(ctx, before.effective, next); err != nil {
		return true, err
	}
	_, err = r.read(ctx) // notices the generation
	return true, err
}

// enforce gives every lane and node the limits of a configuration.
func (r *Redis) enforce(ctx context.Context, before Config, s settings) error {
	c := s.effective
	for _, l := range c.Lanes {
		if err := r.shape(ctx, c.lanePlan(l), s.rev); err != nil {
			return err
		}
	}
	for _, node := range slices.Sorted(maps.Keys(c.Nodes)) {
		if err := r.shape(ctx, c.nodePlan(node), s.rev); err != nil {
			return err
		}
	}
	return r.retire(ctx, before, s)
}

// shape gives a lane or node its limits; a plan without any takes them away.
func (r *Redis) shape(ctx context.Context, p plan, rev int64) error {
	keys := r.keys.lane(p.lane)
	if p.node != "" {
		keys = r.keys.node(p.node)
	}
	var cfg, cfg2, names string
	if len(p.dims) > 0 {
		cfg, cfg2, names = p.fields()
	}
	_, err := r.call(ctx, configureScript(), p.lane, keys, cfg, cfg2, names, p.node, p.leasts(), rev)
	return err
}

// retire closes the lanes and nodes that the new configuration does not name.
func (r *Redis) retire(ctx context.Context, old Config, s settings) error {
	c := s.effective
	for _, l := range old.Lanes {
		if c.laneAt(l.Lane.String()) >= 0 {
			continue
		}
		if err := r.shape(ctx, plan{lane: l.Lane}, s.rev); err != nil {
			return err
		}
	}
	for node := range old.Nodes {
		if _, ok := c.Nodes[node]; ok {
			continue
		}
		if err := r.shape(ctx, plan{lane: c.laneOf(node), node: node}, s.rev); err != nil {
			return err
		}
	}
	return nil
}

// write stores settings and gives them their revision, unless others were stored since before was read; text is
// the configuration that must be there, "*" any.
func (r *Redis) write(ctx context.Context, before settings, s *settings, text string) (bool, error) {
	args := []any{SchemaVersion, rand.Text(), s.text, s.over, text, before.over, jsonOf(s.effective.weights())}
	got, err := scopeScript().Run(ctx, r.rdb, r.keys.scope, args...).Slice()
	if err != nil {
		return false, fmt.Errorf("limiter: %w", err)
	}
	switch {
	case len(got) == 2 && got[0] == int64(-1):
		newer, _ := got[1].(int64)
		return false, schemaError(newer)
	case len(got) != 3:
		return false, nil
	}
	s.rev, err = number(got[2])
	r.keep(*s)
	return true, err
}

// note notes what was changed. The limits are in force by then, so an event that
// is lost is only logged.
func (r *Redis) note(ctx context.Context, events []Event) {
	if len(events) == 0 {
		return
	}
	now, err := r.redisNow(ctx)
	if err != nil {
		r.log.Warn("a change of limits is not noted", "error", err)
		return
	}
	recent, err := r.Events(ctx, now.Add(-disagreement), 0)
	for _, e := range events {
		if err == nil {
			err = r.Note(ctx, e.against(recent))
		}
	}
	if err != nil {
		r.log.Warn("a change of limits is not noted", "error", err)
	}
}

func schemaError(stored int64) error {
	return fmt.Errorf("limiter: Redis holds schema %d, this program knows %d: use the newer program", stored, SchemaVersion)
}

// load reads the configuration of the scope that is enforced; a scope without one
// gives an empty Config.
func (r *Redis) load(ctx context.Context) (Config, error) {
	s, err := r.read(ctx)
	return s.effective, err
}

// read reads what decides about limits, and keeps it. The result is the caller's own.
func (r *Redis) read(ctx context.Context) (settings, error) {
	s, err := r.look(ctx)
	return s.copied(), err
}

// look is read for somebody who changes nothing in it. What is known already is not
// fetched again: with a thousand tenants that would take longer than all the rest.
func (r *Redis) look(ctx context.Context) (settings, error) {
	known := r.settings.Load()
	if known == nil || known.rev == 0 || known.gen == "" {
		return r.fetch(ctx)
	}
	v, err := r.rdb.HMGet(ctx, r.keys.scope[0], fieldSchema, fieldRevision, fieldGeneration).Result()
	if err != nil {
		return settings{}, fmt.Errorf("limiter: %w", err)
	}
	if text(v[0]) != strconv.Itoa(SchemaVersion) || text(v[1]) != strconv.FormatInt(known.rev, 10) || text(v[2]) != known.gen {
		return r.fetch(ctx)
	}
	r.noticed(ctx, known.gen, known.effective)
	return *known, nil
}

// fetch reads all of what decides about limits, and keeps it.
func (r *Redis) fetch(ctx context.Context) (settings, error) {
	v, err := r.rdb.HMGet(ctx, r.keys.scope[0], fieldSchema, fieldConfig, fieldOverrides, fieldRevision, fieldGeneration).Result()
	if err != nil {
		return settings{}, fmt.Errorf("limiter: %w", err)
	}
	var stored int64
	if _, err := fmt.Sscan(text(v[0]), &stored); err == nil && stored > SchemaVersion {
		return settings{}, schemaError(stored)
	}
	s := settings{text: text(v[1]), over: text(v[2]), gen: text(v[4])}
	_, _ = fmt.Sscan(text(v[3]), &s.rev)
	if known := r.settings.Load(); known != nil && known.text == s.text && known.over == s.over {
		rev, gen := s.rev, s.gen
		s = *known
		s.rev, s.gen = rev, gen
	} else if err := s.parse(); err != nil {
		return settings{}, fmt.Errorf("limiter: stored configuration: %w", err)
	}
	if s.text != "" {
		r.keep(s)
		r.noticed(ctx, text(v[4]), s.effective)
	}
	return s, nil
}

func (r *Redis) keep(s settings) {
	r.cal.setZone(s.effective.monthZone())
	s = s.indexed()
	r.settings.Store(&s)
	r.config.Store(&s.effective)
}

// restore writes the configuration again after Redis lost it, or a part of it, and
// tells whether the lane is known by that. What was set over it comes back too.
func (r *Redis) restore(ctx context.Context, l Lane) bool {
	known := r.settings.Load()
	s, err := r.fetch(ctx)
	if err != nil {
		return false
	}
	if s.text == "" && known != nil {
		s = *known // nothing is stored: Redis came back empty
	}
	if s.effective.laneAt(l.String()) < 0 {
		return false
	}
	r.log.Error("Redis lost limits that were stored: they are written again, use starts from nothing", "lane", l.String())
	done, err := r.configure(ctx, s.file, s.overrides)
	return done && err == nil
}

// Lanes gives the lanes that are configured, with their limits and shares.
func (r *Redis) Lanes(ctx context.Context) ([]LaneConfig, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	c, err := r.load(ctx)
	return c.Lanes, err
}
