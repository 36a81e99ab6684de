package jobs

import "encoding/json"

// Template is a run's prompt and system instruction, parsed. It is safe for
// concurrent use: a worker compiles a run's once.
type Template struct{}

// Compile parses a run's templates. Its error names the template and the line.
func Compile(spec Spec) (*Template, error) { panic("being built") }

// Render makes a row's prompt and system instruction from its fields.
func (t *Template) Render(fields json.RawMessage) (prompt, system string, err error) {
	panic("being built")
}

// Key is the digest of all that makes a row's answer: what Result.Key carries.
func (t *Template) Key(prompt, system string) string { panic("being built") }

// Render compiles and renders once.
func Render(spec Spec, fields json.RawMessage) (prompt, system string, err error) {
	panic("being built")
}
