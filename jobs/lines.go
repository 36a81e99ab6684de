package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The values of Spec.Lines: whose batch file a run's rows are lines of.
const (
	LinesOpenAI = "openai" // {"custom_id", "method", "url", "body"}
	LinesGemini = "gemini" // {"key", "request"}
)

// compileLines makes rows of the lines of a batch file, which no template touches.
// A fault of a line is a *Problem that names its member.
func (t *Template) compileLines(spec Spec) error {
	if what := spec.besideLines(); what != "" {
		return fmt.Errorf("the rows are requests already, which are sent as they stand: %s cannot be added to them", what)
	}
	switch {
	case spec.Lines == LinesOpenAI:
		t.line = func(ms []member) (Request, error) { return openAIRequest(ms, spec.Kind) }
	case spec.Lines == LinesGemini && spec.Kind == Embed:
		return errors.New("lines of Gemini's batch are taken for generateContent only: for embeddings give rows with their texts, --kind embed and --prompt '{{.text}}'")
	case spec.Lines == LinesGemini:
		t.line = geminiRequest
	default:
		return fmt.Errorf("lines %q: want %s or %s", spec.Lines, LinesOpenAI, LinesGemini)
	}
	return nil
}

// besideLines names what a spec has that its lines would have to take up.
func (s Spec) besideLines() string {
	switch {
	case s.Template != "" || len(s.Turns) > 0 || len(s.Outputs) > 0:
		return "a template"
	case s.System != "":
		return "a system instruction"
	case len(s.Matrix) > 0:
		return "a matrix"
	case encoded(s.Settings) != "{}":
		return "settings (temperature, schema, …)"
	}
	return ""
}

// lineObject is an object of a line, of which each member has to be asked for: what
// is left has no equivalent and is refused, never dropped.
type lineObject struct {
	at      string // "body"
	members map[string]json.RawMessage
}

func newLineObject(at string, text []byte) (lineObject, error) {
	o := lineObject{at: at}
	if len(text) == 0 {
		return o, &Problem{Field: at, What: "the line has no such member", Remedy: "repair the line"}
	}
	if err := json.Unmarshal(text, &o.members); err != nil || o.members == nil {
		return o, &Problem{Field: at, What: "want an object, not " + kindOfRaw(text), Remedy: "repair the line"}
	}
	for name, v := range o.members { // null is what is not there
		if string(v) == "null" {
			delete(o.members, name)
		}
	}
	return o, nil
}

// take gives a member and crosses it off; nil where there is none.
func (o lineObject) take(name string) json.RawMessage {
	v := o.members[name]
	delete(o.members, name)
	return v
}

// read takes a member into v, if it is there.
func (o lineObject) read(name string, v any) error {
	text := o.take(name)
	if text == nil {
		return nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return o.wrong(name, "cannot be "+short(text), "repair the line")
	}
	return nil
}

// must wants a member to be one of these, or absent: other values would have to do
// something.
func (o lineObject) must(name string, values ...string) error {
	text := o.take(name)
	if text == nil || slices.Contains(values, string(text)) {
		return nil
	}
	return o.wrong(name, short(text)+" has no equivalent in Gemini's API", "take it out of the line")
}

// rest refuses what nobody asked for.
func (o lineObject) rest() error {
	names := make([]string, 0, len(o.members))
	for name := range o.members {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	return o.wrong(slices.Min(names), "has no equivalent that nightshift sends", "take it out of the line, or write the request as a Gemini batch line, which is sent as it stands")
}

func (o lineObject) wrong(name, what, remedy string) error {
	return &Problem{Field: o.at + "." + name, What: what, Remedy: remedy}
}

// short is a value in a message.
func short(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil || b.Len() > 60 {
		return "this value"
	}
	return b.String()
}

func kindOfRaw(text []byte) string {
	v, err := value(bytes.TrimSpace(text))
	if err != nil {
		return "this"
	}
	return kindOf(v)
}
