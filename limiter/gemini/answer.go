package gemini

import "bytes"

// answerSchema is what a 200 answer is looked through for, unary and streamed.
var answerSchema = &field{name: "answer", mark: true, keys: map[string]*field{
	"usageMetadata": {name: "usage", take: true},
	"error":         {name: "error", take: true},
	"promptFeedback": {name: "feedback", keys: map[string]*field{
		"blockReason": {name: "blockReason", take: true},
	}},
	"candidates": {name: "candidate", mark: true, keys: map[string]*field{
		"finishReason": {name: "finishReason", take: true},
		"groundingMetadata": {name: "grounding", keys: map[string]*field{
			"webSearchQueries": {name: "searches", take: true},
		}},
		"content": {name: "content", keys: map[string]*field{
			"parts": {name: "part", mark: true, keys: map[string]*field{
				"text":                {name: "text", take: true},
				"thought":             {name: "thought", take: true},
				"inlineData":          {name: "data", take: true},
				"functionCall":        {name: "data", take: true},
				"fileData":            {name: "data", take: true},
				"executableCode":      {name: "data", take: true},
				"codeExecutionResult": {name: "data", take: true},
			}},
		}},
	}},
	"embedding":   {name: "embedding", mark: true},
	"embeddings":  {name: "embedding", mark: true},
	"predictions": {name: "embedding", mark: true}, // of Vertex AI's predict
	"totalTokens": {name: "count", take: true},
}}

// answer is what was seen of a 200 answer so far.
type answer struct {
	scan scanner

	usage    Usage
	hasUsage bool
	searches int64  // queries of grounding; a stream repeats them
	asked    int64  // those of the object at hand
	failure  []byte // an error object inside the 200
	blocked  string // promptFeedback.blockReason
	finish   string // the worst finishReason
	finished int    // candidates with a finishReason
	visible  bool   // something that is not a thought
	spoke    bool   // something, a thought or not
	objects  int    // whole JSON objects seen
	embedded bool
	first    byte // the first byte that is no space
	cut      bool // a document of the stream ended in its middle

	partData, partThought bool
}

func newAnswer() *answer {
	a := &answer{}
	a.scan.root, a.scan.on = answerSchema, a.see
	a.scan.reset()
	return a
}

// push takes the next piece of a document.
func (a *answer) push(p []byte) {
	if a.first == 0 {
		if t := bytes.TrimLeft(p, " \r\n\t\ufeff"); len(t) > 0 {
			a.first = t[0]
		}
	}
	a.scan.push(p)
}

func (a *answer) see(f *field, raw []byte) {
	switch f.name {
	case "answer":
		a.objects++
		a.searches, a.asked = max(a.searches, a.asked), 0
	case "searches":
		a.asked += elements(raw)
	case "usage":
		a.snapshot(raw)
	case "error":
		a.fail(raw)
	case "blockReason":
		a.blocked = unquote(raw)
	case "finishReason":
		a.finishedWith(unquote(raw))
	case "embedding", "count":
		a.embedded = true
	case "text", "data":
		a.partData = a.partData || len(raw) > len(`""`)
		a.spoke = a.spoke || a.partData
	case "thought":
		a.partThought = string(raw) == "true"
	case "part":
		a.visible = a.visible || a.partData && !a.partThought
		a.partData, a.partThought = false, false
	}
}

// snapshot takes usage that is cumulative in a stream: the largest is the last
// that counts, and a later chunk without any changes nothing.
func (a *answer) snapshot(raw []byte) {
	if u, ok := parseUsage(raw); ok && (!a.hasUsage || u.Total >= a.usage.Total) {
		a.usage, a.hasUsage = u, true
	}
}

// fail keeps an error object (or string). A null is none.
func (a *answer) fail(raw []byte) {
	if len(raw) > 0 && raw[0] != 'n' && a.failure == nil {
		a.failure = append([]byte(`{"error":`), append(bytes.Clone(raw), '}')...)
	}
}

func (a *answer) finishedWith(reason string) {
	if reason == "" || reason == "FINISH_REASON_UNSPECIFIED" {
		return
	}
	a.finished++
	if a.finish == "" || a.finish == "STOP" {
		a.finish = reason
	}
}

// failed says that no answer of a model came: an error, or a page of something on the way.
func (a *answer) failed() bool {
	if a.spoke {
		return false
	}
	return a.failure != nil || a.first != 0 && a.first != '{' && a.first != '['
}

// unquote takes the quotes off a JSON string without escapes.
func unquote(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return string(raw[1 : len(raw)-1])
}
