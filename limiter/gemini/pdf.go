package gemini

import (
	"bytes"
	"compress/zlib"
	"io"
	"strconv"
)

// Bounds of looking into a PDF, and what is assumed of one that cannot be read:
// a small file may have many pages, so its bytes say little.
const (
	pdfInflate   = 16 << 20
	pdfMostPages = 1000 // https://ai.google.dev/gemini-api/docs/document-processing
	pdfPageBytes = 150
)

// pages of a PDF part, rather too many than too few.
func (p mediaPart) pages() int64 {
	if p.uri {
		return filePages
	}
	b := p.decoded()
	n := countPages(b)
	for _, stream := range pdfStreams(b) {
		n = max(n, countPages(stream), pageTotal(stream))
	}
	if n = max(n, pageTotal(b)); n == 0 {
		n = int64(len(b))/pdfPageBytes + 1
	}
	return min(n, pdfMostPages)
}

// countPages counts page objects: "/Type /Page" that is not "/Pages".
func countPages(b []byte) (n int64) {
	for {
		at := bytes.Index(b, []byte("/Type"))
		if at < 0 {
			return n
		}
		b = bytes.TrimLeft(b[at+len("/Type"):], " \r\n\t")
		if bytes.HasPrefix(b, []byte("/Page")) && !bytes.HasPrefix(b, []byte("/Pages")) {
			n++
		}
	}
}

// pageTotal is the largest "/Count", which the root of the page tree has.
func pageTotal(b []byte) (most int64) {
	for {
		at := bytes.Index(b, []byte("/Count"))
		if at < 0 {
			return most
		}
		b = bytes.TrimLeft(b[at+len("/Count"):], " \r\n\t")
		end := 0
		for end < len(b) && end < 9 && b[end] >= '0' && b[end] <= '9' {
			end++
		}
		n, _ := strconv.ParseInt(string(b[:end]), 10, 64)
		most = max(most, n)
	}
}

// pdfStreams inflates the streams that may hold page objects: newer files keep
// them compressed. It looks at so much and no more.
func pdfStreams(b []byte) (out [][]byte) {
	for left := int64(pdfInflate); left > 0; {
		at := bytes.Index(b, []byte("stream"))
		if at < 0 {
			return out
		}
		b = bytes.TrimLeft(b[at+len("stream"):], "\r\n")
		r, err := zlib.NewReader(bytes.NewReader(b))
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(r, min(left, 1<<20)))
		left -= int64(len(text)) + 1
		out = append(out, text)
	}
	return out
}
