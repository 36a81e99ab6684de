package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Number is a number as a template sees it. It prints as it stands in the file,
// at any size; printf and the comparisons take it for the number it is. A string
// of the row is a string there, a boolean a bool.
type Number string

// zero is the number 0: false in an if.
type zero int

// Null prints as nothing and is false in an if.
type Null string

// List prints as JSON.
type List []any

// Object prints as JSON, its keys sorted.
type Object map[string]any

// Format lets every verb of printf work on a number.
func (n Number) Format(f fmt.State, verb rune) {
	switch verb {
	case 'd', 'x', 'X', 'o', 'b', 'c':
		if i, ok := new(big.Int).SetString(string(n), 10); ok {
			i.Format(f, verb)
			return
		}
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if v, err := strconv.ParseFloat(string(n), 64); err == nil {
			fmt.Fprintf(f, fmt.FormatString(f, verb), v)
			return
		}
	}
	fmt.Fprintf(f, fmt.FormatString(f, 's'), string(n))
}

func (z zero) Format(f fmt.State, verb rune) { Number("0").Format(f, verb) }

// MarshalJSON keeps the number's own text.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// MarshalJSON is null.
func (Null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func (l List) String() string   { return jsonText(l) }
func (o Object) String() string { return jsonText(o) }

// jsonText is v as compact JSON with <, > and & as they are.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// value decodes valid JSON for a template.
func value(raw []byte) (any, error) {
	switch raw[0] {
	case '"':
		return unquote(raw)
	case 't':
		return true, nil
	case 'f':
		return false, nil
	case 'n':
		return Null(""), nil
	case '{':
		return object(raw)
	case '[':
		return list(raw)
	}
	if string(raw) == "0" {
		return zero(0), nil
	}
	return Number(raw), nil
}

func object(raw []byte) (any, error) {
	ms, err := members(raw, nil)
	if err != nil {
		return nil, err
	}
	o := make(Object, len(ms))
	for _, m := range ms {
		if o[m.name], err = value(m.raw); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func list(raw []byte) (any, error) {
	l := List{}
	for i := skipSpace(raw, 1); i < len(raw) && raw[i] != ']'; {
		end := skipValue(raw, i)
		v, err := value(raw[i:end])
		if err != nil {
			return nil, err
		}
		l = append(l, v)
		i = skipSpace(raw, end)
		if i < len(raw) && raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return l, nil
}

// text is a template value as the template would print it.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}
