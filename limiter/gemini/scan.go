package gemini

// field is a place in a JSON document that somebody wants to see. Arrays are
// transparent: a field of an array is that field of each of its elements.
type field struct {
	name string
	keys map[string]*field // the fields of an object that are looked at; the others are skipped
	take bool              // hand over the value as it stands
	mark bool              // say when an object of this field ends
}

// Bounds of the scanner: a document nested deeper is not followed, and a value
// that arrives in pieces is kept up to this size.
const (
	maxScanDepth = 64
	maxScanTake  = 256 << 10
)

// scanner finds the values of a schema in JSON that arrives in pieces of any
// size. It allocates nothing for what is not taken, so a 20 MB image costs no
// more than a look at its bytes. It does not validate: it tells a whole
// document from a cut one, and JSON from what is not JSON at all.
type scanner struct {
	root *field
	on   func(f *field, raw []byte) // a taken value, or a nil raw at the end of a marked object

	state scanState
	cur   *field // the field of the value at hand; nil: skipped
	stack []scanFrame
	depth int  // of a value skipped or taken whole
	str   bool // inside a string of it
	esc   bool // after a backslash

	taking bool
	from   int    // where the taken value goes on in this piece
	kept   []byte // what came of it in earlier pieces
}

type scanFrame struct {
	field *field
	array bool
}

type scanState uint8

const (
	wantValue scanState = iota
	wantKey
	inKey
	wantColon
	afterValue
	inString
	inScalar
	inWhole // inside a value that is skipped or taken whole
	scanDone
	scanBroken
)

// reset makes it ready for the next document.
func (s *scanner) reset() {
	s.state, s.cur, s.stack, s.depth = wantValue, s.root, s.stack[:0], 0
	s.str, s.esc, s.taking, s.kept = false, false, false, s.kept[:0]
}

// begun says that a document has started and has not ended.
func (s *scanner) begun() bool { return len(s.stack) > 0 || s.state == inWhole }

// push takes the next piece.
func (s *scanner) push(p []byte) {
	s.from = 0
	for i := 0; i < len(p) && s.state != scanBroken; {
		i = s.step(p, i)
	}
	if s.taking && len(s.kept) < maxScanTake {
		s.kept = append(s.kept, p[s.from:]...)
	}
}

// step takes what stands at i and says where to go on.
func (s *scanner) step(p []byte, i int) int {
	switch s.state {
	case inString, inKey:
		return s.text(p, i)
	case inScalar:
		return s.scalar(p, i)
	case inWhole:
		return s.whole(p, i)
	}
	c := p[i]
	if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
		return i + 1
	}
	switch s.state {
	case wantValue:
		return s.begin(p, i)
	case wantKey:
		s.key(c, i)
	case wantColon:
		s.expect(c == ':', wantValue)
	case afterValue:
		s.next(c)
	default: // more after the document's end
		s.state = scanBroken
	}
	return i + 1
}

func (s *scanner) expect(ok bool, next scanState) {
	if s.state = next; !ok {
		s.state = scanBroken
	}
}

// key begins a key or ends an object.
func (s *scanner) key(c byte, i int) {
	switch c {
	case '"':
		s.state = inKey
		s.start(i + 1)
	case '}':
		s.close(false)
	default:
		s.state = scanBroken
	}
}

// next takes what follows a value: a comma or the end of what it stands in.
func (s *scanner) next(c byte) {
	top := s.stack[len(s.stack)-1]
	switch {
	case c == ',' && top.array:
		s.state, s.cur = wantValue, top.field
	case c == ',':
		s.state = wantKey
	case c == '}' && !top.array, c == ']' && top.array:
		s.close(top.array)
	default:
		s.state = scanBroken
	}
}

// begin takes the first byte of a value.
func (s *scanner) begin(p []byte, i int) int {
	c := p[i]
	if s.cur != nil && s.cur.take {
		s.start(i)
	}
	switch {
	case c == '{' || c == '[':
		s.open(c == '[')
	case len(s.stack) == 0: // neither an object nor an array: not what the API sends
		s.state = scanBroken
	case c == '"':
		s.state = inString
	case c == ']' && s.stack[len(s.stack)-1].array: // an empty array
		s.taking = false
		s.close(true)
	default:
		s.state = inScalar
	}
	return i + 1
}

func (s *scanner) open(array bool) {
	switch {
	case s.cur == nil || s.cur.take:
		s.state, s.depth = inWhole, 1
	case len(s.stack) == maxScanDepth:
		s.state = scanBroken
	default:
		s.stack = append(s.stack, scanFrame{s.cur, array})
		s.expect(true, wantKey)
		if array {
			s.state = wantValue
		}
	}
}

func (s *scanner) close(array bool) {
	f := s.stack[len(s.stack)-1].field
	s.stack = s.stack[:len(s.stack)-1]
	if f.mark && !array {
		s.on(f, nil)
	}
	s.ended()
}

func (s *scanner) ended() {
	if s.state = afterValue; len(s.stack) == 0 {
		s.state = scanDone
	}
}
