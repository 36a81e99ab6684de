package jobs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// inflate undoes gzip and zstd (any number of members or frames), told by their first
// bytes, whatever the name. room is what may still be read; limit is what it was at
// first, for the error.
func inflate(br *bufio.Reader, limit int64, room *int64) (io.Reader, error) {
	head, err := br.Peek(262)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var r io.Reader = br
	kind := ""
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		kind = "gzip"
		r, err = gzip.NewReader(br)
	case isZstd(head):
		kind = "zstd"
		r, err = zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	default:
		if err = noText(head); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, damaged(kind, err)
	}
	return &inflater{r: r, kind: kind, limit: limit, room: room}, nil
}

var gzipMagic = []byte{0x1f, 0x8b}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// isZstd knows a frame, and a skippable one, with which pzstd begins its files.
func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, zstdMagic) ||
		len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18})
}

// noText names the kinds of file that people give for rows and that have none to read.
func noText(head []byte) error {
	const unpack = "unpack it first"
	for _, f := range []struct {
		at            int
		magic         string
		what, instead string
	}{
		{0, "PK\x03\x04", "a ZIP file; Excel's .xlsx is one too", "save the sheet as CSV (UTF-8), or unpack the file"},
		{0, "\xd0\xcf\x11\xe0", "an old Excel file (.xls)", "save the sheet as CSV (UTF-8)"},
		{0, "\xfd7zXZ\x00", "an xz file; gzip and zstd are read as they are", unpack + ": xz -d FILE"},
		{0, "BZh", "a bzip2 file; gzip and zstd are read as they are", unpack + ": bunzip2 FILE"},
		{0, "\x04\x22\x4d\x18", "an lz4 file; gzip and zstd are read as they are", unpack + ": lz4 -d FILE"},
		{0, "7z\xbc\xaf", "a 7-Zip file; gzip and zstd are read as they are", unpack},
		{257, "ustar", "a tar archive", unpack + " and name the files in it"},
		{0, "PAR1", "a Parquet file", "export it as JSONL or CSV"},
		{0, "SQLite format 3\x00", "an SQLite database", "export the rows as CSV: sqlite3 -header -csv FILE 'select …'"},
		{0, "%PDF-", "a PDF file", "rows are CSV or JSON"},
	} {
		if len(head) >= f.at && bytes.HasPrefix(head[f.at:], []byte(f.magic)) {
			return &Problem{What: "this is " + f.what, Remedy: f.instead}
		}
	}
	return nil
}

// inflater says what a decompressor's errors mean, and stops at a size.
type inflater struct {
	r     io.Reader
	kind  string
	limit int64
	room  *int64
}

func (f *inflater) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	*f.room -= int64(n)
	switch {
	case *f.room < 0:
		return 0, tooLarge(f.limit)
	case err == nil || err == io.EOF:
		return n, err
	case f.kind != "":
		return n, damaged(f.kind, err)
	}
	return n, err
}

func tooLarge(limit int64) *Problem {
	return &Problem{What: "the input is larger than " + humanize.IBytes(uint64(limit)) + ", unpacked", Remedy: "split it, or raise the limit with --max-input"}
}

func damaged(kind string, err error) error {
	what := fmt.Sprintf("the %s data is damaged: %v", kind, err)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		what = fmt.Sprintf("the %s data is cut short: its end is missing", kind)
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return &Problem{What: "the zstd data needs more than 256 MiB of memory to be unpacked", Remedy: "compress it again without --long or --ultra, or unpack it first: zstd -d FILE"}
	}
	return &Problem{What: what, Remedy: "fetch or make the file again; nothing of it was used"}
}
