package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// member is one field of a row's object: the name decoded, the value as it
// stands there.
type member struct {
	name string
	raw  []byte
}

// members cuts a valid JSON object into its fields, in their order.
func members(object []byte, into []member) ([]member, error) {
	i := skipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return nil, fmt.Errorf("a row's fields are one JSON object, not %.20q", object)
	}
	for i = skipSpace(object, i+1); i < len(object) && object[i] != '}'; {
		end := skipString(object, i)
		name, err := unquote(object[i:end])
		if err != nil {
			return nil, err
		}
		i = skipSpace(object, skipSpace(object, end)+1) // the colon
		end = skipValue(object, i)
		into = append(into, member{name, object[i:end]})
		i = skipSpace(object, end)
		if i < len(object) && object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
	return into, nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString gives the place after the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// skipValue gives the place after the value that begins at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// unquote decodes a JSON string.
func unquote(raw []byte) (string, error) {
	if len(raw) >= 2 && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// appendQuoted writes s as a JSON string that stays one line for every reader:
// U+2028, U+2029 and NEL, which many take for line ends, are escaped; <, > and
// & are not.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == '\u2028' || r == '\u2029' || r == '\u0085' {
				b = append(append(b, s[from:i]...), '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
				from = i + n
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// loneSurrogate finds a \u escape that is half a character; "" when there is
// none.
func loneSurrogate(raw []byte) string {
	for i := 0; ; {
		at := bytes.IndexByte(raw[i:], '\\')
		if at < 0 {
			return ""
		}
		i += at
		if i+6 > len(raw) || raw[i+1] != 'u' {
			i += 2
			continue
		}
		unit := hex4(raw[i+2:])
		switch {
		case unit >= 0xD800 && unit < 0xDC00 && i+12 <= len(raw) && raw[i+6] == '\\' && raw[i+7] == 'u' && hex4(raw[i+8:])&0xFC00 == 0xDC00:
			i += 12
		case unit >= 0xD800 && unit < 0xE000:
			return string(raw[i : i+6])
		default:
			i += 6
		}
	}
}

func hex4(b []byte) uint64 {
	n, _ := strconv.ParseUint(string(b[:4]), 16, 32)
	return n
}
