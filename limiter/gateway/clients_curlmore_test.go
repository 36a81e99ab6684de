package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"google.golang.org/genai"
)

// summer sums an answer's body up.
type summer func(body []byte) (map[string]any, error)

// result has all of the answer but what is of the moment or of the gateway.
func (a curled) result(sum summer) (result, error) {
	for name := range a.header {
		if strings.HasPrefix(name, "X-Nightshift-") || name == "Date" || name == "X-Accel-Buffering" {
			delete(a.header, name)
		}
	}
	r := result{seen: map[string]any{"status": a.status, "header": a.header, "body": a.body}}
	if a.status == 200 && sum != nil {
		var err error
		r.sum, err = sum([]byte(a.body))
		return r, err
	}
	var e struct{ Error genai.APIError }
	if err := json.Unmarshal([]byte(a.body), &e); err != nil { // a page of the front end
		e.Error.Message = a.body
	}
	hint, _ := detail(e.Error, "RetryInfo")["retryDelay"].(string)
	r.sum = map[string]any{"code": a.status}
	if hint != "" {
		r.sum["hint"] = hint
	}
	r.words = &words{"exit 0, HTTP", a.status, e.Error.Status, hint, e.Error.Message}
	return r, nil
}

func unarySum(body []byte) (map[string]any, error) {
	var r genai.GenerateContentResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	return tokensOf(&r, map[string]any{"text": r.Text()}), nil
}

func schemaSum(body []byte) (map[string]any, error) {
	sum, err := unarySum(body)
	if err != nil {
		return nil, err
	}
	var value any
	err = json.Unmarshal([]byte(sum["text"].(string)), &value)
	return map[string]any{"value": value}, err
}

func embedSum(body []byte) (map[string]any, error) {
	var r struct {
		Embedding  *struct{ Values []float64 }
		Embeddings []struct{ Values []float64 }
	}
	err := json.Unmarshal(body, &r)
	var vectors [][]float64
	if r.Embedding != nil {
		vectors = append(vectors, r.Embedding.Values)
	}
	for _, e := range r.Embeddings {
		vectors = append(vectors, e.Values)
	}
	return map[string]any{"vectors": vectors}, err
}

func countSum(body []byte) (map[string]any, error) {
	var r genai.CountTokensResponse
	err := json.Unmarshal(body, &r)
	return map[string]any{"total": r.TotalTokens}, err
}

func listSum(body []byte) (map[string]any, error) {
	var r struct{ Models []struct{ Name string } }
	err := json.Unmarshal(body, &r)
	var names []string
	for _, m := range r.Models {
		names = append(names, m.Name)
	}
	return map[string]any{"models": names}, err
}

func getSum(body []byte) (map[string]any, error) {
	var m genai.Model
	err := json.Unmarshal(body, &m)
	return map[string]any{"name": m.Name, "input": m.InputTokenLimit, "output": m.OutputTokenLimit}, err
}

// call lets the model call a function, and tells it what came of it.
func (c *curlClient) call() (result, error) {
	path := c.plan.Model + ":generateContent"
	body := map[string]any{"contents": contentsOf(c.plan.Prompts["call"]), "tools": []any{map[string]any{"functionDeclarations": []any{c.plan.Function}}}}
	var r genai.GenerateContentResponse
	var turn struct{ Candidates []struct{ Content any } }
	first, err := c.post(c.plan.Base, c.plan.Key, path, body, func(b []byte) (map[string]any, error) {
		return nil, errors.Join(json.Unmarshal(b, &r), json.Unmarshal(b, &turn))
	})
	if err != nil || len(r.FunctionCalls()) == 0 {
		return result{}, fmt.Errorf("no function is called: %v, %w", first.seen, err)
	}
	made := r.FunctionCalls()[0]
	body["contents"] = append(body["contents"].([]any), turn.Candidates[0].Content, map[string]any{"parts": []any{
		map[string]any{"functionResponse": map[string]any{"name": made.Name, "response": map[string]any{"ok": true}}}}})
	then, err := c.post(c.plan.Base, c.plan.Key, path, body, unarySum)
	if err != nil {
		return result{}, err
	}
	sum := map[string]any{"name": made.Name, "args": made.Args, "finish": r.Candidates[0].FinishReason, "then": then.sum["text"]}
	return result{sum: sum, seen: []any{first.seen, then.seen}}, nil
}

// stream reads a stream of events, or of an array's elements, as each comes.
func (c *curlClient) stream(task, model, query string) (result, error) {
	b, err := json.Marshal(map[string]any{"contents": contentsOf(c.plan.Prompts[task])})
	if err != nil {
		return result{}, err
	}
	var all []*genai.GenerateContentResponse
	var text strings.Builder
	got, err := c.curl(func(l string) {
		r := &genai.GenerateContentResponse{}
		if json.Unmarshal([]byte(strings.Trim(strings.TrimPrefix(l, "data: "), "[],\r\n")), r) != nil {
			return // a separator, or the array's end
		}
		all = append(all, r)
		text.WriteString(r.Text())
		c.emit(line{Task: task, Chunk: len(all)})
	}, fmt.Sprintf("%s/v1beta/models/%s:streamGenerateContent?%skey=%s", c.plan.Base, model, query, c.plan.Key),
		"-H", "Content-Type: application/json", "-d", string(b))
	if err != nil || got.status == 200 && len(all) == 0 {
		return result{}, fmt.Errorf("no stream: %d %s, %w", got.status, got.body, err)
	}
	return got.result(func([]byte) (map[string]any, error) {
		return tokensOf(all[len(all)-1], map[string]any{"text": text.String(), "chunks": len(all)}), nil
	})
}

// broken reads a stream that does not end well.
func (c *curlClient) broken(task, model string) (result, error) {
	var text string
	got, err := c.curl(func(l string) {
		var r genai.GenerateContentResponse
		if json.Unmarshal([]byte(strings.TrimPrefix(l, "data: ")), &r) == nil {
			text += r.Text()
		}
	}, fmt.Sprintf("%s/v1beta/models/%s:streamGenerateContent?alt=sse&key=%s", c.plan.Base, model, c.plan.Key),
		"-H", "Content-Type: application/json", "-d", fmt.Sprintf(`{"contents":[{"parts":[{"text":%q}]}]}`, c.plan.Prompts[task]))
	return result{sum: map[string]any{"text": text}, seen: []any{got.body, fmt.Sprint(err)}}, nil
}

// abort ends curl when it has printed an event.
func (c *curlClient) abort() (result, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	var first string
	_, err := (&curlClient{ctx, c.plan, c.emit}).curl(func(l string) {
		var r genai.GenerateContentResponse
		if json.Unmarshal([]byte(strings.TrimPrefix(l, "data: ")), &r) == nil && first == "" {
			first = r.Text()
			cancel()
		}
	}, fmt.Sprintf("%s/v1beta/models/%s:streamGenerateContent?alt=sse&key=%s", c.plan.Base, c.plan.Long, c.plan.Key),
		"-H", "Content-Type: application/json", "-d", fmt.Sprintf(`{"contents":[{"parts":[{"text":%q}]}]}`, c.plan.Prompts["abort"]))
	var killed *exec.ExitError
	return result{sum: map[string]any{"first": first, "aborted": errors.As(err, &killed)}}, nil
}
