package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// IsDesign says that a template's file is one of YAML, by its name.
func IsDesign(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml"
}

// designFile is a template of YAML: what one plain prompt cannot say.
type designFile struct {
	Form    designForm `yaml:",inline"`
	Outputs outputList `yaml:"outputs"`
}

// designForm is what makes one answer.
type designForm struct {
	System   line         `yaml:"system"`
	Prompt   line         `yaml:"prompt"`
	Turns    []turnFile   `yaml:"turns"`
	Settings settingsFile `yaml:"settings"`
	Schema   schemaNode   `yaml:"schema"`
}

type turnFile struct {
	line  int
	Role  line       `yaml:"role"`
	From  line       `yaml:"from"`
	Text  line       `yaml:"text"`
	File  line       `yaml:"file"`
	Parts []partFile `yaml:"parts"`
}

type partFile struct {
	Text line `yaml:"text"`
	File line `yaml:"file"`
}

// Design is a template of YAML, read: what of a Spec it says.
type Design struct {
	Template, System         string
	TemplateLine, SystemLine int // where they begin in the file
	Turns                    []TurnTemplate
	Settings                 Settings
	Outputs                  []Output
}

// ReadDesign reads a template of YAML. Read gives the file of a schema, which is
// named relative to the template. Errors name the template, the line and the key.
func ReadDesign(path, text string, read func(path string) ([]byte, error)) (Design, error) {
	r := designReader{name: path, read: read}
	var f designFile
	if err := yaml.UnmarshalWithOptions([]byte(text), &f, yaml.Strict()); err != nil {
		return Design{}, r.explain(err)
	}
	return r.design(f)
}

type designReader struct {
	name string
	read func(string) ([]byte, error)
}

func (r *designReader) wrong(line int, format string, args ...any) error {
	at := r.name
	if line > 0 {
		at = fmt.Sprintf("%s, line %d", r.name, line)
	}
	return fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
}

// explain puts the YAML library's errors into our form.
func (r *designReader) explain(err error) error {
	var e yaml.Error
	if !errors.As(err, &e) {
		return r.wrong(0, "%v", err)
	}
	at, msg := 0, e.GetMessage()
	if t := e.GetToken(); t != nil && t.Position != nil {
		at = t.Position.Line
	}
	if strings.HasPrefix(msg, "unknown field") {
		msg += "; there are: system, prompt, turns (role, text, file, parts, from), settings, schema, outputs"
	}
	return r.wrong(at, "%s", yamlWords.Replace(definedTwice.ReplaceAllString(msg, "$1 is there twice, first in line $2")))
}

// What the YAML library says in its own terms.
var (
	definedTwice = regexp.MustCompile(`^mapping key (".*") already defined at \[(\d+):\d+\]$`)
	yamlWords    = strings.NewReplacer(
		"string was used where", "a text stands where", "int was used where", "a number stands where", "float was used where", "a number stands where",
		"sequence was used where", "a list stands where", "bool was used where", "true or false stands where", "null was used where", "nothing stands where",
		"mapping was used where", "an object stands where",
		"mapping is expected", "keys with values (key: value) are wanted", "sequence is expected", "a list (- …) is wanted",
		"could not find end character of double-quoted text", `a " that ends the text is missing`, "could not find end character of single-quoted text", "a ' that ends the text is missing",
	)
)

func (r *designReader) design(f designFile) (Design, error) {
	var d Design
	base, err := r.form(f.Form, Settings{}, len(f.Outputs) > 0, "")
	if err != nil {
		return d, err
	}
	d = Design{Template: base.Template, System: base.System, TemplateLine: base.TemplateLine, SystemLine: base.SystemLine,
		Turns: base.Turns, Settings: base.Settings}
	for _, o := range f.Outputs {
		if err := checkOutputName(o.name); err != nil {
			return d, r.wrong(o.line, "outputs: %v", err)
		}
		if slices.ContainsFunc(d.Outputs, func(p Output) bool { return p.Name == o.name }) {
			return d, r.wrong(o.line, "outputs: two have the name %q: give each its own", o.name)
		}
		out, err := r.form(o.form, base.Settings, false, "outputs."+o.name+": ")
		if err != nil {
			return d, err
		}
		if out.System == "" {
			out.System, out.SystemLine = base.System, base.SystemLine
		}
		out.Name = o.name
		d.Outputs = append(d.Outputs, out)
	}
	if len(d.Outputs) > 0 {
		d.System, d.SystemLine = "", 0
	}
	return d, nil
}

// form is one answer's templates with its settings over those of the file. Bare
// holds for a file whose outputs have the templates.
func (r *designReader) form(f designForm, base Settings, bare bool, key string) (Output, error) {
	o := Output{Template: f.Prompt.text, TemplateLine: f.Prompt.line, System: f.System.text, SystemLine: f.System.line}
	for i := range f.Turns {
		t, err := r.turn(&f.Turns[i], key)
		if err != nil {
			return o, err
		}
		o.Turns = append(o.Turns, t)
	}
	switch asks := o.Template != "" || len(o.Turns) > 0; {
	case o.Template != "" && len(o.Turns) > 0:
		return o, r.wrong(f.Prompt.line, "%sprompt and turns: give one of them", key)
	case bare && asks:
		return o, r.wrong(max(f.Prompt.line, firstLine(o.Turns)), "%soutputs have prompts of their own: move this one into an output", key)
	case !bare && !asks:
		return o, r.wrong(0, "%sno prompt and no turns", key)
	}
	o.Settings = f.Settings.Over(base)
	if err := o.Settings.check(); err != nil {
		return o, r.wrong(f.Settings.line, "%ssettings: %v", key, err)
	}
	return o, r.schema(f.Schema, &o.Settings, key)
}

func firstLine(ts []TurnTemplate) int {
	if len(ts) == 0 {
		return 0
	}
	return ts[0].Line
}

func (r *designReader) turn(f *turnFile, key string) (TurnTemplate, error) {
	t := TurnTemplate{Role: f.Role.text, From: f.From.text, Line: f.line}
	given := 0
	for _, one := range []partFile{{Text: f.Text}, {File: f.File}} {
		if one.Text.line+one.File.line > 0 {
			given++
			t.Parts = append(t.Parts, one.part())
		}
	}
	if len(f.Parts) > 0 && given > 0 {
		return t, r.wrong(f.line, "%sturns: text or file beside parts: put it into parts", key)
	}
	for _, one := range f.Parts {
		if (one.Text.line > 0) == (one.File.line > 0) {
			return t, r.wrong(max(f.line, one.Text.line), "%sturns: parts: a part has a text or a file", key)
		}
		t.Parts = append(t.Parts, one.part())
	}
	probe := turnForm{where: fmt.Sprintf("%s, line %d", r.name, f.line)}
	return t, probe.check(t)
}

func (p partFile) part() PartTemplate {
	return PartTemplate{Text: p.Text.text, File: p.File.text, Line: max(p.Text.line, p.File.line)}
}

func (r *designReader) schema(n schemaNode, s *Settings, key string) error {
	text := n.inline
	if n.path.text != "" {
		path := filepath.Join(filepath.Dir(r.name), n.path.text)
		if filepath.IsAbs(n.path.text) {
			path = n.path.text
		}
		b, err := r.read(path)
		if err != nil {
			return r.wrong(n.path.line, "%sschema: %v", key, err)
		}
		text = b
	}
	if text == nil {
		return nil
	}
	if err := CheckSchema(text); err != nil {
		return r.wrong(n.path.line, "%sschema: %v", key, err)
	}
	s.ResponseSchema = text
	if s.ResponseMIMEType == "" {
		s.ResponseMIMEType = "application/json"
	}
	return nil
}

// line is a text of the file and the line at which it begins.
type line struct {
	text string
	line int // 0: it is not there
}

// UnmarshalYAML takes single values only. A block begins a line below its mark.
func (w *line) UnmarshalYAML(n ast.Node) error {
	w.line = n.GetToken().Position.Line
	switch n := n.(type) {
	case *ast.LiteralNode:
		w.text, w.line = n.Value.Value, w.line+1
	case *ast.StringNode:
		w.text = n.Value
	case ast.ScalarNode:
		w.text = n.GetToken().Value
	default:
		return &yaml.SyntaxError{Message: "want a text", Token: n.GetToken()}
	}
	return nil
}

// UnmarshalYAML notes the turn's line.
func (t *turnFile) UnmarshalYAML(n ast.Node) error {
	type plain turnFile
	if err := yaml.NodeToValue(n, (*plain)(t), yaml.Strict()); err != nil {
		return err
	}
	t.line = n.GetToken().Position.Line
	return nil
}

// schemaNode is a schema, written down or in a file.
type schemaNode struct {
	path   line
	inline json.RawMessage
}

func (s *schemaNode) UnmarshalYAML(n ast.Node) error {
	s.path.line = n.GetToken().Position.Line
	if _, isMap := n.(ast.MapNode); !isMap {
		return s.path.UnmarshalYAML(n)
	}
	var v yaml.MapSlice // properties keep their order, in which models write them
	if err := yaml.NodeToValue(n, &v, yaml.UseOrderedMap()); err != nil {
		return err
	}
	b, err := yaml.MarshalWithOptions(v, yaml.JSON())
	s.inline = b
	return err
}
