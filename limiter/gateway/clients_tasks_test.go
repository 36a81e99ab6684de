package gateway

import (
	"fmt"
	"reflect"
	"strings"
)

// plan is what the clients of the matrix are told: where, with which key, and
// what to ask. Those that are programs get it as JSON in CLIENT_PLAN.
type plan struct {
	Base      string            `json:"base"` // of the API or of the gateway, without a slash at its end
	Key       string            `json:"key"`
	CA        string            `json:"ca"` // a file with whom to trust; "" without TLS
	BadKey    string            `json:"badkey"`
	Model     string            `json:"model"`
	Long      string            `json:"long"`    // its streams begin and do not end
	Stepped   string            `json:"stepped"` // sends a chunk when the client has seen the one before
	Limited   string            `json:"limited"` // one request a minute
	Refused   string            `json:"refused"` // answers 429
	Broken    string            `json:"broken"`  // answers 503
	Midway    string            `json:"midway"`  // its streams end with an error event
	Cut       string            `json:"cut"`     // the connection of its streams breaks off
	Embedding string            `json:"embedding"`
	Prompts   map[string]string `json:"prompts"` // by task
	Function  any               `json:"function"`
	Schema    any               `json:"schema"`
	Image     string            `json:"image"` // PNG in base64
	Tasks     []string          `json:"tasks"`
}

// The schemas name their properties in the order of the alphabet: the clients
// write them in orders of their own, and the answers have to be equal.
var (
	placeSchema = map[string]any{"type": "object", "required": []string{"city", "score", "tags"}, "properties": map[string]any{
		"city":  map[string]any{"type": "string", "enum": []string{"kyoto", "osaka"}},
		"score": map[string]any{"type": "integer", "minimum": 1, "maximum": 5},
		"tags":  map[string]any{"type": "array", "minItems": 2, "maxItems": 2, "items": map[string]any{"type": "string"}},
	}}
	heatFunction = map[string]any{"name": "set_thermostat", "description": "Sets the heating of a room", "parameters": map[string]any{
		"type": "object", "required": []string{"degrees", "room"}, "properties": map[string]any{
			"degrees": map[string]any{"type": "integer", "minimum": 15, "maximum": 25},
			"room":    map[string]any{"type": "string", "enum": []string{"kitchen", "bedroom"}},
		},
	}}
)

// onePixel is an image whose base64 has a sign that the alphabet for URLs has not.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func newPlan(base, key string) plan {
	p := plan{
		Base: base, Key: key, BadKey: theirKey, Model: flash, Long: "gemini-long", Stepped: "gemini-stepped",
		Limited: "gemini-limited", Refused: "gemini-refused", Broken: "gemini-broken",
		Midway: "gemini-midway", Cut: "gemini-cut", Embedding: "gemini-embedding-001",
		Function: heatFunction, Schema: placeSchema, Image: onePixel,
		Prompts: map[string]string{
			"system": "You sell furniture.", "turn": "What is this?", "said": "A walnut desk.", "chat": "Praise its walnut top.",
			"unary":  "Describe the walnut desk 机 🪑, \"quoted\" <b>&amp;</b>.",
			"stream": strings.Repeat("Tell a long story about walnut forests. ", 5),
			"array":  strings.Repeat("Tell a long tale of oak forests. ", 5),
			"slow":   "Think slowly about the walnut desk.",
			"flush":  "Tell it step by step.",
			"abort":  "Talk without end.",
			"embed":  "walnut desk in Kyoto",
			"count":  "Count these seven words, one by one.",
			"call":   "Make the heating in the kitchen warmer.",
			"schema": "Rate the walnut shop in Kyoto.",
			"midway": "Begin and fail.", "cut": "Begin and break off.",
			"quotastream": "And a stream.", "quota": "One of two.", "refused": "Refuse this.", "broken": "Break down.",
		},
	}
	for _, t := range tasks {
		p.Tasks = append(p.Tasks, t.name)
	}
	return p
}

// task is one thing that every client does. What differs by design is compared
// by its status alone: the gateway's refusals have words of their own.
type task struct {
	name   string
	words  bool                      // it is refused
	own    bool                      // by the gateway itself, not by the provider
	some   bool                      // not every client can
	wire   bool                      // what is seen of its end depends on the version of HTTP
	expect func(map[string]any) bool // of the sum
}

// tasks in the order in which they are done: those that make as many calls both
// ways come first, so that the simulated API counts alike.
var tasks = []task{
	{name: "unary", expect: answered}, {name: "slash", some: true, expect: answered},
	{name: "v1", expect: answered}, {name: "chat", expect: answered},
	{name: "array", some: true, expect: chunks(2)}, {name: "stream", expect: chunks(2)}, {name: "slow", expect: chunks(2)}, {name: "flush", expect: chunks(4)},
	{name: "abort", expect: func(s map[string]any) bool { return s["aborted"] == true && s["first"] != "" }},
	{name: "embed", expect: vectors(1)}, {name: "embeds", expect: vectors(2)},
	{name: "count", expect: func(s map[string]any) bool { n, _ := s["total"].(float64); return n > 3 && n < 30 }},
	{name: "list", expect: func(s map[string]any) bool { return fmt.Sprint(s["models"]) == fmt.Sprint(modelPaths()) }},
	{name: "get", expect: func(s map[string]any) bool { return s["name"] == "models/"+flash && s["input"] == 1048576.0 }},
	{name: "call", expect: calledHeat}, {name: "schema", expect: ratedKyoto},
	{name: "midway", expect: begun}, {name: "cut", wire: true, expect: begun},
	{name: "refused", words: true, expect: coded(429, "17s")}, {name: "broken", words: true, expect: coded(503, "")},
	{name: "quota", words: true, own: true, expect: coded(429, "?")},
	{name: "quotastream", words: true, own: true, expect: coded(429, "?")},
	{name: "badkey", words: true, own: true, expect: coded(400, "")},
	{name: "doubled", words: true, own: true, expect: coded(404, "")},
	{name: "unserved", words: true, own: true, expect: coded(404, "")},
}

func answered(s map[string]any) bool {
	text, _ := s["text"].(string)
	prompt, _ := s["prompt"].(float64)
	output, _ := s["output"].(float64)
	thoughts, _ := s["thoughts"].(float64)
	return strings.Contains(text, "alnut") && s["finish"] == "STOP" && output > 0 && s["total"] == prompt+output+thoughts
}

func chunks(least float64) func(map[string]any) bool {
	return func(s map[string]any) bool {
		n, _ := s["chunks"].(float64)
		return n >= least && s["finish"] == "STOP" && s["text"] != ""
	}
}

// begun is a stream that did not end well. Whether a client notices is its own
// affair, and is compared with the rest of what it has seen.
func begun(s map[string]any) bool { text, _ := s["text"].(string); return len(text) > 20 }

func vectors(n int) func(map[string]any) bool {
	return func(s map[string]any) bool {
		list, _ := s["vectors"].([]any)
		if len(list) != n {
			return false
		}
		first, _ := list[0].([]any)
		return len(first) == 8
	}
}

func calledHeat(s map[string]any) bool {
	args, _ := s["args"].(map[string]any)
	degrees, _ := args["degrees"].(float64)
	then, _ := s["then"].(string)
	return s["name"] == "set_thermostat" && args["room"] == "kitchen" && degrees >= 15 && degrees <= 25 && s["finish"] == "STOP" && then != ""
}

func ratedKyoto(s map[string]any) bool {
	value, _ := s["value"].(map[string]any)
	tags, _ := value["tags"].([]any)
	return value["city"] == "kyoto" && len(tags) == 2 && len(value) == 3
}

// coded wants a status and a hint; "?" is any, "" none.
func coded(code float64, hint string) func(map[string]any) bool {
	return func(s map[string]any) bool {
		got, _ := s["hint"].(string)
		return s["code"] == code && (got == hint || hint == "?" && strings.HasSuffix(got, "s"))
	}
}

// line is what a client says of a task: a sum in terms that all clients share,
// and all that it has seen.
type line struct {
	Task  string         `json:"task"`
	Chunk int            `json:"chunk"` // of a stream, as soon as it is there; no result
	Sum   map[string]any `json:"sum"`
	Seen  any            `json:"seen"`
	Words *words         `json:"words"`
}

// words are what a developer has before him when a call is refused.
type words struct {
	Type    string `json:"type"`
	Code    int    `json:"code"`
	Status  string `json:"status"`
	Hint    string `json:"hint"`
	Message string `json:"message"`
}

func (w *words) String() string {
	return fmt.Sprintf("%s %d %s, hint %q: %s", w.Type, w.Code, w.Status, w.Hint, w.Message)
}

// differs says what a client saw otherwise through the gateway; "" when nothing.
func (t task) differs(direct, through line, secure bool) string {
	switch {
	case !t.expect(direct.Sum):
		return fmt.Sprintf("direct: %v", direct.Sum)
	case !t.expect(through.Sum):
		return fmt.Sprintf("gateway: %v", through.Sum)
	case t.own, t.wire && secure && reflect.DeepEqual(direct.Sum, through.Sum) && (direct.Seen == "") == (through.Seen == ""):
		return ""
	case !reflect.DeepEqual(direct.Sum, through.Sum):
		return fmt.Sprintf("direct %v, gateway %v", direct.Sum, through.Sum)
	case !reflect.DeepEqual(direct.Seen, through.Seen):
		return fmt.Sprintf("direct saw %v, gateway %v", direct.Seen, through.Seen)
	}
	return ""
}
