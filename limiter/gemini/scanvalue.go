package gemini

import "bytes"

func (s *scanner) start(i int) { s.taking, s.from, s.kept = true, i, s.kept[:0] }

// taken gives the value that ends before i.
func (s *scanner) taken(p []byte, i int) []byte {
	s.taking = false
	if len(s.kept) == 0 {
		return p[s.from:i]
	}
	if len(s.kept) < maxScanTake {
		s.kept = append(s.kept, p[s.from:i]...)
	}
	return s.kept
}

func (s *scanner) finish(p []byte, i int) {
	if s.taking {
		s.on(s.cur, s.taken(p, i))
	}
	s.ended()
}

// text goes on in a string or a key.
func (s *scanner) text(p []byte, i int) int {
	n := s.stringEnd(p[i:])
	if n < 0 {
		return len(p)
	}
	i += n
	if s.state == inString {
		s.finish(p, i)
		return i
	}
	name := s.taken(p, i-1)
	s.cur = s.stack[len(s.stack)-1].field.keys[string(name)]
	s.state = wantColon
	return i
}

func (s *scanner) scalar(p []byte, i int) int {
	for ; i < len(p); i++ {
		switch p[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			s.finish(p, i)
			return i
		}
	}
	return i
}

// whole goes on in a value of which only the end is looked for.
func (s *scanner) whole(p []byte, i int) int {
	for i < len(p) {
		if s.str {
			n := s.stringEnd(p[i:])
			if n < 0 {
				return len(p)
			}
			s.str = false
			i += n
			continue
		}
		switch p[i] {
		case '"':
			s.str = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == 0 {
				s.finish(p, i+1)
				return i + 1
			}
		}
		i++
	}
	return i
}

// stringEnd gives the length up to and with the quote that ends a string, or
// -1 when the string goes on in the next piece.
func (s *scanner) stringEnd(p []byte) int {
	quote := -1
	for i := 0; ; {
		if s.esc {
			if i >= len(p) {
				return -1
			}
			s.esc = false
			i++
		}
		if quote < i {
			n := bytes.IndexByte(p[i:], '"')
			if n < 0 {
				s.escapes(p[i:])
				return -1
			}
			quote = i + n
		}
		back := bytes.IndexByte(p[i:quote], '\\')
		if back < 0 {
			return quote + 1
		}
		s.esc = true
		i += back + 1
	}
}

// escapes remembers whether a piece without a quote ends after a backslash
// that escapes what comes next.
func (s *scanner) escapes(p []byte) {
	n := 0
	for n < len(p) && p[len(p)-1-n] == '\\' {
		n++
	}
	s.esc = n%2 == 1
}
