package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// SavedError says what is wrong with a saved answer.
type SavedError struct {
	Field string // "http_status", "headers", "body"; "" when it is the whole
	Text  string
}

func (e *SavedError) Error() string {
	if e.Field == "" {
		return e.Text
	}
	return e.Field + ": " + e.Text
}

// ParseSaved reads an answer that somebody kept: {"http_status": 429, "headers":
// {…}, "body": …} with the body as JSON or as a string, other fields ignored; or
// the body alone, whatever it is: JSON, also cut, an event stream, HTML or text.
// A body alone has no status, and is classified by what it says. An error is a
// *SavedError.
func ParseSaved(raw []byte) (Answer, error) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\ufeff")))
	if len(raw) == 0 {
		return Answer{}, &SavedError{Text: "is empty: want an answer's body, or an object of http_status, headers and body"}
	}
	top, err := topFields(raw)
	switch {
	case err != nil && wraps(top):
		return Answer{}, &SavedError{Text: fmt.Sprintf("begins like a saved answer and is no whole JSON (%v): save it again, or give its body alone", err)}
	case !wraps(top):
		return bareAnswer(raw), nil
	}
	return savedAnswer(top)
}

// wraps holds for the object that an answer is saved in. The API's own answers
// have neither field.
func wraps(top map[string]json.RawMessage) bool {
	return top["http_status"] != nil || top["body"] != nil && top["error"] == nil && top["candidates"] == nil
}

// topFields gives the fields of an object as far as it can be read; what is no
// object has none.
func topFields(raw []byte) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	top := map[string]json.RawMessage{}
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return top, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return top, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			top[fmt.Sprint(name)] = json.RawMessage("null")
			return top, err
		}
		top[fmt.Sprint(name)] = value
	}
	if _, err := dec.Token(); err != nil {
		return top, err
	}
	if dec.More() {
		return top, errors.New("more behind its end")
	}
	return top, nil
}

func savedAnswer(top map[string]json.RawMessage) (a Answer, err error) {
	if a.Status, err = savedStatus(top["http_status"]); err != nil {
		return a, err
	}
	if a.Header, err = savedHeader(top["headers"]); err != nil {
		return a, err
	}
	a.Body = savedBody(top["body"])
	return a, nil
}

// savedStatus takes the statuses of HTTP, close codes of WebSocket, and 0 for
// neither.
func savedStatus(raw json.RawMessage) (n int, err error) {
	if raw == nil || string(raw) == "null" {
		return 0, nil
	}
	if json.Unmarshal(raw, &n) != nil || n != 0 && (n < 100 || n > 599) && (n < 1000 || n > 4999) {
		return 0, &SavedError{"http_status", clip(Redact(string(raw)), 40) + ": want a whole number, such as 429; 0 for an answer without one"}
	}
	return n, nil
}

// savedHeader takes {"Retry-After": "17"} and Go's own form, lists of values.
func savedHeader(raw json.RawMessage) (http.Header, error) {
	h := http.Header{}
	if raw == nil {
		return h, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, &SavedError{"headers", `want an object such as {"Retry-After": "17"}`}
	}
	for name, value := range fields {
		var one string
		var many []string
		switch {
		case json.Unmarshal(value, &one) == nil:
			h.Set(name, one)
		case json.Unmarshal(value, &many) == nil:
			h[http.CanonicalHeaderKey(name)] = many
		case len(value) > 0 && value[0] != '{' && value[0] != '[':
			h.Set(name, string(value)) // a number, as some tools save it
		default:
			return nil, &SavedError{"headers", fmt.Sprintf("%s: want a string", clip(name, 60))}
		}
	}
	return h, nil
}

// savedBody takes JSON as it stands, and a string for what is in it.
func savedBody(raw json.RawMessage) []byte {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// bareAnswer gives a body alone its status where its form tells: answers and
// event streams come with 200, also those that hold an error.
func bareAnswer(raw []byte) Answer {
	a := Answer{Header: http.Header{}, Body: savedBody(raw)}
	seen := wholeAnswer(a.Body)
	if eventStream(a.Body) || seen.failure == nil && (seen.finished > 0 || seen.blocked != "" || seen.hasUsage || seen.embedded) {
		a.Status = http.StatusOK
	}
	return a
}
