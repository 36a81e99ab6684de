package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// ReadUsage reads usageMetadata that a person saved, or a whole answer that has it,
// in either of proto's spellings. It is strict where the transport is lenient: a
// count under a name that nobody knows would cost nothing without a word.
func ReadUsage(r io.Reader) (Usage, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return Usage{}, err
	}
	raw = bytes.TrimSpace(raw)
	var fields map[string]json.RawMessage
	if len(raw) == 0 {
		return Usage{}, errors.New("empty; want usageMetadata as JSON, such as {\"promptTokenCount\": 1000, \"candidatesTokenCount\": 200}")
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return Usage{}, fmt.Errorf("want one JSON object with usageMetadata: %w", err)
	}
	for _, name := range []string{"usageMetadata", "usage_metadata"} {
		if inner, ok := fields[name]; ok {
			u, err := strictUsage(inner, name)
			u.Searches = searchesOf(raw)
			return u, err
		}
	}
	return strictUsage(raw, "usageMetadata")
}

func searchesOf(answer []byte) int64 {
	a := newAnswer()
	a.push(answer)
	return a.searches
}

// strictUsage names what parseUsage would pass over.
func strictUsage(raw []byte, at string) (Usage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return Usage{}, fmt.Errorf("%s: want an object of counts", at)
	}
	spelled := map[string]json.RawMessage{}
	for name, v := range fields {
		known := camelCase(name)
		if !slices.Contains(usageFields, known) {
			return Usage{}, fmt.Errorf("%s.%s: unknown; known are %s", at, name, strings.Join(usageFields, ", "))
		}
		if err := strictField(known, v); err != nil {
			return Usage{}, fmt.Errorf("%s.%s: %w", at, name, err)
		}
		spelled[known] = v
	}
	text, _ := json.Marshal(spelled) // what was read always can be written
	u, ok := parseUsage(bytes.ReplaceAll(text, []byte(`"token_count"`), []byte(`"tokenCount"`)))
	if !ok {
		return Usage{}, fmt.Errorf("%s: it counts no tokens", at)
	}
	return u, nil
}

// usageFields are the names of wireUsage on the wire.
var usageFields = func() (names []string) {
	for i := range reflect.TypeFor[wireUsage]().NumField() {
		name := reflect.TypeFor[wireUsage]().Field(i).Name
		names = append(names, strings.ToLower(name[:1])+name[1:])
	}
	return names
}()

func strictField(name string, v json.RawMessage) error {
	switch {
	case strings.HasSuffix(name, "Count"):
		var n int64
		if err := json.Unmarshal(v, &n); err != nil || n < 0 || n > mostTokens {
			return fmt.Errorf("%s; want a number of tokens from 0 on", v)
		}
	case strings.HasSuffix(name, "Details"):
		return strictDetails(v)
	default:
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			return fmt.Errorf("%s; want a name in quotes", v)
		}
	}
	return nil
}

func strictDetails(v json.RawMessage) error {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(v, &list); err != nil {
		return errors.New(`want a list such as [{"modality": "AUDIO", "tokenCount": 10}]`)
	}
	for _, d := range list {
		for name, v := range d {
			switch camelCase(name) {
			case "modality":
			case "tokenCount":
				if err := strictField("tokenCount", v); err != nil {
					return err
				}
			default:
				return fmt.Errorf("%s: unknown; known are modality and tokenCount", name)
			}
		}
	}
	return nil
}

// camelCase is proto's JSON name of a snake_case one.
func camelCase(s string) string {
	parts := strings.Split(s, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}
