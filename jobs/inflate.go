package jobs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// inflate undoes gzip (any number of members) and zstd, told by their first
// bytes, whatever the name.
func inflate(br *bufio.Reader, limit int64) (io.Reader, error) {
	head, err := br.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var r io.Reader = br
	kind := ""
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		kind = "gzip"
		r, err = gzip.NewReader(br)
	case bytes.Equal(head, zstdMagic):
		kind = "zstd"
		r, err = zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, &Problem{What: "this is a ZIP file; Excel's .xlsx is one too", Remedy: "save the sheet as CSV (UTF-8), or unpack the file"}
	default:
		err = nil
	}
	if err != nil {
		return nil, damaged(kind, err)
	}
	return &inflater{r: r, kind: kind, left: limit}, nil
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// inflater says what a decompressor's errors mean, and stops at a size.
type inflater struct {
	r    io.Reader
	kind string
	left int64
}

func (f *inflater) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	f.left -= int64(n)
	switch {
	case f.left < 0:
		return 0, &Problem{What: "the input is larger than the largest size that is read", Remedy: "split it, or raise the limit"}
	case err == nil || err == io.EOF:
		return n, err
	case f.kind != "":
		return n, damaged(f.kind, err)
	}
	return n, err
}

func damaged(kind string, err error) error {
	what := fmt.Sprintf("the %s data is damaged: %v", kind, err)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		what = fmt.Sprintf("the %s data is cut short: its end is missing", kind)
	}
	return &Problem{What: what, Remedy: "fetch or make the file again; nothing of it was used"}
}
