package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"
)

// look counts tokens, lists models and gets one.
func (g *goClient) look(ctx context.Context, task string) (result, error) {
	switch task {
	case "count":
		r, err := g.Models.CountTokens(ctx, g.plan.Model, genai.Text(g.plan.Prompts["count"]), nil)
		if err != nil {
			return result{}, err
		}
		return result{sum: map[string]any{"total": r.TotalTokens}, seen: r}, nil
	case "list":
		var names []string
		var seen []any
		for m, err := range g.Models.All(ctx) {
			if err != nil {
				return result{}, err
			}
			names, seen = append(names, m.Name), append(seen, generic(m))
		}
		return result{sum: map[string]any{"models": names}, seen: seen}, nil
	}
	m, err := g.Models.Get(ctx, g.plan.Model, nil)
	if err != nil {
		return result{}, err
	}
	return result{sum: map[string]any{"name": m.Name, "input": m.InputTokenLimit, "output": m.OutputTokenLimit}, seen: m}, nil
}

// call lets the model call a function, and tells it what came of it.
func (g *goClient) call(ctx context.Context) (result, error) {
	f := heatFunction
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: f["name"].(string), Description: f["description"].(string), Parameters: schemaOf(f["parameters"]),
	}}}}}
	contents := genai.Text(g.plan.Prompts["call"])
	r, err := g.Models.GenerateContent(ctx, g.plan.Model, contents, config)
	if err != nil {
		return result{}, err
	}
	if len(r.FunctionCalls()) == 0 {
		return result{}, fmt.Errorf("no function is called: %s", r.Text())
	}
	made := r.FunctionCalls()[0]
	contents = append(contents, r.Candidates[0].Content,
		genai.NewContentFromFunctionResponse(made.Name, map[string]any{"ok": true}, genai.RoleUser))
	then, err := g.Models.GenerateContent(ctx, g.plan.Model, contents, config)
	if err != nil {
		return result{}, err
	}
	sum := map[string]any{"name": made.Name, "args": made.Args, "finish": r.Candidates[0].FinishReason, "then": then.Text()}
	return result{sum: sum, seen: []any{generic(r), generic(then)}}, nil
}

// schemaOf is a JSON Schema in the SDK's own type, which has its types in capitals.
func schemaOf(v any) *genai.Schema {
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

func (g *goClient) schema(ctx context.Context) (result, error) {
	r, err := g.Models.GenerateContent(ctx, g.plan.Model, genai.Text(g.plan.Prompts["schema"]),
		&genai.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseSchema: schemaOf(placeSchema)})
	if err != nil {
		return result{}, err
	}
	var value any
	if err := json.Unmarshal([]byte(r.Text()), &value); err != nil {
		return result{}, err
	}
	return result{sum: map[string]any{"value": value}, seen: r}, nil
}

// refusedGo is an error as the SDK gives it: an APIError, with the hint in its details.
func refusedGo(err error) (result, error) {
	var e genai.APIError
	if !errors.As(err, &e) {
		return result{}, fmt.Errorf("no APIError: %w", err)
	}
	hint, _ := detail(e, "RetryInfo")["retryDelay"].(string)
	sum := map[string]any{"code": e.Code}
	if hint != "" {
		sum["hint"] = hint
	}
	return result{sum: sum, seen: e, words: &words{"genai.APIError", e.Code, e.Status, hint, e.Message}}, nil
}
