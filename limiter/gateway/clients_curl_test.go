package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"
)

// curlClient calls with the key in the query, as many scripts do, and reads
// answers as they stand. A script writes its URLs itself, so there is no base
// with a slash.
type curlClient struct {
	ctx  context.Context
	plan plan
	emit func(line)
}

func curlMissing() string { return absent("curl") }

func runCurl(ctx context.Context, p plan, emit func(line)) error {
	c := &curlClient{ctx, p, emit}
	doTasks(p, c.tasks(), emit)
	return nil
}

func (c *curlClient) tasks() map[string]doer {
	p := c.plan
	post := func(path string, body any, s summer) doer {
		return func() (result, error) { return c.post(path, body, s) }
	}
	get := func(path string, s summer) doer { return func() (result, error) { return c.get(path, s) } }
	ask := func(model, prompt string) doer {
		return post("/v1beta/models/"+model+":generateContent", c.asking(prompt), saidSum)
	}
	return map[string]doer{
		"unary": ask(p.Model, "unary"),
		"v1":    post("/v1/models/"+p.Model+":generateContent", c.asking("unary"), saidSum),
		"chat":  post("/v1beta/models/"+p.Model+":generateContent", c.chat(), saidSum),
		"call":  c.call, "abort": c.abort,
		"schema": post("/v1beta/models/"+p.Model+":generateContent", map[string]any{"contents": contentsOf(p.Prompts["schema"]),
			"generationConfig": map[string]any{"responseMimeType": "application/json", "responseJsonSchema": p.Schema}}, schemaSum),
		"array":  func() (result, error) { return c.stream("array", p.Model, "") },
		"stream": func() (result, error) { return c.stream("stream", p.Model, "alt=sse&") },
		"slow":   func() (result, error) { return c.stream("slow", p.Model, "alt=sse&") },
		"flush":  func() (result, error) { return c.stream("flush", p.Stepped, "alt=sse&") },
		"midway": func() (result, error) { return c.broken("midway", p.Midway) },
		"cut":    func() (result, error) { return c.broken("cut", p.Cut) },
		"embed":  post("/v1beta/models/"+p.Embedding+":embedContent", c.embedding("embed"), embedSum),
		"embeds": post("/v1beta/models/"+p.Embedding+":batchEmbedContents",
			map[string]any{"requests": []any{c.embedding("embed"), c.embedding("unary")}}, embedSum),
		"count":   post("/v1beta/models/"+p.Model+":countTokens", c.asking("count"), countSum),
		"list":    get("/v1beta/models", listSum),
		"get":     get("/v1beta/models/"+p.Model, getSum),
		"refused": ask(p.Refused, "refused"), "broken": ask(p.Broken, "broken"),
		"quota": func() (result, error) {
			if r, err := ask(p.Limited, "quota")(); err != nil {
				return r, err
			}
			return ask(p.Limited, "quota")()
		},
		"quotastream": func() (result, error) { return c.stream("quotastream", p.Limited, "alt=sse&") },
		"badkey":      c.badKey,
		"doubled":     post("/v1beta/v1beta/models/"+p.Model+":generateContent", c.asking("unary"), saidSum),
		"unserved":    get("/v1beta/files", saidSum),
	}
}

func (c *curlClient) badKey() (result, error) {
	other := *c
	other.plan.Key = c.plan.BadKey
	return other.post("/v1beta/models/"+c.plan.Model+":generateContent", c.asking("unary"), saidSum)
}

func contentsOf(text string) []any {
	return []any{map[string]any{"parts": []any{map[string]any{"text": text}}}}
}

func (c *curlClient) asking(prompt string) map[string]any {
	return map[string]any{"contents": contentsOf(c.plan.Prompts[prompt])}
}

func (c *curlClient) embedding(prompt string) map[string]any {
	return map[string]any{"model": "models/" + c.plan.Embedding, "content": contentsOf(c.plan.Prompts[prompt])[0],
		"taskType": "RETRIEVAL_DOCUMENT", "outputDimensionality": 8}
}

// chat goes on from a turn with an image, with all that a chat usually sets.
func (c *curlClient) chat() map[string]any {
	p := c.plan.Prompts
	return map[string]any{
		"systemInstruction": contentsOf(p["system"])[0],
		"contents": []any{
			map[string]any{"role": "user", "parts": []any{
				map[string]any{"inlineData": map[string]any{"mimeType": "image/png", "data": c.plan.Image}}, map[string]any{"text": p["turn"]}}},
			map[string]any{"role": "model", "parts": []any{map[string]any{"text": p["said"]}}},
			map[string]any{"role": "user", "parts": []any{map[string]any{"text": p["chat"]}}},
		},
		"safetySettings": []any{map[string]any{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}},
		"generationConfig": map[string]any{"temperature": 0.2, "topP": 0.9, "maxOutputTokens": 300, "stopSequences": []any{"THE END"},
			"thinkingConfig": map[string]any{"thinkingBudget": 16, "includeThoughts": true}},
	}
}

// call lets the model call a function, and tells it what came of it.
func (c *curlClient) call() (result, error) {
	path := "/v1beta/models/" + c.plan.Model + ":generateContent"
	body := c.asking("call")
	body["tools"] = []any{map[string]any{"functionDeclarations": []any{c.plan.Function}}}
	var r genai.GenerateContentResponse
	var turn struct{ Candidates []struct{ Content any } }
	first, err := c.post(path, body, func(b []byte) (map[string]any, error) {
		return nil, errors.Join(json.Unmarshal(b, &r), json.Unmarshal(b, &turn))
	})
	if err != nil || len(r.FunctionCalls()) == 0 {
		return result{}, fmt.Errorf("no function is called: %v, %w", first.seen, err)
	}
	made := r.FunctionCalls()[0]
	body["contents"] = append(body["contents"].([]any), turn.Candidates[0].Content, map[string]any{"parts": []any{
		map[string]any{"functionResponse": map[string]any{"name": made.Name, "response": map[string]any{"ok": true}}}}})
	then, err := c.post(path, body, saidSum)
	if err != nil {
		return result{}, err
	}
	sum := map[string]any{"name": made.Name, "args": made.Args, "finish": r.Candidates[0].FinishReason, "then": then.sum["text"]}
	return result{sum: sum, seen: []any{first.seen, then.seen}}, nil
}
