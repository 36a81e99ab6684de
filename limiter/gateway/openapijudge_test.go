package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// judge holds requests and answers against the description. The schemas of OpenAPI
// 3.1 are JSON Schema 2020-12, so that a library for that reads them as they are.
type judge struct {
	doc map[string]any
	mu  sync.Mutex
	c   *jsonschema.Compiler // guarded by mu
}

const describedAt = "test:///openapi.json"

var described = sync.OnceValues(func() (*judge, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPIDocument()))
	if err != nil {
		return nil, err
	}
	j := &judge{doc: doc.(map[string]any), c: jsonschema.NewCompiler()}
	j.c.AssertFormat()
	return j, j.c.AddResource(describedAt, doc)
})

// oasSchema is the specification's own schema
// (https://spec.openapis.org/oas/3.1/schema/2022-10-07), as a validator's package has it.
var oasSchema = filepath.Join(nodeDir, "node_modules", "@seriousme", "openapi-schema-validator", "schemas", "v3.1", "schema.json")

// document checks the description itself by that schema, and every schema in it.
func (j *judge) document() error {
	text, err := os.ReadFile(oasSchema)
	if err != nil {
		return err
	}
	own, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test:///oas31.json", own); err != nil {
		return err
	}
	s, err := c.Compile("test:///oas31.json")
	if err != nil {
		return err
	}
	if err := s.Validate(j.doc); err != nil {
		return err
	}
	for name := range j.at("/components/schemas").(map[string]any) {
		if _, err := j.schema("/components/schemas/" + name); err != nil {
			return err
		}
	}
	return nil
}

func escape(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// at gives what a JSON pointer leads to, through references; nil for nothing.
func (j *judge) at(pointer string) any {
	var v any = j.doc
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		m, _ := v.(map[string]any)
		v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return v
}

// follow gives the pointer of what is really there.
func (j *judge) follow(pointer string) string {
	if m, ok := j.at(pointer).(map[string]any); ok {
		if ref, ok := m["$ref"].(string); ok {
			return j.follow(strings.TrimPrefix(ref, "#"))
		}
	}
	return pointer
}

func (j *judge) schema(pointer string) (*jsonschema.Schema, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.c.Compile(describedAt + "#" + pointer)
}

func (j *judge) fits(pointer string, value any) error {
	s, err := j.schema(pointer)
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// operation gives the pointers of a path's item and of what a method does there; ""
// for what is not described.
func (j *judge) operation(method, path string) (item, op string) {
	path, _, _ = strings.Cut(path, "?")
	for template := range j.doc["paths"].(map[string]any) {
		have, want := strings.Split(path, "/"), strings.Split(template, "/")
		if !slices.EqualFunc(have, want, func(h, w string) bool { return h == w || w == "{id}" }) {
			continue
		}
		item = "/paths/" + escape(template)
		if op = item + "/" + strings.ToLower(method); j.at(op) == nil {
			op = ""
		}
		return item, op
	}
	return "", ""
}

// request says what of a request is not as described.
func (j *judge) request(method, path, body string, h http.Header) error {
	item, op := j.operation(method, path)
	if op == "" {
		return fmt.Errorf("%s %s is not described", method, path)
	}
	for _, of := range []string{item, op} {
		if err := j.parameters(of+"/parameters", path, h); err != nil {
			return err
		}
	}
	if b, ok := j.at(op + "/requestBody").(map[string]any); !ok || body == "" && b["required"] != true {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return err
	}
	return j.fits(op+"/requestBody/content/application~1json/schema", v)
}

func (j *judge) parameters(pointer, path string, h http.Header) error {
	list, _ := j.at(pointer).([]any)
	for _, p := range list {
		p := strings.TrimPrefix(p.(map[string]any)["$ref"].(string), "#")
		value := h.Get(j.at(p + "/name").(string))
		if j.at(p+"/in") == "path" {
			value = strings.Split(path, "/")[3]
		}
		if value == "" {
			continue
		}
		if err := j.fits(p+"/schema", value); err != nil {
			return err
		}
	}
	return nil
}

// answer says what of an answer is not as described. One to a method that is not
// described has to be among those of the path's others; one to another path an error.
func (j *judge) answer(method, path string, got answer) error {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(got.body))
	if err != nil {
		return err
	}
	item, op := j.operation(method, path)
	if item == "" {
		return j.fits("/components/schemas/Error", v)
	}
	if op == "" {
		for _, other := range []string{"/post", "/get"} {
			if op == "" && j.at(item+other) != nil {
				op = item + other
			}
		}
	}
	at := j.follow(op + "/responses/" + strconv.Itoa(got.status))
	if j.at(at) == nil {
		return fmt.Errorf("status %d is not described", got.status)
	}
	if err := j.headers(at+"/headers", got.header); err != nil {
		return err
	}
	return j.fits(at+"/content/application~1json/schema", v)
}

func (j *judge) headers(pointer string, h http.Header) error {
	list, _ := j.at(pointer).(map[string]any)
	for name := range h {
		if ours := strings.HasPrefix(name, "X-Nightshift-") || name == "Retry-After" || name == "Allow"; ours && list[name] == nil {
			return fmt.Errorf("header %s is not described", name)
		}
	}
	for name := range list {
		at := j.follow(pointer + "/" + name)
		text, there := h.Get(name), len(h.Values(name)) > 0
		if !there && j.at(at+"/required") == true {
			return fmt.Errorf("header %s is missing", name)
		}
		var value any = text
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && j.at(at+"/schema/type") == "integer" {
			value = n
		}
		if err := j.fits(at+"/schema", value); there && err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}
