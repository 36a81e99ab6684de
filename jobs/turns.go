package jobs

import (
	"fmt"
	"strings"
)

// TurnTemplate is one turn of a run's conversation, before it is rendered. A turn
// that renders to nothing is left out.
type TurnTemplate struct {
	Role string `json:"role,omitempty"` // RoleUser, also when empty, or RoleModel
	// From is the field of the row that has turns, a list of {"role", "text"}, which
	// take this one's place: Role and Parts are empty then.
	From  string         `json:"from,omitempty"`
	Parts []PartTemplate `json:"parts,omitempty"`

	Line int `json:"-"` // of the file that it was read from, for errors
}

// PartTemplate is one part of a turn: a template of text, or one of a file's path
// (or a data: URI). A part that renders to nothing is left out.
type PartTemplate struct {
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`

	Line int `json:"-"`
}

// turnForm is a turn, parsed.
type turnForm struct {
	role  string
	from  string
	where string // what errors call it
	parts []partForm
}

type partForm struct {
	*parsed
	file  bool
	field string // the row's field that it is about; "" where there are several
}

// turns parses a conversation. The file is what errors call the template's file.
func (w *wants) turns(ts []TurnTemplate, file, of string) ([]turnForm, error) {
	var out []turnForm
	for i, t := range ts {
		where := fmt.Sprintf("turn %d%s", i+1, of)
		if file != "" && t.Line > 0 {
			where = fmt.Sprintf("%s, line %d", file, t.Line)
		}
		f := turnForm{role: t.Role, from: t.From, where: where}
		if err := f.check(t); err != nil {
			return nil, err
		}
		if t.From != "" {
			w.names[t.From] = true
		}
		for _, p := range t.Parts {
			part, err := w.part(p, file, where)
			if err != nil {
				return nil, err
			}
			f.parts = append(f.parts, part)
		}
		out = append(out, f)
	}
	return out, nil
}

func (f *turnForm) check(t TurnTemplate) error {
	switch {
	case t.From != "" && (t.Role != "" || len(t.Parts) > 0):
		return fmt.Errorf("%s: a turn has from, or role and text: give one of them", f.where)
	case t.From == "" && len(t.Parts) == 0:
		return fmt.Errorf("%s: the turn has no text, no file and no parts", f.where)
	case t.Role != "" && t.Role != RoleUser && t.Role != RoleModel:
		return fmt.Errorf("%s: role %q: want user or model (what is said beforehand goes into system)", f.where, t.Role)
	case t.Role == "":
		f.role = RoleUser
	}
	return nil
}

// part also notes which field of the row it is about.
func (w *wants) part(p PartTemplate, file, where string) (partForm, error) {
	text, name := p.Text, where
	if p.File != "" {
		text = p.File
	}
	if file != "" && p.Line > 0 {
		name = file
	}
	own := wants{names: map[string]bool{}}
	t, err := own.parseAt(name, text, p.Line)
	if err != nil {
		return partForm{}, err
	}
	part := partForm{parsed: t, file: p.File != ""}
	for field := range own.names {
		if w.names[field] = true; len(own.names) == 1 && !own.all {
			part.field = field
		}
	}
	w.all = w.all || own.all
	return part, nil
}

// converse renders a conversation into r.
func (f *form) converse(data Object, r *Request) error {
	for _, t := range f.turns {
		if t.from != "" {
			turns, err := turnsOf(data, t.from, t.where)
			if err != nil {
				return err
			}
			r.Turns = append(r.Turns, turns...)
			continue
		}
		parts, err := t.render(data)
		if err != nil {
			return err
		}
		if len(parts) > 0 {
			r.Turns = append(r.Turns, Turn{Role: t.role, Parts: parts})
		}
	}
	if n := len(r.Turns); n > 0 && r.Turns[n-1].Role == RoleModel {
		return &renderFault{"the conversation ends with a turn of the model: nothing is asked", "end it with a turn of the user"}
	}
	r.asOne()
	return nil
}

func (t *turnForm) render(data Object) ([]Part, error) {
	var parts []Part
	for _, p := range t.parts {
		text, err := p.execute(data)
		if err != nil {
			return nil, err
		}
		switch {
		case strings.TrimSpace(text) == "":
		case p.file:
			a, err := fileNamed(strings.TrimSpace(text), p.field)
			if err != nil {
				return nil, err
			}
			parts = append(parts, Part{File: a})
		default:
			parts = append(parts, Part{Text: text})
		}
	}
	return parts, nil
}

// turnsOf reads the turns that a field of the row has. A row without any has an
// empty list, or null.
func turnsOf(data Object, field, where string) ([]Turn, error) {
	v, ok := data[field]
	if !ok {
		return nil, &FieldError{Field: field, Where: where}
	}
	list, ok := v.(List)
	if _, null := v.(Null); null {
		return nil, nil
	}
	if !ok {
		return nil, &Problem{Field: field, What: kindOf(v) + " where turns are wanted", Remedy: turnsRemedy}
	}
	var turns []Turn
	for i, one := range list {
		t, what := turnOf(one)
		if what != "" {
			return nil, &Problem{Field: fmt.Sprintf("%s[%d]", field, i), What: what, Remedy: turnsRemedy}
		}
		if strings.TrimSpace(t.Parts[0].Text) != "" {
			turns = append(turns, t)
		}
	}
	return turns, nil
}

const turnsRemedy = `write it as a list: [{"role": "user", "text": "…"}, {"role": "model", "text": "…"}]`

// turnOf reads {"role", "text"}; content is another name of text, and assistant of
// model.
func turnOf(v any) (t Turn, what string) {
	o, ok := v.(Object)
	if !ok {
		return t, kindOf(v) + " where a turn is wanted"
	}
	for name, v := range o {
		s, isText := v.(string)
		switch {
		case name != "role" && name != "text" && name != "content":
			return t, fmt.Sprintf("a turn has no %q", name)
		case !isText:
			return t, fmt.Sprintf("%s as the turn's %s", kindOf(v), name)
		case name == "role" && (s == RoleModel || s == "assistant"):
			t.Role = RoleModel
		case name == "role" && s == RoleUser:
			t.Role = RoleUser
		case name == "role":
			return t, fmt.Sprintf("role %q: want user or model", s)
		case t.Parts != nil:
			return t, "the turn has text and content: give one of them"
		default:
			t.Parts = []Part{{Text: s}}
		}
	}
	switch {
	case t.Role == "":
		return t, "the turn has no role"
	case t.Parts == nil:
		return t, "the turn has no text"
	}
	return t, ""
}
