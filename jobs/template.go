package jobs

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"unicode/utf8"
)

// Template is a run's prompt and system instruction, parsed. It is safe for
// concurrent use: a worker compiles a run's once.
type Template struct {
	prompt, system *parsed // system is nil where the run has none
	wants          wants
	shared         [sha256.Size]byte // digest of what all rows share, for Key
}

// parsed is a template with what its errors call it.
type parsed struct {
	*template.Template
	name string
}

// Compile parses a run's templates. Its error names the template and the line.
func Compile(spec Spec) (*Template, error) { return compile(spec, "", "") }

// compile calls the templates by the names of their files, where they have one.
func compile(spec Spec, promptFile, systemFile string) (*Template, error) {
	t := &Template{wants: wants{names: map[string]bool{}}, shared: sharedDigest(spec)}
	var err error
	if t.prompt, err = t.wants.parse(cmp.Or(promptFile, "template"), spec.Template); err != nil {
		return nil, err
	}
	if spec.System != "" {
		t.system, err = t.wants.parse(cmp.Or(systemFile, "system instruction"), spec.System)
	}
	return t, err
}

// Every template is "t" to text/template: a file's name may have colons in it.
var atLine = regexp.MustCompile(`^template: t:(\d+):(?:\d+:)? `)

// parse also notes which fields the template wants.
func (w *wants) parse(name, text string) (*parsed, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%s: invalid UTF-8", name)
	}
	t, err := template.New("t").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		where, msg := (&parsed{t, name}).place(err)
		return nil, fmt.Errorf("%s: %s", where, msg)
	}
	w.add(t)
	if n := w.undefined(t); n != nil {
		return nil, fmt.Errorf("%s, line %d: template %q is not defined: {{define %q}}…{{end}} is missing", name, n.Line, n.Name, n.Name)
	}
	return &parsed{t, name}, nil
}

// place splits one of text/template's messages into where and what.
func (t *parsed) place(err error) (where, msg string) {
	msg = err.Error()
	if m := atLine.FindStringSubmatch(msg); m != nil {
		return t.name + ", line " + m[1], msg[len(m[0]):]
	}
	return t.name, strings.TrimPrefix(msg, "template: ")
}

// Render makes a row's prompt and system instruction from its fields.
func (t *Template) Render(fields json.RawMessage) (prompt, system string, err error) {
	ms, err := members(fields, nil)
	if err != nil {
		return "", "", err
	}
	return t.render(ms)
}

func (t *Template) render(ms []member) (prompt, system string, err error) {
	data, err := t.wants.data(ms)
	if err != nil {
		return "", "", err
	}
	if prompt, err = t.prompt.execute(data); err != nil {
		return "", "", err
	}
	if t.system != nil {
		system, err = t.system.execute(data)
	}
	return prompt, system, err
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
	plumbing   = strings.NewReplacer("jobs.", "", "<nil>", "nothing")
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
	fault.what = where + ": " + plumbing.Replace(msg)
	return fault
}

// Key is the digest of all that makes a row's answer: prompt, system
// instruction, kind, model and every setting. Result.Key carries it.
func (t *Template) Key(prompt, system string) string {
	h := sha256.New()
	h.Write(t.shared[:])
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(prompt)))
	h.Write(n[:])
	h.Write([]byte(prompt))
	h.Write([]byte(system))
	var sum [sha256.Size]byte
	return hex.EncodeToString(h.Sum(sum[:0])[:16])
}

// sharedDigest is of what decides an answer and is the same for all rows.
func sharedDigest(spec Spec) [sha256.Size]byte {
	b, err := json.Marshal(struct {
		Kind     Kind
		Model    string
		Settings Settings
	}{spec.Kind, strings.TrimPrefix(spec.Model, "models/"), spec.Settings})
	if err != nil {
		panic("jobs: settings cannot be encoded: " + err.Error()) // a schema that is not JSON, refused by Prepare
	}
	return sha256.Sum256(b)
}

// Render compiles and renders once.
func Render(spec Spec, fields json.RawMessage) (prompt, system string, err error) {
	t, err := Compile(spec)
	if err != nil {
		return "", "", err
	}
	return t.Render(fields)
}
