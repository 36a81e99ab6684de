package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"
)

// goClient is the Go SDK, doing the tasks of the matrix.
type goClient struct {
	*genai.Client
	plan plan
	emit func(line)
}

func newGo(ctx context.Context, base, key string) (*genai.Client, error) {
	return genai.NewClient(ctx, &genai.ClientConfig{APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: base}})
}

// result is what became of a task.
type result struct {
	sum   map[string]any
	seen  any
	words *words
}

func runGo(ctx context.Context, p plan, emit func(line)) error {
	c, err := newGo(ctx, p.Base, p.Key)
	if err != nil {
		return err
	}
	g := &goClient{c, p, emit}
	for _, task := range p.Tasks {
		if task == "array" {
			continue // the SDK always asks for events
		}
		r, err := g.do(ctx, task)
		if err != nil {
			r = result{sum: map[string]any{"error": err.Error()}}
		}
		emit(line{Task: task, Sum: generic(r.sum).(map[string]any), Seen: generic(r.seen), Words: r.words})
	}
	return nil
}

// generic is a value as JSON would give it, without what the SDK adds of the
// HTTP answer.
func generic(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	list, ok := out.([]any)
	if !ok {
		list = []any{out}
	}
	for _, each := range list {
		if m, ok := each.(map[string]any); ok {
			delete(m, "sdkHttpResponse")
		}
	}
	return out
}

func (g *goClient) do(ctx context.Context, task string) (result, error) {
	switch task {
	case "unary", "slash", "badkey", "doubled":
		return g.unary(ctx, task)
	case "stream", "slow":
		return g.stream(ctx, task, g.plan.Model)
	case "flush":
		return g.stream(ctx, task, g.plan.Stepped)
	case "midway":
		return g.broken(ctx, task, g.plan.Midway)
	case "cut":
		return g.broken(ctx, task, g.plan.Cut)
	case "quotastream":
		_, err := g.stream(ctx, task, g.plan.Limited)
		return refusedGo(err)
	case "abort":
		return g.abort(ctx)
	case "embed":
		return g.embed(ctx, "embed")
	case "embeds":
		return g.embed(ctx, "embed", "unary")
	case "count", "list", "get":
		return g.look(ctx, task)
	case "call":
		return g.call(ctx)
	case "schema":
		return g.schema(ctx)
	case "refused":
		return refusedGo(g.ask(ctx, g.plan.Refused, task))
	case "broken":
		return refusedGo(g.ask(ctx, g.plan.Broken, task))
	case "quota":
		return refusedGo(errors.Join(g.ask(ctx, g.plan.Limited, task), g.ask(ctx, g.plan.Limited, task)))
	case "unserved":
		_, err := g.Files.List(ctx, nil)
		return refusedGo(err)
	}
	return result{}, fmt.Errorf("no task %s", task)
}

func tokensOf(r *genai.GenerateContentResponse, sum map[string]any) map[string]any {
	u := r.UsageMetadata
	sum["finish"] = r.Candidates[0].FinishReason
	sum["prompt"], sum["output"], sum["thoughts"], sum["total"] = u.PromptTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount, u.TotalTokenCount
	return sum
}

func (g *goClient) ask(ctx context.Context, model, task string) error {
	_, err := g.Models.GenerateContent(ctx, model, genai.Text(g.plan.Prompts[task]), nil)
	return err
}

func (g *goClient) unary(ctx context.Context, task string) (result, error) {
	base, key := g.plan.Base, g.plan.Key
	switch task {
	case "slash":
		base += "/"
	case "doubled":
		base += "/v1beta"
	case "badkey":
		key = g.plan.BadKey
	}
	c, err := newGo(ctx, base, key)
	if err != nil {
		return result{}, err
	}
	r, err := c.Models.GenerateContent(ctx, g.plan.Model, genai.Text(g.plan.Prompts["unary"]), nil)
	if err != nil {
		return refusedGo(err)
	}
	return result{sum: tokensOf(r, map[string]any{"text": r.Text()}), seen: r}, nil
}

func (g *goClient) stream(ctx context.Context, task, model string) (result, error) {
	var text strings.Builder
	var seen []any
	var last *genai.GenerateContentResponse
	for r, err := range g.Models.GenerateContentStream(ctx, model, genai.Text(g.plan.Prompts[task]), nil) {
		if err != nil {
			return result{}, err
		}
		text.WriteString(r.Text())
		last, seen = r, append(seen, generic(r))
		g.emit(line{Task: task, Chunk: len(seen)})
	}
	return result{sum: tokensOf(last, map[string]any{"text": text.String(), "chunks": len(seen)}), seen: seen}, nil
}

// broken reads a stream that does not end well.
func (g *goClient) broken(ctx context.Context, task, model string) (result, error) {
	text, end := "", ""
	for r, err := range g.Models.GenerateContentStream(ctx, model, genai.Text(g.plan.Prompts[task]), nil) {
		if err != nil {
			end = err.Error()
			break
		}
		text += r.Text()
	}
	return result{sum: map[string]any{"text": text}, seen: end}, nil
}

func (g *goClient) abort(ctx context.Context) (result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sum := map[string]any{"aborted": false}
	for r, err := range g.Models.GenerateContentStream(ctx, g.plan.Long, genai.Text(g.plan.Prompts["abort"]), nil) {
		if err != nil {
			sum["aborted"] = errors.Is(err, context.Canceled)
			return result{sum: sum, seen: err.Error()}, nil
		}
		if sum["first"] == nil {
			sum["first"] = r.Text()
		}
		cancel()
	}
	return result{sum: sum}, nil
}

func (g *goClient) embed(ctx context.Context, prompts ...string) (result, error) {
	var contents []*genai.Content
	for _, p := range prompts {
		contents = append(contents, genai.Text(g.plan.Prompts[p])...)
	}
	dimensions := int32(8)
	r, err := g.Models.EmbedContent(ctx, g.plan.Embedding, contents, &genai.EmbedContentConfig{OutputDimensionality: &dimensions, TaskType: "RETRIEVAL_DOCUMENT"})
	if err != nil {
		return result{}, err
	}
	var vectors [][]float32
	for _, e := range r.Embeddings {
		vectors = append(vectors, e.Values)
	}
	return result{sum: map[string]any{"vectors": vectors}, seen: r}, nil
}
