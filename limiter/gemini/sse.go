package gemini

import "bytes"

// events feeds the documents of a server-sent event stream to an answer as the
// bytes pass by. Lines may be of any length; nothing is buffered. It also takes
// a bare JSON line, which is how some front ends send an error in mid-stream.
type events struct {
	*answer
	at     lineState
	prefix []byte // the first bytes of a line, until they say what it is
}

type lineState uint8

const (
	lineStart lineState = iota
	inData
	inOther
)

var dataPrefix = []byte("data:")

func (e *events) push(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		e.line(line, ended)
		p = rest
	}
}

// line takes a line or a piece of one.
func (e *events) line(p []byte, ended bool) {
	if e.at == lineStart {
		if len(e.prefix) > 0 || len(p) < len(dataPrefix) {
			e.prefix = append(e.prefix, p...)
			p = e.prefix
		}
		p = e.open(p, ended)
	}
	if e.at == inData && len(p) > 0 {
		e.answer.push(p)
	}
	if ended {
		e.at, e.prefix = lineStart, e.prefix[:0]
	}
}

// open decides what a line is, once enough of it is there, and gives what of
// it belongs to the document.
func (e *events) open(p []byte, ended bool) []byte {
	switch {
	case bytes.HasPrefix(p, dataPrefix):
		p = p[len(dataPrefix):]
		e.begin()
	case len(p) > 0 && (p[0] == '{' || p[0] == '[' || p[0] == '<'):
		e.begin()
	case ended && (len(p) == 0 || string(p) == "\r"):
		e.blank()
	case string(p) == "\r":
		return nil // a line feed may follow
	case ended || len(p) >= len(dataPrefix) || !bytes.HasPrefix(dataPrefix, p):
		e.at = inOther
	default:
		return nil // could still become "data:"
	}
	return p
}

// begin starts the next document, or goes on in one that is continued on
// another data line. The "[DONE]" with which some front ends end a stream is a
// list without an answer to the scanner.
func (e *events) begin() {
	e.at = inData
	if !e.scan.begun() {
		e.scan.reset()
	}
}

// blank ends an event: a document still open was cut.
func (e *events) blank() {
	if e.scan.begun() {
		e.cut = true
		e.scan.reset()
	}
}
