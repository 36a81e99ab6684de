package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// wants refuses another method.
func (v *visit) wants(method string) *apiError {
	if v.r.Method == method {
		return nil
	}
	v.w.Header().Set("Allow", method)
	return fail(http.StatusMethodNotAllowed, unimplemented, "%.200s wants %s, not %.20s", clean(v.r.URL.Path), method, clean(v.r.Method))
}

// read reads a JSON object of at most so many bytes, with no fields but those of
// into. No body at all is an empty object.
func (v *visit) read(method string, most int64, into any) (err *apiError) {
	if err := v.wants(method); err != nil {
		return err
	}
	if enc := v.r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return fail(http.StatusUnsupportedMediaType, invalidArgument, "Content-Encoding %.40q: send the body as it is", clean(enc))
	}
	if v.body, err = v.g.bodyOf(v.r.Context(), v.r, v.w.rc); err != nil {
		return err
	}
	raw, failed := io.ReadAll(io.LimitReader(v.body, most+1))
	switch {
	case failed != nil:
		return clientError(failed)
	case int64(len(raw)) > most:
		return fail(http.StatusRequestEntityTooLarge, invalidArgument, "the body is larger than %d bytes", most)
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return nil
	}
	return decodeObject(raw, into)
}

func decodeObject(raw []byte, into any) *apiError {
	if raw[0] != '{' {
		return badRequest("want a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return badJSON("a JSON object", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return badRequest("want a JSON object, and nothing after it")
	}
	return nil
}
