package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CheckSchema says what is wrong with a response schema. It has to be one JSON
// object that is a JSON Schema by itself: references out of it are not followed.
func CheckSchema(raw json.RawMessage) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if _, ok := doc.(map[string]any); !ok {
		return errors.New("a JSON Schema is an object: {\"type\": …}")
	}
	const name = "run:///schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(name, doc); err != nil {
		return schemaError(err)
	}
	_, err = c.Compile(name)
	return schemaError(err)
}

// schemaError turns the library's words into ours: it names addresses that the
// user never gave.
func schemaError(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var pointer *jsonschema.JSONPointerNotFoundError
	var load *jsonschema.LoadURLError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return fmt.Errorf("not a JSON Schema: %s", schemaFaults(invalid.Err))
	case errors.As(err, &pointer):
		_, at, _ := strings.Cut(pointer.URL, "#")
		return fmt.Errorf("$ref %q: there is nothing at that place of the schema", "#"+at)
	case errors.As(err, &load):
		return fmt.Errorf("it refers to %s: only what is in the schema itself is used", load.URL)
	}
	return fmt.Errorf("not a JSON Schema: %w", err)
}

// schemaFaults takes the places and faults out of a report whose other lines
// only say that something below failed.
func schemaFaults(err error) string {
	var out []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line, isFault := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if isFault && !strings.HasSuffix(line, " failed") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}
