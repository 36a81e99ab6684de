package geminitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// tool is the part of a request's tools that the simulation serves: functions.
type tool struct {
	Functions []declaration `json:"functionDeclarations"`
}

// declaration is a function that the model may call.
type declaration struct {
	Name                 string          `json:"name"`
	Description          string          `json:"description"`
	Parameters           json.RawMessage `json:"parameters"`
	ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
}

type toolConfig struct {
	Calling struct {
		Mode    string   `json:"mode"` // AUTO when empty
		Allowed []string `json:"allowedFunctionNames"`
	} `json:"functionCallingConfig"`
}

type functionCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// readTools reads the tools and their configuration in whatever spelling they
// have; a reply says that they cannot be.
func (g *generateRequest) readTools() *reply {
	var tools []tool
	if !readAnySpelling(g.Tools, &tools) {
		return unknownField("Invalid value at 'tools'")
	}
	if !readAnySpelling(g.ToolConfig, &g.calling) {
		return unknownField("Invalid value at 'tool_config'")
	}
	for _, t := range tools {
		g.functions = append(g.functions, t.Functions...)
	}
	if g.calling.Calling.Mode != "" && len(g.functions) == 0 {
		return invalidArgument("bad_request", "Function calling config is set without function_declarations.")
	}
	return nil
}

func readAnySpelling(raw json.RawMessage, v any) bool {
	raw = bytes.TrimSpace(raw)
	if _, list := v.(*[]tool); list && len(raw) > 0 && raw[0] == '{' {
		raw = append(append([]byte("["), raw...), ']')
	}
	return len(raw) == 0 || json.Unmarshal(respell(raw), v) == nil
}

// called gives the function that the model calls instead of answering; nil:
// none. With the mode ANY it is the one that suits the prompt best. In AUTO one
// has to suit, and an answer of a function is not answered by a call.
func (g *generateRequest) called(p *prompt) *declaration {
	must := strings.EqualFold(g.calling.Calling.Mode, "ANY")
	if strings.EqualFold(g.calling.Calling.Mode, "NONE") || !must && g.answersCall() {
		return nil
	}
	var best *declaration
	most := 0
	if must {
		most = -1
	}
	for i := range g.functions {
		d := &g.functions[i]
		if allowed := g.calling.Calling.Allowed; len(allowed) > 0 && !slices.Contains(allowed, d.Name) {
			continue
		}
		if n := d.suits(p); n > most {
			best, most = d, n
		}
	}
	return best
}

// answersCall says that the last turn is a function's answer.
func (g *generateRequest) answersCall() bool {
	last := g.Contents[len(g.Contents)-1]
	return slices.ContainsFunc(last.Parts, func(p part) bool { return p.FunctionResponse != nil })
}

// suits counts the telling words of the function's name and description that
// the last text of the prompt has too.
func (d *declaration) suits(p *prompt) int {
	asked, words := keywords(p.last(), ""), strings.ReplaceAll(d.Name, "_", " ")+" "+d.Description
	n := 0
	for word, rest := cutWord(words); word != ""; word, rest = cutWord(rest) {
		if telling(word) && contains(asked, word) {
			n++
		}
	}
	return n
}

func (d *declaration) schema() json.RawMessage {
	if len(d.ParametersJSONSchema) > 0 {
		return d.ParametersJSONSchema
	}
	return d.Parameters
}

// sayCall calls a function, if there is room for all of the call.
func (v *visit) sayCall(a *author, d *declaration, room int64) said {
	args := "{}"
	if raw := d.schema(); len(raw) > 0 {
		args = a.fromSchema(raw)
	}
	tokens := countText(d.Name) + countText(args)
	if tokens > room {
		return said{tokens: room, finish: "MAX_TOKENS"}
	}
	return said{call: &functionCall{d.Name, json.RawMessage(args)}, tokens: tokens, finish: "STOP"}
}

// callPart is the call as it is sent. What a model thought before it calls
// comes with it, sealed, for the client to send back.
func (v *visit) callPart(c *functionCall) part {
	p := part{FunctionCall: encoded(c)}
	if v.model.ThinkingTokens > 0 {
		p.ThoughtSignature = encoded(base64.StdEncoding.EncodeToString([]byte("simulated thoughts before " + c.Name)))
	}
	return p
}

func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types
	}
	return b
}
