package gateway

import (
	"context"
	"errors"

	"google.golang.org/genai"
)

func (g *goClient) stream(task, model string) (result, error) {
	text := ""
	var seen []any
	var last *genai.GenerateContentResponse
	for r, err := range g.Models.GenerateContentStream(g.ctx, model, genai.Text(g.plan.Prompts[task]), nil) {
		if err != nil {
			return result{}, err
		}
		text += r.Text()
		last, seen = r, append(seen, r)
		g.emit(line{Task: task, Chunk: len(seen)})
	}
	return result{sum: tokensOf(last, map[string]any{"text": text, "chunks": len(seen)}), seen: seen}, nil
}

// broken reads a stream that does not end well.
func (g *goClient) broken(task, model string) (result, error) {
	text, end := "", ""
	for r, err := range g.Models.GenerateContentStream(g.ctx, model, genai.Text(g.plan.Prompts[task]), nil) {
		if err != nil {
			end = err.Error()
			break
		}
		text += r.Text()
	}
	return result{sum: map[string]any{"text": text}, seen: end}, nil
}

// abort cancels in mid-stream.
func (g *goClient) abort() (result, error) {
	ctx, cancel := context.WithCancel(g.ctx)
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
