package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

var lineBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Line is the result as one line of JSON without its line feed. <, > and & stay
// as they are; U+2028, U+2029 and NEL are escaped, since many readers take them
// for line ends.
func (r Result) Line() ([]byte, error) {
	b := lineBuffers.Get().(*bytes.Buffer)
	defer lineBuffers.Put(b)
	b.Reset()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, err
	}
	return escapeBreaks(bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))), nil
}

// escapeBreaks works on JSON, where these characters occur in strings only.
func escapeBreaks(line []byte) []byte {
	if bytes.Contains(line, []byte("\u2028")) {
		line = bytes.ReplaceAll(line, []byte("\u2028"), []byte(`\u2028`))
	}
	if bytes.Contains(line, []byte("\u2029")) {
		line = bytes.ReplaceAll(line, []byte("\u2029"), []byte(`\u2029`))
	}
	if bytes.Contains(line, []byte("\u0085")) {
		line = bytes.ReplaceAll(line, []byte("\u0085"), []byte(`\u0085`))
	}
	return line
}

// packFrom is the length from which a line is worth compressing: a short one
// hardly shrinks.
const packFrom = 1024

var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(1<<30))
)

// pack is how a result is stored: a byte of state, then the line, as it is or
// as a zstd frame, which its magic number tells (a line begins with a brace).
func pack(s State, line []byte) []byte {
	out := make([]byte, 1, len(line)+1)
	out[0] = byte(s)
	if len(line) >= packFrom {
		return packer.EncodeAll(line, out)
	}
	return append(out, line...)
}

var errPacked = errors.New("a stored result cannot be read")

func unpack(v string) (State, []byte, error) {
	if len(v) < 2 {
		return None, nil, errPacked
	}
	s, line := State(v[0]), []byte(v[1:])
	if !bytes.HasPrefix(line, zstdMagic) {
		return s, line, nil
	}
	line, err := unpacker.DecodeAll(line, nil)
	if err != nil {
		return None, nil, errors.Join(errPacked, err)
	}
	return s, line, nil
}
