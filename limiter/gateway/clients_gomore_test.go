package gateway

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"
)

func (g *goClient) embed(prompts ...string) (result, error) {
	var contents []*genai.Content
	for _, p := range prompts {
		contents = append(contents, genai.Text(g.plan.Prompts[p])...)
	}
	dimensions := int32(8)
	r, err := g.Models.EmbedContent(g.ctx, g.plan.Embedding, contents, &genai.EmbedContentConfig{OutputDimensionality: &dimensions, TaskType: "RETRIEVAL_DOCUMENT"})
	if err != nil {
		return result{}, err
	}
	var vectors [][]float32
	for _, e := range r.Embeddings {
		vectors = append(vectors, e.Values)
	}
	return result{sum: map[string]any{"vectors": vectors}, seen: r}, nil
}

func (g *goClient) count() (result, error) {
	r, err := g.Models.CountTokens(g.ctx, g.plan.Model, genai.Text(g.plan.Prompts["count"]), nil)
	if err != nil {
		return result{}, err
	}
	return result{sum: map[string]any{"total": r.TotalTokens}, seen: r}, nil
}

func (g *goClient) list() (result, error) {
	var names []string
	var seen []any
	for m, err := range g.Models.All(g.ctx) {
		if err != nil {
			return result{}, err
		}
		names, seen = append(names, m.Name), append(seen, m)
	}
	return result{sum: map[string]any{"models": names}, seen: seen}, nil
}

func (g *goClient) get() (result, error) {
	m, err := g.Models.Get(g.ctx, g.plan.Model, nil)
	if err != nil {
		return result{}, err
	}
	return result{sum: map[string]any{"name": m.Name, "input": m.InputTokenLimit, "output": m.OutputTokenLimit}, seen: m}, nil
}

// call lets the model call a function, and tells it what came of it.
func (g *goClient) call() (result, error) {
	f := heatFunction
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: f["name"].(string), Description: f["description"].(string), Parameters: goSchema(f["parameters"]),
	}}}}}
	contents := genai.Text(g.plan.Prompts["call"])
	r, err := g.Models.GenerateContent(g.ctx, g.plan.Model, contents, config)
	if err != nil {
		return result{}, err
	}
	if len(r.FunctionCalls()) == 0 {
		return result{}, fmt.Errorf("no function is called: %s", r.Text())
	}
	made := r.FunctionCalls()[0]
	contents = append(contents, r.Candidates[0].Content,
		genai.NewContentFromFunctionResponse(made.Name, map[string]any{"ok": true}, genai.RoleUser))
	then, err := g.Models.GenerateContent(g.ctx, g.plan.Model, contents, config)
	if err != nil {
		return result{}, err
	}
	sum := map[string]any{"name": made.Name, "args": made.Args, "finish": r.Candidates[0].FinishReason, "then": then.Text()}
	return result{sum: sum, seen: []any{r, then}}, nil
}

func (g *goClient) schema() (result, error) {
	r, err := g.Models.GenerateContent(g.ctx, g.plan.Model, genai.Text(g.plan.Prompts["schema"]),
		&genai.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseSchema: goSchema(placeSchema)})
	if err != nil {
		return result{}, err
	}
	var value any
	if err := json.Unmarshal([]byte(r.Text()), &value); err != nil {
		return result{}, err
	}
	return result{sum: map[string]any{"value": value}, seen: r}, nil
}

// goSchema is a JSON Schema in the SDK's own type, which has its types in capitals.
func goSchema(v any) *genai.Schema {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s := &genai.Schema{}
	if err := json.Unmarshal(b, s); err != nil {
		panic(err)
	}
	capitals(s)
	return s
}

func capitals(s *genai.Schema) {
	s.Type = genai.Type(strings.ToUpper(string(s.Type)))
	for _, p := range s.Properties {
		capitals(p)
	}
	if s.Items != nil {
		capitals(s.Items)
	}
}
