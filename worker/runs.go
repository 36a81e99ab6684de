package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"nightshift/jobs"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/genai"
)

// run is a run's record with all that its rows share, made once.
type run struct {
	jobs.Run
	template *jobs.Template
	schema   *jsonschema.Schema // nil when the run asks for none
	json     bool               // answers must be JSON
	config   genai.GenerateContentConfig
	embed    genai.EmbedContentConfig
}

// runCache keeps the runs that this worker has rows of.
type runCache struct {
	store *jobs.Store
	now   func() time.Time

	mu   sync.Mutex
	runs map[string]*cachedRun
}

type cachedRun struct {
	*run
	used time.Time
}

func newRunCache(store *jobs.Store, now func() time.Time) *runCache {
	return &runCache{store: store, now: now, runs: map[string]*cachedRun{}}
}

// get gives a run's record as the ledger has it now, which says so by its
// digest: --update may have changed it since it was read.
func (c *runCache) get(ctx context.Context, id, digest string) (*run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.runs[id]; have != nil && have.Stamp() == digest {
		have.used = c.now()
		return have.run, nil
	}
	rec, err := c.store.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	c.forget()
	r, err := newRun(rec)
	if err != nil {
		return nil, &badRunError{err}
	}
	c.runs[id] = &cachedRun{run: r, used: c.now()}
	return r, nil
}

// forget drops the runs that had no row for ten minutes.
func (c *runCache) forget() {
	for id, r := range c.runs {
		if c.now().Sub(r.used) > 10*time.Minute {
			delete(c.runs, id)
		}
	}
}

// badRunError says that no row of a run can be done: its record is there, but
// what it asks for cannot be made.
type badRunError struct{ err error }

func (e *badRunError) Error() string { return e.err.Error() }
func (e *badRunError) Unwrap() error { return e.err }

func newRun(rec jobs.Run) (*run, error) {
	r := &run{Run: rec}
	var err error
	if r.template, err = jobs.Compile(rec.Spec); err != nil {
		return nil, fmt.Errorf("the run's template: %w", err)
	}
	s := rec.Spec.Settings
	if r.schema, err = compileSchema(s.ResponseSchema); err != nil {
		return nil, fmt.Errorf("the run's response schema: %w", err)
	}
	r.json = r.schema != nil || s.ResponseMIMEType == "application/json"
	r.config, err = generateConfig(s)
	r.embed = embedConfig(s)
	return r, err
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
