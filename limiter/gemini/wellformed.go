package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// strictBytes is how large a body is read by the letter of JSON. Larger ones are
// media with a little around it: a look at every byte of those costs more than
// the request that a fault in them would waste.
const strictBytes = 1 << 20

var (
	errNotJSON = errors.New("the request's body is not one whole JSON object")
	errNotUTF8 = errors.New("the request's body is not JSON in UTF-8")
)

// checkBody refuses a body that no method of the API takes: the provider would
// answer 400, and count the request.
func checkBody(body []byte) error {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0 || body[0] != '{':
		return errNotJSON
	case !utf8.Valid(body):
		return errNotUTF8
	case len(body) <= strictBytes && !json.Valid(body):
		return errNotJSON
	}
	return nil
}
