package jobs

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // compares with redis.sha1hex, guards nothing
	"encoding/hex"
	"encoding/json"
)

// fieldsSum stands for a row's "row id NUL fields" where finish.lua compares it with
// what Redis has.
func fieldsSum(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// lineFields are a row's fields as they stand in a line of results.
func lineFields(fields string) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(fields)); err != nil {
		return nil, err
	}
	return escapeBreaks(b.Bytes()), nil
}

// fieldsName is the member of a line that has them.
const fieldsName = "fields"

// hasFields says that a line of results carries exactly these.
func hasFields(line []byte, fields string) (bool, error) {
	want, err := lineFields(fields)
	if err != nil {
		return false, err
	}
	ms, err := members(line, nil)
	for _, m := range ms {
		if m.name == fieldsName {
			return bytes.Equal(m.raw, want), err
		}
	}
	return false, err
}

// withFields is a line of results with other fields, all else as it was.
func withFields(line []byte, fields string) ([]byte, error) {
	now, err := lineFields(fields)
	if err != nil {
		return nil, err
	}
	ms, err := members(line, nil)
	if err != nil {
		return nil, err
	}
	out, had := make([]byte, 0, len(line)+len(now)), false
	put := func(name string, raw []byte) {
		sep := byte(',')
		if len(out) == 0 {
			sep = '{'
		}
		out = append(appendQuoted(append(out, sep), name), ':')
		out = append(out, raw...)
	}
	for _, m := range ms {
		if m.name == fieldsName {
			m.raw, had = now, true
		}
		put(m.name, m.raw)
	}
	if !had {
		put(fieldsName, now)
	}
	return append(out, '}'), nil
}
