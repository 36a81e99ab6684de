package jobs

import "bytes"

// valueScan finds the end of one JSON value that comes in pieces. It counts brackets
// and knows strings; whether the value is JSON is for others to say.
type valueScan struct {
	depth   int
	inText  bool
	escaped bool // the next byte is a string's, whatever it is
	begun   bool
}

// feed says how many bytes of b belong to the value, and whether it ends there.
func (s *valueScan) feed(b []byte) (n int, done bool) {
	for i := 0; i < len(b); {
		if s.inText {
			i = s.text(b, i)
			if !s.inText && s.depth == 0 {
				return i, true
			}
			continue
		}
		switch b[i] {
		case '"':
			s.inText = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth == 0 {
				return i, true
			}
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		case ',', ' ', '\t', '\n', '\r':
			if s.depth == 0 && s.begun {
				return i, true
			}
		}
		s.begun = true
		i++
	}
	return len(b), false
}

// text passes over the rest of a string, or of b.
func (s *valueScan) text(b []byte, i int) int {
	if s.escaped && i < len(b) {
		s.escaped = false
		i++
	}
	quote := find(b, i, '"')
	for {
		slash := bytes.IndexByte(b[i:quote], '\\')
		if slash < 0 {
			break
		}
		if i += slash + 2; i > len(b) {
			s.escaped = true
			return len(b)
		}
		if quote < i {
			quote = find(b, i, '"')
		}
	}
	if quote == len(b) {
		return quote
	}
	s.inText = false
	return quote + 1
}

// find is where c is in b from i on; its end when it is not there.
func find(b []byte, i int, c byte) int {
	if at := bytes.IndexByte(b[i:], c); at >= 0 {
		return i + at
	}
	return len(b)
}
