package jobs

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"
)

// spool copies what cannot be read twice, a byte more than may be read. Where the
// beginning can be no rows the rest stays where it is: a device may have no end.
func (in Input) spool(w io.Writer, r io.Reader) (int64, error) {
	head := int64(in.maxRecord()) + headMore
	br := bufio.NewReaderSize(r, 64<<10)
	var first headCheck
	n, err := io.Copy(io.MultiWriter(w, &first), io.LimitReader(br, min(head, in.maxBytes()+1)))
	if err != nil || n < head || first.hopeless(in) {
		return n, err
	}
	rest, err := io.Copy(w, io.LimitReader(br, in.maxBytes()+1-n))
	return n + rest, err
}

// headMore is read beyond a whole record before the beginning is judged, so that
// whoever reads it sees that the record is too long.
const headMore = 1 << 20

// headCheck looks at the beginning of an input as it goes by.
type headCheck struct {
	begin []byte // its first bytes
	lines bool   // it has a line break
	bad   bool   // it has what no UTF-8 text has, or NUL
	rest  []byte // a character that was cut
}

func (h *headCheck) Write(p []byte) (int, error) {
	if len(h.begin) < headSize {
		h.begin = append(h.begin, p[:min(len(p), headSize-len(h.begin))]...)
	}
	h.lines = h.lines || bytes.IndexByte(p, '\n') >= 0
	h.bad = h.bad || bytes.IndexByte(p, 0) >= 0 || h.broken(p)
	return len(p), nil
}

// broken tells bytes that are no UTF-8, beside a character that goes on in the next
// piece.
func (h *headCheck) broken(p []byte) bool {
	if h.bad {
		return true
	}
	text := append(h.rest, p...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if b := text[len(text)-back]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[len(text)-back:]) {
				end = len(text) - back
			}
			break
		}
	}
	h.rest = append([]byte(nil), text[end:]...)
	return !utf8.Valid(text[:end])
}

// hopeless says that reading will stop within the beginning, whatever comes behind it:
// it is no text, or one line that is longer than a row may be. What is packed, or in
// another encoding, is not judged.
func (h *headCheck) hopeless(in Input) bool {
	if packed(h.begin) || in.Encoding != "" && !isUTF8(in.Encoding) || isUTF16(h.begin) {
		return false
	}
	return h.bad || !h.lines && !bytes.HasPrefix(bytes.TrimLeft(h.begin, " \t\r\ufeff"), []byte("["))
}

// packed tells what inflate undoes.
func packed(head []byte) bool { return bytes.HasPrefix(head, gzipMagic) || isZstd(head) }
