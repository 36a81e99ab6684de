package gemini

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// check names what is wrong by its place: "routes.fast", "moves[0].to". It
// resolves aliases, and puts the buckets of pairs in the place of their names.
func (r *Routes) check() error {
	r.aliases = map[string]string{}
	given, err := r.names()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		to, err := r.follow(name, given)
		if err != nil {
			return fmt.Errorf("routes.%s: %w", name, err)
		}
		r.aliases[name] = to
	}
	for i, m := range r.cfg.Moves {
		if err := r.checkMove(i, m); err != nil {
			return fmt.Errorf("moves[%d].%w", i, err)
		}
	}
	for i := range r.cfg.Pairs {
		p := &r.cfg.Pairs[i]
		_, from, err := r.cfg.Lanes.Lookup(p.From)
		_, to, err2 := r.cfg.Lanes.Lookup(p.To)
		if err != nil || err2 != nil {
			return fmt.Errorf("models[%d]: %s or %s is not configured", i, p.From, p.To)
		}
		p.From, p.To = from.Name, to.Name
	}
	return nil
}

// names gives the aliases as they are looked up. Two that differ only in case are one
// name, and either could win.
func (r *Routes) names() (map[string]string, error) {
	given, keys := map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(r.cfg.Aliases)) {
		short := NormalizeModel(name)
		if strings.HasPrefix(strings.ToLower(name), "models/") {
			return nil, fmt.Errorf("routes.%s: want the name without models/: write %s", name, short)
		}
		if other, ok := keys[short]; ok {
			return nil, fmt.Errorf("routes.%s: is the same name as routes.%s, since names match without case: want one of them", name, other)
		}
		given[short], keys[short] = NormalizeModel(r.cfg.Aliases[name]), name
	}
	return given, nil
}

// follow goes from an alias to its model.
func (r *Routes) follow(name string, given map[string]string) (string, error) {
	if !validModel(name) {
		return "", fmt.Errorf("%q is no name that a client can send: want letters, digits, dots, dashes and underscores", name)
	}
	if _, m, err := r.cfg.Lanes.Lookup(name); err == nil {
		return "", fmt.Errorf("%s is a model's own name (it counts in the quota of %s): want a name that no model has", name, m.Name)
	}
	way := []string{name}
	for to := given[name]; ; to = given[to] {
		switch {
		case to == "":
			return "", fmt.Errorf("want the name of a model")
		case slices.Contains(way, to):
			return "", fmt.Errorf("goes round in a circle: %s", strings.Join(append(way, to), " → "))
		}
		way = append(way, to)
		if _, more := given[to]; more {
			continue
		}
		if _, _, err := r.cfg.Lanes.Lookup(to); err != nil {
			return "", fmt.Errorf("%q is not configured: add it to models with its limits, or name one of %s", to, strings.Join(r.cfg.Lanes.names, ", "))
		}
		return to, nil
	}
}

func (r *Routes) checkMove(i int, m Move) error {
	if _, err := ParseRampScope(m.Scope.String()); err != nil {
		return fmt.Errorf("scope: %w", err)
	}
	if m.Scope.Kind == "route" {
		return fmt.Errorf("scope: an alias is moved by naming its model in routes.%s", m.Scope.Name)
	}
	from, to, err := r.Pair(m.From, m.To)
	if err != nil {
		return err
	}
	for _, o := range r.cfg.Moves[:i] {
		if o.Scope == m.Scope && r.cfg.Lanes.same(o.From, from.Name) {
			return fmt.Errorf("from: calls of %s for %s are moved by an earlier line already", m.Scope, m.From)
		}
	}
	return r.checkCircle(m.Scope, from.Name, to.Name, r.cfg.Moves[:i])
}

// checkCircle refuses a move that leads back to where others of its scope begin.
func (r *Routes) checkCircle(s RampScope, from, to string, others []Move) error {
	for range others {
		for _, o := range others {
			if o.Scope != s || !r.cfg.Lanes.same(o.From, to) {
				continue
			}
			if to = r.Real(o.To); r.cfg.Lanes.same(to, from) {
				return fmt.Errorf("to: calls of %s would go round in a circle: another move takes them from %s back to %s", s, o.From, from)
			}
		}
	}
	return nil
}

// Pair gives the two models of a move. The error names the field: "to: …".
func (r *Routes) Pair(from, to string) (a, b Model, err error) {
	if a, err = r.bucket("from", from); err != nil {
		return a, b, err
	}
	if b, err = r.bucket("to", to); err != nil {
		return a, b, err
	}
	if NormalizeModel(from) == NormalizeModel(to) {
		return a, b, fmt.Errorf("to: %s is the model that the calls are for already: want another one", to)
	}
	if a.Name == b.Name {
		return a, b, fmt.Errorf("to: %s and %s are one model with one quota: want another one", from, to)
	}
	return a, b, nil
}

func (r *Routes) bucket(field, name string) (Model, error) {
	if name == "" {
		return Model{}, fmt.Errorf("%s: want the name of a model", field)
	}
	_, m, err := r.cfg.Lanes.Lookup(r.Real(name))
	if err != nil {
		return m, fmt.Errorf("%s: %q is not configured: add it to models with its limits (configured: %s)", field, name, strings.Join(r.cfg.Lanes.names, ", "))
	}
	return m, nil
}

// CheckRamp wants a ramp to move calls that get there, to a model that has limits,
// and not back to where another ramp of its scope takes them from. Of an alias's it
// fills in From. The error names the field.
func (r *Routes) CheckRamp(x *Ramp, others []Ramp) error {
	if x.Scope.Kind == "route" {
		if err := r.aliasFrom(x); err != nil {
			return err
		}
	}
	from, to, err := r.Pair(x.From, x.To)
	if err != nil {
		return err
	}
	var whole []Move
	for _, o := range others {
		if o.Phase != RampRolledBack {
			whole = append(whole, Move{o.Scope, o.From, o.To})
		}
	}
	for _, m := range r.cfg.Moves {
		if m.Scope == x.Scope && r.cfg.Lanes.same(r.Real(m.From), from.Name) {
			return fmt.Errorf("from: the configuration moves calls of %s for %s to %s: move them on from there, with --from %s", x.Scope, x.From, m.To, m.To)
		}
	}
	return r.checkCircle(x.Scope, from.Name, to.Name, append(whole, r.cfg.Moves...))
}

func (r *Routes) aliasFrom(x *Ramp) error {
	real, ok := r.aliases[NormalizeModel(x.Scope.Name)]
	switch {
	case !ok:
		return fmt.Errorf("from: %s is no alias: routes of the configuration has %s", x.Scope.Name, orNothing(slices.Sorted(maps.Keys(r.aliases))))
	case x.From == "":
		x.From = real
	case !r.cfg.Lanes.same(r.Real(x.From), real):
		return fmt.Errorf("from: %s stands for %s, not for %s", x.Scope.Name, real, x.From)
	}
	x.Scope.Name = NormalizeModel(x.Scope.Name)
	return nil
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
