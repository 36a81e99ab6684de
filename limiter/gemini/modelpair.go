package gemini

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// ModelPair says that another model may answer in the place of one. Whoever
// configures it vouches for what it says; nothing is taken for granted.
type ModelPair struct {
	From, To string // any of the models' names

	Residency bool // data may go to To wherever it may go to From; must be so
	Context   bool // To's shorter context is enough; without it To must take as much as From
	Tools     bool // To knows the tools that requests name; without it requests with tools do not go there
	Schema    bool // To keeps to response schemas; without it requests with one do not go there

	// What To thinks with, in the place of what the request says: Gemini 2.5 models
	// take a budget in tokens, later ones a level. Without either the request's
	// thinkingConfig is left out and To thinks as it does by default.
	ThinkingBudget *int64
	ThinkingLevel  string
	Drop           []string // fields of generationConfig that To does not take
}

// translate makes a request for To of one for From. ok is false for one that
// must not go there.
func (p ModelPair) translate(body []byte) (out []byte, note string, ok bool) {
	a := askedOf(body)
	switch {
	case a.top == nil, has(a.top, "cachedContent"): // it belongs to its model
		return nil, "", false
	case has(a.top, "tools") && !p.Tools, a.schema() && !p.Schema:
		return nil, "", false
	}
	t := translation{pair: p, config: a.config}
	t.thinking()
	for _, name := range p.Drop {
		t.drop(name)
	}
	t.contents(a.top)
	if t.config != nil {
		delete(a.top, "generation_config")
		a.top["generationConfig"] = mustMarshal(t.config)
	}
	return mustMarshal(a.top), t.note(), true
}

// translation is one request on its way to another model.
type translation struct {
	pair    ModelPair
	config  map[string]json.RawMessage
	dropped []string
	changed []string
}

func (t *translation) drop(name string) {
	if member(t.config, name) == nil {
		return
	}
	delete(t.config, name)
	delete(t.config, snakeCase(name))
	t.dropped = append(t.dropped, name)
}

// thinking puts what the pair says in the place of what the request says. Whether
// thoughts are shown stays as asked.
func (t *translation) thinking() {
	var asked map[string]json.RawMessage
	_ = json.Unmarshal(member(t.config, "thinkingConfig"), &asked)
	think := map[string]json.RawMessage{}
	if show := member(asked, "includeThoughts"); show != nil {
		think["includeThoughts"] = show
	}
	switch {
	case t.pair.ThinkingBudget != nil:
		think["thinkingBudget"] = json.RawMessage(strconv.FormatInt(*t.pair.ThinkingBudget, 10))
		t.changed = append(t.changed, "thinkingBudget")
	case t.pair.ThinkingLevel != "":
		think["thinkingLevel"] = quote(t.pair.ThinkingLevel)
		t.changed = append(t.changed, "thinkingLevel")
	default:
		t.drop("thinkingConfig")
		return
	}
	if t.config == nil {
		t.config = map[string]json.RawMessage{}
	}
	delete(t.config, "thinking_config")
	t.config["thinkingConfig"] = mustMarshal(think)
}

// contents leaves out the signatures of another model's thoughts.
func (t *translation) contents(top map[string]json.RawMessage) {
	var contents []map[string]json.RawMessage
	if json.Unmarshal(top["contents"], &contents) != nil {
		return
	}
	found := false
	for _, content := range contents {
		var parts []map[string]json.RawMessage
		if json.Unmarshal(content["parts"], &parts) != nil {
			continue
		}
		for _, p := range parts {
			if member(p, "thoughtSignature") != nil {
				found = true
				delete(p, "thoughtSignature")
				delete(p, "thought_signature")
			}
		}
		content["parts"] = mustMarshal(parts)
	}
	if found {
		top["contents"] = mustMarshal(contents)
		t.dropped = append(t.dropped, "thoughtSignature")
	}
}

// note is "dropped logprobs, thoughtSignature, set thinkingBudget".
func (t *translation) note() string {
	var parts []string
	if len(t.dropped) > 0 {
		slices.Sort(t.dropped)
		parts = append(parts, "dropped "+strings.Join(t.dropped, ", "))
	}
	if len(t.changed) > 0 {
		parts = append(parts, "set "+strings.Join(t.changed, ", "))
	}
	return strings.Join(parts, ", ")
}

// mustMarshal writes what was read as JSON.
func mustMarshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
