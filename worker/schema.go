package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"nightshift/jobs"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// readJSON holds a good answer against what was asked for. An answer that
// breaks it is no success; its text is kept, so that people can see why. A function
// call in place of the answer is one that the line's tools invite.
func (s *shape) readJSON(out outcome) outcome {
	if out.end != jobs.Done {
		out.parsed = nil
	}
	if !s.json || out.end != jobs.Done || out.parsed != nil {
		return out
	}
	if inner, fenced := unfence(out.output); fenced {
		out.output, out.raw = inner, out.output
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(out.output)); err != nil {
		return asSchemaFailure(out, "the answer is not JSON: "+err.Error())
	}
	if err := s.validate(compact.Bytes()); err != nil {
		return asSchemaFailure(out, "the answer breaks the schema: "+schemaMessage(err))
	}
	out.parsed = compact.Bytes()
	return out
}

// causeSchema is an answer that is not what the run asked for.
const causeSchema = "schema"

// unfence takes JSON out of the code fence that some models put around it: the
// whole answer is one block, ```json or bare. What stands among other text is no
// answer to be guessed at.
func unfence(text string) (inner string, fenced bool) {
	const fence = "```"
	body, opens := strings.CutPrefix(strings.TrimSpace(text), fence)
	body, closes := strings.CutSuffix(body, fence)
	language, inner, lines := strings.Cut(body, "\n")
	if !opens || !closes || !lines || strings.Contains(inner, fence) {
		return "", false
	}
	switch strings.ToLower(strings.TrimSpace(language)) {
	case "", "json", "jsonc", "json5":
		return strings.TrimSpace(inner), true
	}
	return "", false
}

func (s *shape) validate(text []byte) error {
	if s.schema == nil {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.schema.Validate(v)
}

func asSchemaFailure(out outcome, message string) outcome {
	out.end, out.fail = jobs.Failed, &jobs.RowError{Cause: causeSchema, Status: 200, Message: short(message)}
	return out
}

// schemaMessage leaves out the first line, which only names the schema, and
// puts the rest on one line.
func schemaMessage(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err.Error()
	}
	_, causes, _ := strings.Cut(v.Error(), "\n")
	return strings.Join(strings.Fields(strings.ReplaceAll(causes, "\n- ", "; ")), " ")
}
