package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// check names what is wrong by its place: "rules[0].try", "models[1].to". It
// puts the models' buckets in the place of their names.
func (c *FallbacksConfig) check() error {
	if c.Lanes == nil {
		return errors.New("lanes: must be set")
	}
	if len(c.Rules) == 0 {
		return errors.New("rules: none; without a rule nothing is answered otherwise")
	}
	for i := range c.Models {
		if err := c.checkPair(i); err != nil {
			return fmt.Errorf("models[%d].%w", i, err)
		}
	}
	for i := range c.Rules {
		if err := c.checkRule(c.Rules[i]); err != nil {
			return fmt.Errorf("rules[%d].%w", i, err)
		}
		if at := slices.IndexFunc(c.Rules[:i], c.Rules[i].after); at >= 0 {
			return fmt.Errorf("rules[%d]: never applies: rules[%d] fits all that it fits; put it before that one", i, at)
		}
	}
	return nil
}

// after says that an earlier rule leaves nothing for this one.
func (r FallbackRule) after(first FallbackRule) bool {
	if first.Named || first.After > r.After {
		return false
	}
	covers := func(a, b string) bool { return a == "" || a == b }
	all := len(first.Causes) == 0
	some := len(r.Causes) > 0 && !slices.ContainsFunc(r.Causes, func(c DegradeCause) bool { return !slices.Contains(first.Causes, c) })
	return covers(first.Class, r.Class) && covers(first.Feature, r.Feature) && (all || some)
}

func (c *FallbacksConfig) checkRule(r FallbackRule) error {
	for _, cause := range r.Causes {
		if !knownCause(cause) {
			return fmt.Errorf("on: %q is no cause; want some of %s", cause, causeNames())
		}
	}
	if len(r.Try) == 0 {
		return errors.New("try: nothing; want some of cached, light, model, canned in the order in which they are tried")
	}
	for i, kind := range r.Try {
		if slices.Contains(r.Try[:i], kind) {
			return fmt.Errorf("try: %s stands there twice", kind)
		}
		if err := c.checkStep(kind, r); err != nil {
			return err
		}
	}
	return nil
}

// checkStep wants what a step needs.
func (c *FallbacksConfig) checkStep(kind DegradeKind, r FallbackRule) error {
	switch {
	case !slices.Contains(degradeKinds[:], kind):
		return fmt.Errorf("try: %q; want some of cached, light, model, canned in the order in which they are tried", kind)
	case kind == DegradedCached && c.Cache == nil:
		return errors.New("try: cached, and no answers are kept: set cache (it keeps what models wrote, in Redis), or leave cached out")
	case kind == DegradedLight && r.Light == nil:
		return errors.New("light: try says light, and there is no template: name its file, or leave light out of try")
	case kind == DegradedModel && len(c.Models) == 0:
		return errors.New("try: model, and no pair of models is declared: add one to models (from, to, compatible), or leave model out")
	case kind == DegradedCanned && len(bytes.TrimSpace(r.Canned)) == 0:
		return errors.New("canned: try says canned, and there is no text: name a file with the answer, or leave canned out of try")
	}
	return nil
}

// checkPair wants two configured models that were declared compatible.
func (c *FallbacksConfig) checkPair(i int) error {
	p := &c.Models[i]
	from, err := c.bucket("from", p.From)
	if err != nil {
		return err
	}
	to, err := c.bucket("to", p.To)
	if err != nil {
		return err
	}
	switch {
	case from.Name == to.Name:
		return fmt.Errorf("to: %s and %s are one model with one quota: want another one", p.From, p.To)
	case slices.ContainsFunc(c.Models[:i], func(o ModelPair) bool { return o.From == from.Name && o.To == to.Name }):
		return fmt.Errorf("to: %s for %s is declared twice", to.Name, from.Name)
	case !p.Residency:
		return fmt.Errorf("compatible: want residency in it, if data may go to %s wherever it may go to %s; if not, this pair must not be", to.Name, from.Name)
	case !p.Context && to.Context < from.Context:
		return fmt.Errorf("compatible: %s takes %d tokens and %s takes %d: add context, and longer requests go without it, or correct context_tokens", to.Name, to.Context, from.Name, from.Context)
	case p.ThinkingBudget != nil && p.ThinkingLevel != "":
		return errors.New("thinking_level: a model takes a budget or a level, not both")
	case p.ThinkingBudget != nil && *p.ThinkingBudget < -1:
		return fmt.Errorf("thinking_budget: %d; want tokens, 0 for none, or -1 for the model's own choice", *p.ThinkingBudget)
	}
	p.From, p.To = from.Name, to.Name
	return nil
}

func (c *FallbacksConfig) bucket(field, name string) (Model, error) {
	_, m, err := c.Lanes.Lookup(name)
	if err != nil {
		return m, fmt.Errorf("%s: %q is not configured: add it to models with its limits, since its calls need permits of their own", field, name)
	}
	return m, nil
}
