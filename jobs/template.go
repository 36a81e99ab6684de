package jobs

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"
)

// Template is what a run's rows are made by, parsed: prompt or conversation and
// system instruction, of each output. It is safe for concurrent use: a worker
// compiles a run's once.
type Template struct {
	kind  Kind
	model string
	forms []form                          // one without outputs
	line  func([]member) (Request, error) // of a batch file's line; nil: forms are rendered
	wants wants
}

// form is what one output is made by.
type form struct {
	output   string
	prompt   *parsed // nil where turns are
	turns    []turnForm
	system   *parsed // nil where there is none
	settings *Settings
	shared   [sha256.Size]byte // digest of what all rows share, for Key
}

// parsed is a template with what its errors call it.
type parsed struct {
	*template.Template
	name  string
	above int // lines of the file before it
}

// places are what errors call the templates.
type places struct {
	promptFile, systemFile string
	promptLine, systemLine int // of the file at which it begins; 0 or 1: it is all of the file
}

// Compile parses a run's templates. Its error names the template and the line.
func Compile(spec Spec) (*Template, error) { return compile(spec, places{}) }

func compile(spec Spec, at places) (*Template, error) {
	t := &Template{kind: spec.Kind, model: spec.Model, wants: wants{names: map[string]bool{}}}
	if spec.Lines != "" {
		return t, t.compileLines(spec)
	}
	for _, o := range spec.forms() {
		f, err := t.compileForm(o, at)
		if err != nil {
			return nil, err
		}
		t.forms = append(t.forms, f)
	}
	if len(spec.Outputs) > 0 {
		t.wants.names[OutputField] = true
	}
	return t, nil
}

func (t *Template) compileForm(o Output, at places) (f form, err error) {
	f = form{output: o.Name, settings: &o.Settings, shared: sharedDigest(t.kind, t.model, o.Settings)}
	if o.Name != "" {
		at.promptLine, at.systemLine = o.TemplateLine, o.SystemLine
	}
	if len(o.Turns) > 0 {
		f.turns, err = t.wants.turns(o.Turns, at.promptFile, o.title(""))
	} else {
		f.prompt, err = t.wants.parseAt(cmp.Or(at.promptFile, o.title("template")), o.Template, at.promptLine)
	}
	if err != nil {
		return f, err
	}
	if o.System != "" {
		f.system, err = t.wants.parseAt(cmp.Or(at.systemFile, o.title("system instruction")), o.System, at.systemLine)
	}
	return f, err
}

// Every template is "t" to text/template: a file's name may have colons in it.
var atLine = regexp.MustCompile(`^template: t:(\d+):(?:\d+:)? `)

// parseAt also notes which fields the template wants. Line is where it begins in
// its file.
func (w *wants) parseAt(name, text string, line int) (*parsed, error) {
	p := &parsed{name: name, above: max(line, 1) - 1}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%s: invalid UTF-8", name)
	}
	t, err := template.New("t").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		where, msg := p.place(err)
		return nil, fmt.Errorf("%s: %s", where, parseWords(msg))
	}
	w.add(t)
	if n := w.undefined(t); n != nil {
		return nil, fmt.Errorf("%s, line %d: template %q is not defined: {{define %q}}…{{end}} is missing", name, n.Line+p.above, n.Name, n.Name)
	}
	p.Template = t
	return p, nil
}

// place splits one of text/template's messages into where and what.
func (t *parsed) place(err error) (where, msg string) {
	msg = err.Error()
	if m := atLine.FindStringSubmatch(msg); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits
		return t.name + ", line " + strconv.Itoa(n+t.above), msg[len(m[0]):]
	}
	return t.name, strings.TrimPrefix(msg, "template: ")
}

// Render makes a row's request from its fields. Its files are named only: see
// Request.Attach.
func (t *Template) Render(fields json.RawMessage) (Request, error) {
	ms, err := members(fields, nil)
	if err != nil {
		return Request{}, err
	}
	return t.render(ms)
}

func (t *Template) render(ms []member) (r Request, err error) {
	if t.line != nil {
		return t.line(ms)
	}
	data, err := t.wants.data(ms)
	if err != nil {
		return r, err
	}
	f, err := t.form(data)
	if err != nil {
		return r, err
	}
	r.Output, r.Settings = f.output, f.settings
	if f.prompt != nil {
		r.Prompt, err = f.prompt.execute(data)
	} else {
		err = f.converse(data, &r)
	}
	if err == nil && f.system != nil {
		r.System, err = f.system.execute(data)
	}
	return r, err
}

// form is that of the row's output.
func (t *Template) form(data Object) (*form, error) {
	if t.forms[0].output == "" {
		return &t.forms[0], nil
	}
	name, _ := data[OutputField].(string)
	for i := range t.forms {
		if t.forms[i].output == name {
			return &t.forms[i], nil
		}
	}
	return nil, fmt.Errorf("the row is of output %q, which the run has no more", name)
}

func (t *parsed) execute(data Object) (string, error) {
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", t.renderError(err)
	}
	return b.String(), nil
}

// FieldError says that a template wants a field that the row has not.
type FieldError struct {
	Field string
	Where string // "template, line 3"
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: the row has no field %q", e.Where, e.Field)
}

// renderFault is another fault of a template with a row.
type renderFault struct{ what, remedy string }

func (e *renderFault) Error() string { return e.what }

var (
	noEntry    = regexp.MustCompile(`map has no entry for key "`)
	whichField = regexp.MustCompile(`at <[^.>]*\.?([^>]*)>`)
)

// renderError turns text/template's words into ours.
func (t *parsed) renderError(err error) error {
	where, msg := t.place(err)
	var fe *FieldError
	if errors.As(err, &fe) {
		return &FieldError{Field: fe.Field, Where: where}
	}
	if noEntry.MatchString(msg) {
		if m := whichField.FindStringSubmatch(msg); m != nil {
			return &FieldError{Field: m[1], Where: where}
		}
	}
	if _, after, ok := strings.Cut(msg, `executing "`); ok {
		_, msg, _ = strings.Cut(after, `" `)
	}
	fault := &renderFault{remedy: "the template has to hold for every row: write {{if …}}…{{end}} around this place, or mend the row"}
	var p *Problem
	if errors.As(err, &p) { // of one of our functions, which knows better
		msg, fault.remedy = p.What, p.Remedy
	}
	fault.what = where + ": " + renderWords(msg)
	return fault
}

// Settings are those that rows share, one of each output: Request.Settings is one
// of them, unless the row is a line of a batch file, which has its own.
func (t *Template) Settings() []*Settings {
	all := make([]*Settings, len(t.forms))
	for i := range t.forms {
		all[i] = t.forms[i].settings
	}
	return all
}

// Key is the digest of all that makes a row's answer: system instruction, turns,
// files, kind, model and every setting. Result.Key carries it.
func (t *Template) Key(r *Request) string {
	for i := range t.forms {
		if t.forms[i].settings == r.Settings {
			return r.key(t.forms[i].shared)
		}
	}
	own := Settings{}
	if r.Settings != nil {
		own = *r.Settings
	}
	return r.key(sharedDigest(t.kind, t.model, own))
}

// sharedDigest is of what decides an answer and is the same for all rows of an
// output.
func sharedDigest(kind Kind, model string, settings Settings) [sha256.Size]byte {
	b, err := json.Marshal(struct {
		Kind     Kind
		Model    string
		Settings Settings
	}{kind, strings.TrimPrefix(model, "models/"), settings})
	if err != nil {
		panic("jobs: settings cannot be encoded: " + err.Error()) // a schema that is not JSON, refused by Prepare
	}
	return sha256.Sum256(b)
}

// Render compiles and renders once.
func Render(spec Spec, fields json.RawMessage) (Request, error) {
	t, err := Compile(spec)
	if err != nil {
		return Request{}, err
	}
	return t.Render(fields)
}

// rawOf is a member's value as it stands, nil where there is none.
func rawOf(ms []member, name string) []byte {
	for _, m := range ms {
		if m.name == name {
			return m.raw
		}
	}
	return nil
}
