package geminitest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// respell rewrites a request that is spelled in another way that Gemini takes:
// snake_case names, and one object where a list belongs. nil: it is no JSON.
func respell(body []byte) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	b, err := json.Marshal(respelled("", v))
	if err != nil {
		return nil
	}
	return b
}

// opaque are the fields whose content has names of the client's own.
var opaque = map[string]bool{
	"args": true, "response": true, "$defs": true, "labels": true, "responseJsonSchema": true,
	"parametersJsonSchema": true, "partMetadata": true, "default": true, "example": true,
}

var lists = map[string]bool{"contents": true, "parts": true, "safetySettings": true, "tools": true, "requests": true, "stopSequences": true}

func respelled(name string, v any) any {
	if opaque[name] {
		return v
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = respelled("", v[i])
		}
		return v
	case map[string]any:
		return respelledObject(name == "properties", v)
	}
	return v
}

// respelledObject respells the fields of an object. The properties of a schema
// have names of the client's own, but what is in them has not.
func respelledObject(properties bool, v map[string]any) map[string]any {
	out := make(map[string]any, len(v))
	for key, value := range v {
		if properties {
			out[key] = respelled("", value)
			continue
		}
		key = camel(key)
		value = respelled(key, value)
		if _, list := value.([]any); lists[key] && !list {
			value = []any{value}
		}
		out[key] = value
	}
	return out
}

func camel(s string) string {
	head, rest, more := strings.Cut(s, "_")
	for more && rest != "" {
		var word string
		word, rest, more = strings.Cut(rest, "_")
		if word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		head += word
	}
	return head
}

func snake(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// loneSurrogate finds half of a UTF-16 pair, which Gemini refuses and Go's
// JSON would quietly replace.
func loneSurrogate(body []byte) bool {
	if !bytes.Contains(body, []byte(`\ud`)) && !bytes.Contains(body, []byte(`\uD`)) {
		return false
	}
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		switch {
		case surrogate(body[i:], "89ab"):
			if !surrogate(body[i+6:], "cdef") {
				return true
			}
			i += 11
		case surrogate(body[i:], "cdef"):
			return true
		default:
			i++ // what is escaped may be a backslash
		}
	}
	return false
}

// surrogate says that s begins with \uDx.., x being one of the digits.
func surrogate(s []byte, digits string) bool {
	return len(s) >= 6 && s[0] == '\\' && s[1] == 'u' && s[2]|0x20 == 'd' && strings.IndexByte(digits, s[3]|0x20) >= 0
}
