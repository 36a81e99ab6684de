package gemini

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// RampSource gives the ramps that all processes share. *RampStore is one.
type RampSource interface {
	Ramps(context.Context) ([]Ramp, error)
}

// Move is a whole move that the configuration has: what a finished ramp becomes.
type Move struct {
	Scope    RampScope
	From, To string // any of the models' names
}

// RoutesConfig says which calls go to another model than they name. Lanes must be set.
type RoutesConfig struct {
	Lanes   *LaneMap
	Aliases map[string]string // name that clients send → model, or another such name
	Moves   []Move
	Pairs   []ModelPair  // how requests for one model are made fit for another, where that is declared
	Source  RampSource   // nil: there are no ramps
	Logger  *slog.Logger // nil means none
}

// Routes knows which model answers a call. The nil Routes send each to the model
// that it names. It is safe for concurrent use.
type Routes struct {
	cfg     RoutesConfig
	aliases map[string]string // whole: to a model that is configured
	table   atomic.Pointer[routeTable]
	log     *slog.Logger
	trouble tally
}

// routeTable has what is in force, by the bucket whose calls are moved, what is
// narrowest first. It is never written once made.
type routeTable map[string][]*Ramp

// NewRoutes checks the configuration; an error names the field. No ramp is known
// until Refresh or Watch.
func NewRoutes(cfg RoutesConfig) (*Routes, error) {
	if cfg.Lanes == nil {
		return nil, errors.New("Lanes: must be set")
	}
	r := &Routes{cfg: cfg, log: cfg.Logger}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.cfg.Moves, r.cfg.Pairs = slices.Clone(cfg.Moves), slices.Clone(cfg.Pairs)
	if err := r.check(); err != nil {
		return nil, err
	}
	r.put(nil)
	return r, nil
}

// Real gives the model that a name stands for: an alias's, else the name's own.
func (r *Routes) Real(name string) string {
	name = NormalizeModel(name)
	if r == nil {
		return name
	}
	if to, ok := r.aliases[name]; ok {
		return to
	}
	return name
}

// Aliases gives each alias with its model.
func (r *Routes) Aliases() map[string]string {
	if r == nil {
		return nil
	}
	return maps.Clone(r.aliases)
}

// routesEvery is how often a process asks for the ramps: a change is in force
// everywhere within a second.
const (
	routesEvery = 500 * time.Millisecond
	routesWait  = 2 * time.Second // for an answer
)

// Watch keeps the ramps as they are now, until the context ends.
func (r *Routes) Watch(ctx context.Context) {
	for r != nil && r.cfg.Source != nil {
		if err := r.Refresh(ctx); err != nil && ctx.Err() == nil {
			if n, due := r.trouble.note(time.Now()); due {
				r.log.Warn("ramps cannot be read; calls go where they went", "times", n, "error", Redact(err.Error()))
			}
		}
		if !sleep(ctx, routesEvery) {
			return
		}
	}
}

// Refresh asks for the ramps once. When that fails those that were known hold on:
// a move that stands still harms nobody.
func (r *Routes) Refresh(ctx context.Context) error {
	if r == nil || r.cfg.Source == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, routesWait)
	defer cancel()
	ramps, err := r.cfg.Source.Ramps(ctx)
	if err != nil {
		return fmt.Errorf("gemini: %w", err)
	}
	r.put(ramps)
	return nil
}

func (r *Routes) put(ramps []Ramp) {
	t := routeTable{}
	for i := range ramps {
		if x := &ramps[i]; x.Phase != RampRolledBack {
			r.add(t, x)
		}
	}
	for _, m := range r.cfg.Moves {
		r.add(t, &Ramp{Scope: m.Scope, From: m.From, To: m.To, Phase: RampFinished})
	}
	for _, list := range t {
		slices.SortStableFunc(list, func(a, b *Ramp) int { return a.narrowness() - b.narrowness() })
	}
	r.table.Store(&t)
}

// add files a ramp under the bucket of its From. One whose models this process
// does not have moves nothing here.
func (r *Routes) add(t routeTable, x *Ramp) {
	_, from, err := r.cfg.Lanes.Lookup(r.Real(x.From))
	if err == nil {
		t[from.Name] = append(t[from.Name], x)
	}
}

func (r *Ramp) narrowness() int { return slices.Index(RampKinds, r.Scope.Kind) }

// of gives the ramp that decides about a call for a bucket, by the name that was
// asked; nil for none.
func (t routeTable) of(bucket, asked string, c Caller) *Ramp {
	for _, r := range t[bucket] {
		if r.Scope.holds(asked, c) {
			return r
		}
	}
	return nil
}

// holds says whether a call belongs to the scope.
func (s RampScope) holds(asked string, c Caller) bool {
	switch s.Kind {
	case "key":
		return c.Path.Key == s.Name
	case "team":
		return c.Path.Team == s.Name
	case "tenant":
		return c.Path.Tenant == s.Name
	case "feature":
		return c.Feature == s.Name
	}
	return NormalizeModel(s.Name) == asked
}
