package worker

import (
	"bytes"
	"encoding/json"
	"fmt"

	"nightshift/jobs"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/genai"
)

// shape is what a request's settings make of its call and ask of its answer.
type shape struct {
	schema *jsonschema.Schema // nil when none is asked for
	json   bool               // the answer must be JSON
	config genai.GenerateContentConfig
	embed  genai.EmbedContentConfig
}

func newShape(s *jobs.Settings) (*shape, error) {
	out := &shape{json: s.AsksJSON(), embed: embedConfig(*s)}
	var err error
	if out.schema, err = compileSchema(s.ResponseSchema); err != nil {
		return nil, fmt.Errorf("response schema: %w", err)
	}
	out.config, err = generateConfig(*s)
	return out, err
}

// compileSchema reads a JSON Schema. References out of it are refused: a worker
// opens no file and no address that a run names.
func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

func generateConfig(s jobs.Settings) (genai.GenerateContentConfig, error) {
	once := false // one call is one HTTP request is one permit
	c := genai.GenerateContentConfig{
		Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, Seed: s.Seed,
		PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty,
		MaxOutputTokens: s.MaxOutputTokens, StopSequences: s.StopSequences,
		ResponseMIMEType: s.ResponseMIMEType, AutomaticContinuation: &once,
	}
	if s.ThinkingBudget != nil {
		c.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: s.ThinkingBudget}
	}
	if len(s.ResponseSchema) == 0 {
		return c, nil
	}
	if c.ResponseMIMEType == "" {
		c.ResponseMIMEType = "application/json" // the API takes a schema with JSON only
	}
	return c, json.Unmarshal(s.ResponseSchema, &c.ResponseJsonSchema)
}

func embedConfig(s jobs.Settings) genai.EmbedContentConfig {
	c := genai.EmbedContentConfig{TaskType: s.TaskType}
	if s.Dimensions > 0 {
		c.OutputDimensionality = &s.Dimensions
	}
	return c
}
