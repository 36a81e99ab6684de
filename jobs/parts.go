package jobs

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
)

// foldsPerPart is how many chunks' results one drained file holds: 16,384 rows,
// some ten megabytes of usual answers before compression. A row's file is known
// by its index, so that a row has one line however often it was done again.
const foldsPerPart = 64

func partName(n int64) string { return fmt.Sprintf("part-%05d.jsonl.gz", n+1) }

// A drained file is gzip to everybody. Each chunk is a gzip member of its own,
// whose header says in an extra field which one it is and how long, so that one
// row is read without what is before it.
const (
	extraID      = "NS"
	extraLen     = 12          // chunk, rows, bytes of the member: four bytes each, little-endian
	memberSizeAt = 12 + 4 + 8  // gzip's header and the length of the extra field, its id and length, chunk and rows
	memberHead   = 12 + 4 + 12 // up to the end of the extra field
)

// section is where a file has a chunk.
type section struct {
	at, size, rows int64
}

// part is a drained file, open for reading.
type part struct {
	file     *os.File
	sections map[int64]section // by chunk
}

// openPart opens a file and finds its members. One that is not there is empty.
func openPart(path string) (*part, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &part{}, nil
	}
	if err != nil {
		return nil, err
	}
	p := &part{file: f, sections: map[int64]section{}}
	if err := p.index(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

var errPart = errors.New("is not as it was written: drained results are in it, fetch it from a backup")

func (p *part) index() error {
	st, err := p.file.Stat()
	if err != nil {
		return err
	}
	var head [memberHead]byte
	for at := int64(0); at < st.Size(); {
		if _, err := p.file.ReadAt(head[:], at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		size := int64(binary.LittleEndian.Uint32(head[memberSizeAt:]))
		if head[0] != 0x1f || head[1] != 0x8b || string(head[12:14]) != extraID || size < memberHead || at+size > st.Size() {
			return errPart
		}
		n := int64(binary.LittleEndian.Uint32(head[16:]))
		p.sections[n] = section{at: at, size: size, rows: int64(binary.LittleEndian.Uint32(head[20:]))}
		at += size
	}
	return nil
}

func (p *part) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
}

// raw gives a chunk's member as it is; nil where the file has none.
func (p *part) raw(n int64) ([]byte, error) {
	m, ok := p.sections[n]
	if !ok {
		return nil, nil
	}
	b := make([]byte, m.size)
	if _, err := p.file.ReadAt(b, m.at); err != nil {
		return nil, err
	}
	return b, nil
}

// lines gives a chunk's lines by the rows' indexes.
func (p *part) lines(n int64) (map[int64][]byte, error) {
	b, err := p.raw(n)
	if b == nil || err != nil {
		return nil, err
	}
	zr, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, errors.Join(errPart, err)
	}
	text, err := io.ReadAll(zr)
	if err != nil {
		return nil, errors.Join(errPart, err)
	}
	lines := map[int64][]byte{}
	for line := range bytes.Lines(text) {
		var r struct {
			Index int64 `json:"n"`
		}
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, errors.Join(errPart, err)
		}
		lines[r.Index] = line
	}
	return lines, nil
}

// encodeMember makes a chunk's member of its lines.
func encodeMember(n int64, lines [][]byte) ([]byte, error) {
	extra := append([]byte(extraID), extraLen, 0)
	extra = binary.LittleEndian.AppendUint32(extra, uint32(n))
	extra = binary.LittleEndian.AppendUint32(extra, uint32(len(lines)))
	extra = binary.LittleEndian.AppendUint32(extra, 0) // until it is known
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	zw.Extra = extra
	for _, line := range lines {
		_, _ = zw.Write(line)
		_, _ = zw.Write([]byte{'\n'})
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	out := b.Bytes()
	binary.LittleEndian.PutUint32(out[memberSizeAt:], uint32(len(out)))
	return out, nil
}

// parts are the drained files of one run, opened as they are asked for.
type parts struct {
	dir   string
	open  map[int64]*part
	chunk int64 // whose lines are in memory
	lines map[int64][]byte
}

func newParts(dir string) *parts { return &parts{dir: dir, open: map[int64]*part{}, chunk: -1} }

func (p *parts) close() {
	for n, f := range p.open {
		f.close()
		delete(p.open, n)
	}
}

// line gives a row's line. A file that was opened before the row came into it is
// opened again.
func (p *parts) line(index int64) ([]byte, error) {
	n := index / rowsPerFold
	for _, again := range []bool{false, true} {
		if err := p.load(n, again); err != nil {
			return nil, err
		}
		if line := p.lines[index]; line != nil {
			return line, nil
		}
	}
	return nil, fmt.Errorf("%s has no result of row %d, which was drained into it: fetch it from a backup", filepath.Join(p.dir, partName(n/foldsPerPart)), index)
}

func (p *parts) load(n int64, again bool) (err error) {
	if p.chunk == n && !again {
		return nil
	}
	f := p.open[n/foldsPerPart]
	if f != nil && again {
		f.close()
		f = nil
	}
	if f == nil {
		if f, err = openPart(filepath.Join(p.dir, partName(n/foldsPerPart))); err != nil {
			delete(p.open, n/foldsPerPart)
			return err
		}
		p.open[n/foldsPerPart] = f
	}
	p.chunk, p.lines = -1, nil
	if p.lines, err = f.lines(n); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(p.dir, partName(n/foldsPerPart)), err)
	}
	p.chunk = n
	return nil
}
