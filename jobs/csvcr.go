package jobs

import (
	"bytes"
	"strings"
)

// keptCR stands for a CR inside quotes while encoding/csv reads, which makes LF of
// CR LF there too. No UTF-8 text has this byte, and what is read here is one.
const keptCR = 0xff

// crKeeper hides the CRs of quoted cells from encoding/csv, so that cells stay what
// they are byte for byte. It follows CSV's rules over the text as it comes, in pieces.
type crKeeper struct {
	comma string
	last  []byte // the bytes before, as many as the comma has
	at    cellPlace
}

// cellPlace is where in a cell the next byte is.
type cellPlace int

const (
	cellBegins cellPlace = iota
	cellPlain
	cellQuoted
	cellClosed // behind a quote within quotes: the end of the cell, or half of a doubled one
)

// hide puts keptCR in the place of each CR inside quotes.
func (k *crKeeper) hide(p []byte) {
	for len(p) > 0 {
		if k.at == cellQuoted {
			p = p[k.quoted(p):]
			continue
		}
		k.step(p[0])
		p = p[1:]
	}
}

// quoted passes over the text up to the next quote, which is included.
func (k *crKeeper) quoted(p []byte) (n int) {
	end := bytes.IndexByte(p, '"')
	if n = end + 1; end < 0 {
		end, n = len(p), len(p)
	} else {
		k.at = cellClosed
	}
	for text := p[:end]; ; {
		cr := bytes.IndexByte(text, '\r')
		if cr < 0 {
			return n
		}
		text[cr], text = keptCR, text[cr+1:]
	}
}

// step passes over a byte that is not inside quotes.
func (k *crKeeper) step(b byte) {
	switch {
	case b == '"' && (k.at == cellBegins || k.at == cellClosed):
		k.at, k.last = cellQuoted, k.last[:0]
	case b == '\n' || k.endsComma(b):
		k.at = cellBegins
	default:
		k.at = cellPlain
	}
}

// endsComma tells the last byte of a delimiter, which may be a character of several.
func (k *crKeeper) endsComma(b byte) bool {
	if len(k.comma) == 1 {
		return b == k.comma[0]
	}
	if k.last = append(k.last, b); len(k.last) > len(k.comma) {
		k.last = append(k.last[:0], k.last[1:]...)
	}
	return string(k.last) == k.comma
}

// restoreCRs gives cells the CRs back that were hidden.
func restoreCRs(cells []string) []string {
	for i, cell := range cells {
		if strings.IndexByte(cell, keptCR) >= 0 {
			cells[i] = strings.ReplaceAll(cell, string([]byte{keptCR}), "\r")
		}
	}
	return cells
}
