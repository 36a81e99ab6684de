package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// shownField is an object whose members keep the row's order.
type shownField []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members as they stand.
func (s shownField) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(compact(m.name))
		b.WriteByte(':')
		b.WriteString(compact(m.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// fields cuts a row's fields to what a list has room for.
func (f *formatter) fields(raw json.RawMessage) shownField {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out shownField
	more := 0
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			break
		}
		if len(out) == maxFields {
			more++
			continue
		}
		out = append(out, member{cut(fmt.Sprint(name), maxValue), f.value(value)})
	}
	if more > 0 {
		out = append(out, member{"…", fmt.Sprintf("%d more", more)})
	}
	return out
}

// value is a field's value, cut or masked. Numbers stay as they were written.
func (f *formatter) value(raw json.RawMessage) any {
	var s string
	isText := json.Unmarshal(raw, &s) == nil
	switch {
	case f.mask && isText:
		return fmt.Sprintf("(masked, %d characters)", utf8.RuneCountInString(s))
	case f.mask:
		return "(masked)"
	case isText:
		return cut(s, maxValue)
	case len(raw) > maxValue, !keepsDigits(raw):
		return cut(string(raw), maxValue)
	}
	return raw
}

// keepsDigits says that a value comes through a browser's JSON unchanged: its
// numbers are float64, so 9007199254740993 would be shown as another number.
func keepsDigits(raw json.RawMessage) bool {
	for digits, i := 0, 0; i < len(raw); i++ {
		if raw[i] < '0' || raw[i] > '9' {
			digits = 0
		} else if digits++; digits > 15 {
			return false
		}
	}
	return true
}

// cut shortens to n characters, between characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	at := 0
	for i := range s {
		if at == n-1 {
			return s[:i] + "…"
		}
		at++
	}
	return s
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
