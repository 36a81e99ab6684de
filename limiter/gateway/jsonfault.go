package gateway

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// badJSON refuses a body that cannot be read as what was wanted. Where a field is of
// the wrong kind, it names the field as its sender knows it.
func badJSON(wanted string, err error) *apiError {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return badRequest("%.200s: want %s, not %.40s", clean(kind.Field), kindOf(kind.Type), clean(kind.Value))
	}
	if errors.As(err, &kind) {
		return badRequest("want %s, not %.40s", wanted, clean(kind.Value))
	}
	return badRequest("want %s: %.300s", wanted, clean(strings.TrimPrefix(err.Error(), "json: ")))
}

// kindOf is what a field of a type takes.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Struct:
		return "an object"
	}
	return "another kind of value"
}
