package jobs

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// checked passes UTF-8 through and stops at the first byte that is not, with
// its place. What came before is delivered first.
type checked struct {
	r      io.Reader
	enc    string // what it was decoded from; there the replacement character is an error too
	input  bool   // it has an option --encoding
	buf    []byte
	ready  []byte // of buf: good, not yet delivered
	tail   []byte // of buf: the beginning of a character whose rest was not read yet
	line   int    // of what comes next
	column int
	wide   bool // a line before had characters beyond ASCII, which were good
	err    error
}

func newChecked(r io.Reader, enc string) *checked {
	return &checked{r: r, enc: enc, input: true, buf: make([]byte, 64<<10), line: 1, column: 1}
}

func (c *checked) Read(p []byte) (int, error) {
	for len(c.ready) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		c.fill()
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

func (c *checked) fill() {
	kept := copy(c.buf, c.tail)
	n, err := c.r.Read(c.buf[kept:])
	b := c.buf[:kept+n]
	c.err = err
	c.tail = nil
	if err == nil {
		b, c.tail = splitTail(b)
	}
	if bad, what := c.firstBad(b); bad >= 0 {
		c.advance(b[:bad])
		c.err = c.problem(what, b, bad)
		c.ready = b[:bad]
		return
	}
	c.advance(b)
	c.ready = b
}

// splitTail cuts off a last character that is not complete yet.
func splitTail(b []byte) (whole, tail []byte) {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		at := len(b) - i
		if utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at], b[at:]
			}
			break
		}
	}
	return b, nil
}

// firstBad is the place of the first byte that cannot be in a text, or -1.
func (c *checked) firstBad(b []byte) (int, string) {
	nul := bytes.IndexByte(b, 0)
	if nul < 0 && utf8.Valid(b) {
		if c.enc != "" {
			if i := bytes.Index(b, []byte("\uFFFD")); i >= 0 {
				return i, "cannot be read as " + c.enc
			}
		}
		return -1, ""
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == 0:
			return i, "a NUL byte: not a text file"
		case r == utf8.RuneError && n <= 1:
			return i, fmt.Sprintf("invalid UTF-8 (byte 0x%02X)", b[i])
		}
		i += n
	}
	return -1, ""
}

func (c *checked) advance(b []byte) {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		c.wide = c.wide || utf8.RuneCount(b[:i]) < i
		c.line += bytes.Count(b, []byte{'\n'})
		c.column = 1
		b = b[i+1:]
	}
	c.column += utf8.RuneCount(b)
}

// halfCharacter knows one of UTF-16's two halves, written as if it were a character.
func halfCharacter(b []byte) bool {
	return len(b) >= 3 && b[0] == 0xed && b[1] >= 0xa0 && b[1] <= 0xbf && b[2] >= 0x80 && b[2] <= 0xbf &&
		(len(b) == 3 || b[3] < utf8.RuneSelf)
}

// lineOf is the line of b in which a place is.
func lineOf(b []byte, at int) []byte {
	begin := bytes.LastIndexByte(b[:at], '\n') + 1
	if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
		return b[begin : at+n]
	}
	return b[begin:]
}

func (c *checked) problem(what string, b []byte, at int) *Problem {
	p := &Problem{Line: c.line, Column: c.column, What: what}
	switch {
	case c.enc != "":
		p.Remedy = "the file is in another encoding, or damaged here"
	case halfCharacter(b[at:]):
		p.What = fmt.Sprintf("half a character (bytes %X), as of an emoji that was cut in two", b[at:at+3])
		p.Remedy = "take it out, or make the file again without cutting text; no encoding mends it"
	case !c.input:
		p.Remedy = encodingHint(b, at, false)
	case b[at] == 0:
		p.Remedy = "if it is UTF-16 (Excel's \"Unicode text\"), give --encoding utf-16"
	case !utf8.FullRune(b[at:]):
		p.Remedy = "the input ends inside a character: it is cut short, or not UTF-8 (then name its encoding with --encoding)"
	case c.wide && !mostlyUTF8(lineOf(b, at)):
		p.Remedy = "the lines before are UTF-8 and this one is not: files of two encodings were joined, convert them to UTF-8 one by one"
	default:
		p.Remedy = encodingHint(b, at, true)
	}
	return p
}
