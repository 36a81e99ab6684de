package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"nightshift/jobs"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// readJSON holds a good answer against what the run asked for. An answer that
// breaks it is no success; its text is kept, so that people can see why.
func (r *run) readJSON(out outcome) outcome {
	if !r.json || out.end != jobs.Done {
		return out
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(out.output)); err != nil {
		return asSchemaFailure(out, "the answer is not JSON: "+err.Error())
	}
	if err := r.validate(compact.Bytes()); err != nil {
		return asSchemaFailure(out, "the answer breaks the schema: "+schemaMessage(err))
	}
	out.parsed = compact.Bytes()
	return out
}

func (r *run) validate(text []byte) error {
	if r.schema == nil {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return r.schema.Validate(v)
}

func asSchemaFailure(out outcome, message string) outcome {
	out.end, out.fail = jobs.Failed, &jobs.RowError{Cause: "schema", Status: 200, Message: short(message)}
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
