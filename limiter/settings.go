package limiter

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// settings is what decides about limits: what is configured, what was set over
// it, and both together.
type settings struct {
	file      Config
	overrides []Override
	effective Config
	rev       int64  // grows with each change
	gen       string // of the scope: another one once Redis lost what it had
	text      string // file as it is stored
	over      string // overrides as they are stored; "" when none were ever set

	byNode map[string][]Override // the overrides; nil where nobody has sorted them yet
}

// parse reads what is stored. Overrides that do not go with the configuration any
// more, which only another version could leave behind, have no effect.
func (s *settings) parse() error {
	if s.text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(s.text), &s.file); err != nil {
		return err
	}
	if s.over != "" {
		if err := json.Unmarshal([]byte(s.over), &s.overrides); err != nil {
			return err
		}
	}
	s.effective = s.file
	c, err := s.file.With(s.overrides)
	if err == nil {
		s.effective = c
	}
	return nil
}

// copied is s for somebody who may change its lists.
func (s settings) copied() settings {
	s.overrides, s.byNode = slices.Clone(s.overrides), nil
	for _, c := range []*Config{&s.file, &s.effective} {
		c.Lanes, c.Classes = slices.Clone(c.Lanes), slices.Clone(c.Classes)
		c.Nodes, c.Shadow, c.Weights = maps.Clone(c.Nodes), maps.Clone(c.Shadow), maps.Clone(c.Weights)
	}
	return s
}

// configured is s with another configuration under the same overrides.
func (s settings) configured(c Config) (settings, error) {
	effective, err := c.With(s.overrides)
	if err != nil {
		return s, besides(c, err)
	}
	s.file, s.effective, s.text = c, effective, jsonOf(c)
	return s, nil
}

// besides says of an error that the configuration by itself is right.
func besides(c Config, err error) error {
	if wrongAlone := c.Validate(); wrongAlone != nil {
		return wrongAlone
	}
	var e *ConfigError
	if !errors.As(err, &e) {
		return err
	}
	return wrong(e.Field, "%s; the configuration by itself is right, but not with what `quota set` put over it", e.Problem)
}

// changed is s after a change of the overrides.
func (s settings) changed(ch Change, at time.Time) (settings, error) {
	for _, o := range ch.Set {
		if err := o.check(); err != nil {
			return s, err
		}
		if err := s.file.named(o); err != nil {
			return s, err
		}
	}
	list, err := changed(s.overrides, ch, at)
	if err != nil {
		return s, err
	}
	if s.effective, err = s.file.With(list); err != nil {
		return s, err
	}
	s.overrides, s.over = list, jsonOf(list)
	return s, nil
}

// broughtBack is s with overrides that were lost; news is false when all that
// they set is set, and with an error when they do not go with what is configured
// since. A scope without a configuration has nothing to put them over.
func (s settings) broughtBack(lost []Override) (next settings, news bool, err error) {
	list := slices.Clone(s.overrides)
	for _, o := range lost {
		if !slices.ContainsFunc(s.overrides, func(x Override) bool { return x.Node == o.Node && x.Name == o.Name }) {
			list, news = append(list, o), true
		}
	}
	if !news || s.text == "" {
		return s, false, nil
	}
	effective, err := s.file.With(list)
	if err != nil {
		return s, false, err
	}
	s.effective, s.overrides = effective, inOrder(list)
	s.over = jsonOf(s.overrides)
	return s, true, nil
}
