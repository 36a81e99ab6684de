package cli

import (
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// otherModel wants a pair that the configuration declares compatible, for what the
// run asks.
func (o *specOptions) otherModel(s *jobs.Spec, c *loaded) error {
	if o.OtherModel == "" {
		return nil
	}
	if s.Kind == jobs.Embed {
		return fmt.Errorf("--other-model: the vectors of two models do not compare; leave it out for embeddings")
	}
	at := slices.IndexFunc(c.Degrade.Models, func(p DegradePairConfig) bool {
		return c.sameModel(p.From, s.Model) && c.sameModel(p.To, o.OtherModel)
	})
	switch {
	case at < 0:
		return fmt.Errorf("--other-model %s: degrade.models declares nothing from %s to it; if data may go there, add {from: %s, to: %s, compatible: [residency]}",
			o.OtherModel, s.Model, s.Model, o.OtherModel)
	case s.HasSchema() && !slices.Contains(c.Degrade.Models[at].Compatible, "schema"):
		return fmt.Errorf("--other-model %s: the run has a schema, and degrade.models[%d].compatible does not say that %s keeps to one", o.OtherModel, at, o.OtherModel)
	}
	s.OtherModel = o.OtherModel
	return nil
}

// sameModel says that two names are of one configured model.
func (c *Config) sameModel(a, b string) bool {
	return c.bucketOf(a) == c.bucketOf(b)
}

// bucketOf is the configured model that a name stands for, or the name.
func (c *Config) bucketOf(name string) string {
	name = gemini.NormalizeModel(name)
	for bucket, m := range c.Models {
		for _, n := range append([]string{bucket}, m.Aliases...) {
			if gemini.NormalizeModel(n) == name {
				return gemini.NormalizeModel(bucket)
			}
		}
	}
	return name
}
