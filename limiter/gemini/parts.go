package gemini

import (
	"iter"
	"strings"
)

// Bounds of the parts that a body is read in. Real errors are a few kilobytes and
// one part; more is a page, somebody's prompt in an error, or an attack.
const (
	partBytes   = 128 << 10
	longString  = 32 << 10 // a longer string is read at its two ends
	longKept    = 8 << 10  // of each end
	boundaryMax = 64 << 10 // a part is cut earlier by so much at most, to end between two values
)

// parts gives a body in pieces of bounded size, cut between two values where there
// is such a place, with the middles of very long strings left out. All of a body of
// any size is looked at, and each byte of it once.
func parts(body string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(body) <= partBytes {
			yield(body)
			return
		}
		body = shortened(body)
		for len(body) > partBytes {
			n := boundary(body[:partBytes])
			if !yield(body[:n]) {
				return
			}
			body = body[n:]
		}
		yield(body)
	}
}

// boundary is behind the last place between two values.
func boundary(part string) int {
	for _, between := range []string{"},", "],", "\n", `",`, ", "} {
		if i := strings.LastIndex(part[boundaryMax:], between); i >= 0 {
			return boundaryMax + i + len(between)
		}
	}
	return len(part)
}

// shortened leaves out the middles of long strings. What is in quotes is a string.
func shortened(body string) string {
	var out strings.Builder
	for body != "" {
		open := strings.IndexByte(body, '"')
		if open < 0 {
			break
		}
		n := stringLength(body[open+1:])
		text := body[open+1 : open+1+n]
		out.WriteString(body[:open+1])
		if len(text) > longString {
			text = text[:wholeEscapes(text[:longKept])] + " " + text[len(text)-longKept:]
		}
		out.WriteString(text)
		body = body[open+1+n:]
		if body != "" {
			out.WriteByte('"')
			body = body[1:]
		}
	}
	out.WriteString(body)
	return out.String()
}

// stringLength is up to the quote that ends a string, or to the end of the text.
func stringLength(s string) int {
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:], `"\`)
		switch {
		case n < 0:
			return len(s)
		case s[i+n] == '"':
			return i + n
		}
		i += n + 2
	}
	return len(s)
}

// wholeEscapes is the length without a backslash at the end that escapes what was
// cut off.
func wholeEscapes(s string) int {
	n := len(s)
	for n > 0 && s[n-1] == '\\' {
		n--
	}
	return n + (len(s)-n)&^1
}
