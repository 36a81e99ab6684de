package jobs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// ReadText reads a template's file. It has to be UTF-8 (or UTF-16 with its byte
// order mark); its error names the place that is not and what to do about it.
func ReadText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", pathProblem(path, err)
	}
	defer f.Close()
	r, err := toUTF8(f, "")
	if err != nil {
		return "", err
	}
	r.input = false
	b, err := io.ReadAll(r)
	var p *Problem
	if errors.As(err, &p) {
		p.File = path
	}
	return string(b), err
}

// toUTF8 gives valid UTF-8 without a byte order mark, or a Problem that names
// the place of the first byte that is not.
func toUTF8(r io.Reader, name string) (*checked, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}) && (name == "" || isUTF8(name)) {
		_, _ = br.Discard(3)
	}
	switch {
	case name == "" && isUTF16(head):
		name = "utf-16"
	case name == "" || isUTF8(name):
		return newChecked(br, ""), nil
	}
	enc, err := lookupEncoding(name)
	if err != nil {
		return nil, err
	}
	return newChecked(transform.NewReader(br, enc.NewDecoder()), name), nil
}

// isUTF16 knows its byte order mark.
func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff})
}

func isUTF8(name string) bool {
	n := strings.ToLower(name)
	return n == "utf-8" || n == "utf8"
}

// Names that people use and the registries lack.
var encodingAliases = map[string]string{
	"cp932": "shift_jis", "sjis": "shift_jis", "windows-932": "shift_jis",
	"cp936": "gbk", "cp949": "euc-kr", "cp950": "big5", "cp1252": "windows-1252",
	"eucjp": "euc-jp", "euckr": "euc-kr",
}

// CheckEncoding refuses a name that stands for no encoding.
func CheckEncoding(name string) error {
	if name == "" || isUTF8(name) {
		return nil
	}
	_, err := lookupEncoding(name)
	return err
}

func lookupEncoding(name string) (encoding.Encoding, error) {
	n := strings.ToLower(strings.TrimSpace(name))
	if a, ok := encodingAliases[n]; ok {
		n = a
	}
	if n == "utf-16" || n == "utf16" {
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), nil
	}
	if enc, err := htmlindex.Get(n); err == nil && enc != encoding.Replacement {
		return enc, nil
	}
	if enc, err := ianaindex.IANA.Encoding(n); err == nil && enc != nil {
		return enc, nil
	}
	return nil, &Problem{
		What:   fmt.Sprintf("unknown encoding %q", name),
		Remedy: "--encoding takes utf-8, utf-16, cp932 (shift_jis), euc-jp, gbk, gb18030, big5, euc-kr, latin1, windows-1252, …",
	}
}
