package jobs

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// outputList is a YAML template's outputs: a map by name, or a list of those that
// say their name.
type outputList []outputFile

type outputFile struct {
	name string
	line int
	form designForm
}

func (l *outputList) UnmarshalYAML(n ast.Node) error {
	switch n := n.(type) {
	case ast.MapNode:
		for each := n.MapRange(); each.Next(); {
			o := outputFile{name: each.Key().GetToken().Value, line: each.Key().GetToken().Position.Line}
			if err := yaml.NodeToValue(each.Value(), &o.form, yaml.Strict()); err != nil {
				return err
			}
			*l = append(*l, o)
		}
		return nil
	case *ast.SequenceNode:
		for _, one := range n.Values {
			var o struct {
				Name line       `yaml:"name"`
				Form designForm `yaml:",inline"`
			}
			if err := yaml.NodeToValue(one, &o, yaml.Strict()); err != nil {
				return err
			}
			*l = append(*l, outputFile{o.Name.text, one.GetToken().Position.Line, o.Form})
		}
		return nil
	}
	return &yaml.SyntaxError{Message: "outputs: want a map of names", Token: n.GetToken()}
}

// Over puts the settings that are given over those of a base.
func (s Settings) Over(base Settings) Settings {
	out := base
	out.Temperature = cmp.Or(s.Temperature, base.Temperature)
	out.TopP = cmp.Or(s.TopP, base.TopP)
	out.TopK = cmp.Or(s.TopK, base.TopK)
	out.MaxOutputTokens = cmp.Or(s.MaxOutputTokens, base.MaxOutputTokens)
	out.Seed = cmp.Or(s.Seed, base.Seed)
	if s.StopSequences != nil {
		out.StopSequences = s.StopSequences
	}
	out.PresencePenalty = cmp.Or(s.PresencePenalty, base.PresencePenalty)
	out.FrequencyPenalty = cmp.Or(s.FrequencyPenalty, base.FrequencyPenalty)
	out.ThinkingBudget = cmp.Or(s.ThinkingBudget, base.ThinkingBudget)
	out.ResponseMIMEType = cmp.Or(s.ResponseMIMEType, base.ResponseMIMEType)
	out.TaskType = cmp.Or(s.TaskType, base.TaskType)
	out.Dimensions = cmp.Or(s.Dimensions, base.Dimensions)
	if len(s.ResponseSchema) > 0 {
		out.ResponseSchema = s.ResponseSchema
	}
	return out
}

// check refuses values that the API would refuse for every row
// (https://ai.google.dev/api/generate-content#GenerationConfig).
func (s Settings) check() error {
	between := func(name string, v *float32, least, most float32) error {
		if v == nil || *v >= least && *v <= most { // the other way round, NaN would pass
			return nil
		}
		return fmt.Errorf("%s: %v; want %v to %v", name, *v, least, most)
	}
	if err := cmp.Or(between("temperature", s.Temperature, 0, 2), between("top_p", s.TopP, 0, 1)); err != nil {
		return err
	}
	switch {
	case s.TopK != nil && !(*s.TopK >= 1):
		return fmt.Errorf("top_k: %v; want at least 1", *s.TopK)
	case s.MaxOutputTokens < 0:
		return errors.New("max_output_tokens: want at least 1")
	case s.ThinkingBudget != nil && *s.ThinkingBudget < -1:
		return errors.New("thinking_budget: want at least -1")
	case s.TaskType != "" || s.Dimensions != 0:
		return errors.New("task_type and dimensions are for embeddings, whose template is one prompt: give them as flags")
	}
	return nil
}
