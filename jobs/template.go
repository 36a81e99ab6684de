package jobs

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// Template is a run's prompt and system instruction, parsed. It is safe for
// concurrent use: a worker compiles a run's once.
type Template struct {
	prompt, system *template.Template // system is nil where the run has none
	wants          wants
	shared         [sha256.Size]byte // digest of what all rows share, for Key
}

// Compile parses a run's templates. Its error names the template and the line.
func Compile(spec Spec) (*Template, error) {
	t := &Template{wants: wants{names: map[string]bool{}}, shared: sharedDigest(spec)}
	var err error
	if t.prompt, err = parseTemplate("template", spec.Template); err != nil {
		return nil, err
	}
	t.wants.add(t.prompt)
	if spec.System != "" {
		if t.system, err = parseTemplate("system instruction", spec.System); err != nil {
			return nil, err
		}
		t.wants.add(t.system)
	}
	return t, nil
}

var atLine = regexp.MustCompile(`^template: ([^:]*):(\d+):(?:\d+:)? `)

func parseTemplate(name, text string) (*template.Template, error) {
	t, err := template.New(name).Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return nil, errors.New(atLine.ReplaceAllString(err.Error(), "$1, line $2: "))
	}
	return t, nil
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
	if prompt, err = execute(t.prompt, data); err != nil {
		return "", "", err
	}
	if t.system != nil {
		system, err = execute(t.system, data)
	}
	return prompt, system, err
}

func execute(t *template.Template, data Object) (string, error) {
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", renderError(err)
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

var (
	noEntry    = regexp.MustCompile(`map has no entry for key "`)
	whichField = regexp.MustCompile(`at <[^.>]*\.?([^>]*)>`)
	plumbing   = strings.NewReplacer("jobs.", "", "<nil>", "nothing")
)

// renderError turns text/template's words into ours.
func renderError(err error) error {
	msg := err.Error()
	where := ""
	if m := atLine.FindStringSubmatch(msg); m != nil {
		where = m[1] + ", line " + m[2]
		msg = msg[len(m[0]):]
	}
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
	return fmt.Errorf("%s: %s", where, plumbing.Replace(msg))
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
