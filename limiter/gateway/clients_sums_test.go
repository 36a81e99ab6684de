package gateway

import (
	"encoding/json"
	"strings"

	"google.golang.org/genai"
)

// result is what became of a task.
type result struct {
	sum   map[string]any
	seen  any
	words *words
}

// doer does a task.
type doer func() (result, error)

// doTasks does those that the client has.
func doTasks(p plan, does map[string]doer, emit func(line)) {
	for _, task := range p.Tasks {
		if does[task] == nil {
			continue
		}
		r, err := does[task]()
		if err != nil {
			r = result{sum: map[string]any{"error": err.Error()}}
		}
		emit(line{Task: task, Sum: generic(r.sum).(map[string]any), Seen: generic(r.seen), Words: r.words})
	}
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

// refusal is the result of a call that was refused.
func refusal(code int, e genai.APIError, w *words, seen any) result {
	w.Code, w.Status, w.Message = code, e.Status, e.Message
	w.Hint, _ = detail(e, "RetryInfo")["retryDelay"].(string)
	sum := map[string]any{"code": code}
	if w.Hint != "" {
		sum["hint"] = w.Hint
	}
	return result{sum: sum, seen: seen, words: w}
}

// summer sums an answer's body up.
type summer func(body []byte) (map[string]any, error)

// result has all of the answer but what is of the moment or of the gateway.
func (a curled) result(sum summer) (result, error) {
	for name := range a.header {
		if strings.HasPrefix(name, "X-Nightshift-") || name == "Date" || name == "X-Accel-Buffering" || name == "Transfer-Encoding" {
			delete(a.header, name)
		}
	}
	seen := map[string]any{"status": a.status, "header": a.header, "body": a.body}
	if a.status == 200 {
		s, err := sum([]byte(a.body))
		return result{sum: s, seen: seen}, err
	}
	var e struct{ Error genai.APIError }
	if err := json.Unmarshal([]byte(a.body), &e); err != nil {
		e.Error.Message = a.body // a page of the front end
	}
	return refusal(a.status, e.Error, &words{Type: "HTTP"}, seen), nil
}

func tokensOf(r *genai.GenerateContentResponse, sum map[string]any) map[string]any {
	u := r.UsageMetadata
	sum["finish"] = r.Candidates[0].FinishReason
	sum["prompt"], sum["output"], sum["thoughts"], sum["total"] = u.PromptTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount, u.TotalTokenCount
	return sum
}

func saidSum(body []byte) (map[string]any, error) {
	var r genai.GenerateContentResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	return tokensOf(&r, map[string]any{"text": r.Text()}), nil
}

func schemaSum(body []byte) (map[string]any, error) {
	sum, err := saidSum(body)
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
