package jobs

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// CSVWriterOptions are how a CSV file is written; the zero value is UTF-8 with LF.
type CSVWriterOptions struct {
	// ExcelSafe is for a file that people open in a spreadsheet: a byte order mark and
	// CRLF, and a ' before what the spreadsheet would take for a formula.
	ExcelSafe bool
	Encoding  string // "" is UTF-8; as for input: "cp932", "utf-16", "euc-jp", …
	Replace   bool   // what Encoding cannot say becomes a ?, in the place of an error
}

// CSVWriter writes a CSV file of results.
type CSVWriter struct {
	opts   CSVWriterOptions
	w      *csv.Writer // into line
	line   bytes.Buffer
	out    *bufio.Writer
	closer io.Closer
	check  *encoding.Encoder // nil: everything can be said
	bom    io.Writer         // gets the mark before the first line; nil: none
	head   []string
}

// NewCSVWriter writes to w, which stays the caller's. The error names an encoding that
// is not known.
func NewCSVWriter(w io.Writer, o CSVWriterOptions) (*CSVWriter, error) {
	c := &CSVWriter{opts: o}
	if o.ExcelSafe && (o.Encoding == "" || isUTF8(o.Encoding)) {
		c.bom = w
	}
	if o.Encoding != "" && !isUTF8(o.Encoding) {
		enc, err := lookupEncoding(o.Encoding)
		if err != nil {
			return nil, err
		}
		t := enc.NewEncoder().Writer(w)
		if e := enc.NewEncoder(); enc != unicode.UTF16(unicode.LittleEndian, unicode.UseBOM) {
			c.check = e
		}
		w = t
		if cl, ok := t.(io.Closer); ok {
			c.closer = cl
		}
	}
	c.out = bufio.NewWriterSize(w, 1<<16)
	c.w = csv.NewWriter(&c.line)
	return c, nil
}

// UnsayableError is a character that the file's encoding does not have.
type UnsayableError struct {
	Row, Column, Encoding string
	Char                  rune
}

func (e *UnsayableError) Error() string {
	return fmt.Sprintf("row %s, column %s: %s has no %q (U+%04X); --replace writes a ? in its place, --encoding utf-8 says everything", e.Row, e.Column, e.Encoding, e.Char, e.Char)
}

// Header writes the first line.
func (c *CSVWriter) Header(head []string) error {
	if c.bom != nil {
		if _, err := io.WriteString(c.bom, "\ufeff"); err != nil {
			return err
		}
	}
	c.head = head
	return c.Write("(header)", append([]string(nil), head...))
}

// Write writes a line; row names it in errors. It changes cells.
func (c *CSVWriter) Write(row string, cells []string) error {
	for i, cell := range cells {
		if c.opts.ExcelSafe {
			cell = excelSafe(cell)
		}
		cell, err := c.sayable(cell, row, i)
		if err != nil {
			return err
		}
		cells[i] = cell
	}
	return c.put(cells)
}

// put writes a line. encoding/csv's own CRLF would change line ends within cells too.
func (c *CSVWriter) put(cells []string) error {
	c.line.Reset()
	if err := c.w.Write(cells); err != nil {
		return err
	}
	c.w.Flush()
	if c.opts.ExcelSafe {
		c.line.Truncate(c.line.Len() - 1)
		c.line.WriteString("\r\n")
	}
	_, err := c.out.Write(c.line.Bytes())
	return err
}

// sayable is a cell as the encoding can say it.
func (c *CSVWriter) sayable(cell, row string, column int) (string, error) {
	if c.check == nil || isASCII(cell) {
		return cell, nil
	}
	if _, err := c.check.String(cell); err == nil {
		return cell, nil
	}
	var b strings.Builder
	for _, r := range cell {
		if _, err := c.check.String(string(r)); err == nil {
			b.WriteRune(r)
			continue
		}
		if !c.opts.Replace {
			return "", &UnsayableError{Row: row, Column: c.head[column], Encoding: c.opts.Encoding, Char: r}
		}
		b.WriteByte('?')
	}
	return b.String(), nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Close writes the rest.
func (c *CSVWriter) Close() error {
	if err := c.out.Flush(); err != nil || c.closer == nil {
		return err
	}
	return c.closer.Close()
}

var plainNumber = regexp.MustCompile(`^[+-]?\d+([.,]\d+)*([eE][+-]?\d+)?$`)

// excelSafe puts a ' before a text that a spreadsheet would take for a formula
// (https://owasp.org/www-community/attacks/CSV_Injection), in full width too, which
// Japanese ones take for the same. Numbers stay numbers.
func excelSafe(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r＝＋－＠", firstRune(cell)) || plainNumber.MatchString(cell) {
		return cell
	}
	return "'" + cell
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
