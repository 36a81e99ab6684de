package tenants

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// read reads a JSON body into something. Fields that only answers have are passed over,
// so that what was read can be changed and sent back; others are errors by their name.
func (v *visit) read(into any, answers ...string) error {
	text, err := io.ReadAll(v.r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return wrong("body", "it is larger than %d bytes", mostBody)
	case err != nil:
		return wrong("body", "it cannot be read")
	}
	if text, err = without(text, answers); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return ofJSON(err)
	}
	var bad []error
	for _, name := range slices.Sorted(maps.Keys(members)) { // each by itself, so that all that is wrong is said at once
		if err := readMember(into, name, members[name]); err != nil {
			bad = append(bad, err)
		}
	}
	return wrongIf(bad...)
}

func readMember(into any, name string, value json.RawMessage) error {
	one, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(one))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return ofJSON(err)
	}
	return nil
}

// without takes members out of an object.
func without(text []byte, names []string) ([]byte, error) {
	var all map[string]json.RawMessage
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}"), nil
	}
	var kind *json.UnmarshalTypeError
	err := json.Unmarshal(text, &all)
	switch {
	case errors.As(err, &kind), err == nil && all == nil:
		return nil, wrong("body", "want an object, as in {\"note\": \"…\"}")
	case err != nil:
		return nil, ofJSON(err)
	}
	for _, name := range names {
		delete(all, name)
	}
	return json.Marshal(all)
}

// ofJSON names the field that JSON does not go into.
func ofJSON(err error) error {
	var kind *json.UnmarshalTypeError
	var late *time.ParseError
	switch {
	case len(faults(err)) > 0:
		return wrongIf(err)
	case errors.As(err, &kind) && kind.Field != "":
		return wrong(strings.TrimPrefix(kind.Field, "Terms."), "%s; want %s", kind.Value, wanted(kind.Type.String()))
	case errors.As(err, &late):
		return wrong("expires", "%s: want a moment such as 2027-01-31T00:00:00Z", cut(late.Value))
	}
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "json: unknown field "); ok {
		return wrong(cmp.Or(cut(strings.Trim(name, `"`)), `""`), "there is no such field")
	}
	return wrong("body", "%s", strings.TrimPrefix(text, "json: "))
}

func wanted(goType string) string {
	switch goType {
	case "string":
		return "text"
	case "int64", "*int64", "int":
		return "a whole number"
	case "[]string":
		return "a list of texts"
	}
	return "an object"
}

// answer sends a value.
func (v *visit) answer(status int, value any) error {
	v.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	v.w.WriteHeader(status)
	_ = json.NewEncoder(v.w).Encode(value) // the client may have gone
	return nil
}

// tagged sends a value that may be changed, with its state; or nothing to whoever has
// just that state.
func (v *visit) tagged(status int, tag string, value any) error {
	v.w.Header().Set("ETag", `"`+tag+`"`)
	if c := tagsOf(v.r.Header.Values("If-None-Match")); v.r.Method == http.MethodGet && slices.Contains(c, tag) {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return v.answer(status, value)
}

// condition reads If-Match and If-None-Match.
func (v *visit) condition() (c Condition, err error) {
	match, none := v.r.Header.Values("If-Match"), v.r.Header.Values("If-None-Match")
	c.Tags, c.Absent = tagsOf(match), slices.Contains(none, "*")
	c.Any = slices.Contains(c.Tags, "*")
	switch {
	case len(none) > 0 && !c.Absent:
		return c, at(inHeader, wrong("If-None-Match", "want *, which makes something that is not there yet"))
	case len(match) > 0 && len(c.Tags) == 0:
		return c, at(inHeader, wrong("If-Match", "want the ETag of what was read, with its quotes"))
	}
	return c, nil
}

// tagsOf reads a list of entity tags; * stands for itself. Weak ones match nothing.
func tagsOf(values []string) (out []string) {
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		part = strings.TrimSpace(part)
		if part == "*" {
			out = append(out, part)
		}
		if len(part) > 2 && part[0] == '"' && part[len(part)-1] == '"' {
			out = append(out, part[1:len(part)-1])
		}
	}
	return out
}

// number reads a parameter.
func (v *visit) number(name string, otherwise, least, most int) (int, error) {
	text := v.r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, at(inQuery, wrong(name, "%q: want a number from %d to %d", cut(text), least, most))
	}
	return n, nil
}

// known refuses parameters that mean nothing here: a typing error must not look like
// an answer.
func (v *visit) known(names ...string) error {
	var bad []error
	q := v.r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch {
		case !slices.Contains(names, name):
			bad = append(bad, wrong(cut(name), "there is no such parameter; want %s", strings.Join(names, ", ")))
		case len(q[name]) > 1:
			bad = append(bad, wrong(name, "it is given twice"))
		}
	}
	return at(inQuery, wrongIf(bad...))
}
