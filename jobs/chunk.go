package jobs

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// rowsPerFold is how many rows' results one compressed chunk holds: at
// 256 rows the compressor has nearly all that it can find, and a look at one row
// still takes a millisecond.
const rowsPerFold = 256

// A chunk in Redis is a stamp (8 bytes, another at each change, which scripts
// compare before they change anything), a byte a row, and a zstd frame with the
// lines of the rows that are in it, each behind its length. The scripts read
// stamp and bytes, never the frame.
const (
	stampLen = 8
	headLen  = stampLen + rowsPerFold

	// Of a row's byte:
	stateBits = 0x3f // the result's state; 0: none
	inFrame   = 0x40 // the line is in the frame
	inFiles   = 0x80 // the line is in a drained file; with state 0 it is an old one there, which has to go
)

// noResult is the value of a result field that hides what the row's chunk has:
// the row has changed since.
const noResult = "\x00"

// errChunk says that a chunk in Redis is not what encode wrote.
var errChunk = errors.New("folded results cannot be read")

// chunk is the results of rows 256·N and on that are not in fields of their own.
type chunk struct {
	stamp string // "": Redis has none
	flags [rowsPerFold]byte
	frame string
	lines [][]byte // by place, nil where the frame has none; nil before open
}

// newFolder compresses for good: it works once a chunk, in the background.
func newFolder() *zstd.Encoder {
	zw, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		panic(err) // only options can be wrong
	}
	return zw
}

// readChunk reads what Redis has of a chunk, the head at least; "" is none.
func readChunk(v string) (*chunk, error) {
	c := &chunk{}
	if v == "" {
		return c, nil
	}
	if len(v) < headLen {
		return nil, errChunk
	}
	c.stamp, c.frame = v[:stampLen], v[headLen:]
	copy(c.flags[:], v[stampLen:headLen])
	return c, nil
}

// state is of the row's result, wherever that is; None when it has none here.
func (c *chunk) state(place int) State { return State(c.flags[place] & stateBits) }

// open decompresses the lines, once.
func (c *chunk) open() error {
	if c.lines != nil {
		return nil
	}
	lines := make([][]byte, rowsPerFold)
	var body []byte
	if c.frame != "" {
		var err error
		if body, err = unpacker.DecodeAll([]byte(c.frame), nil); err != nil {
			return errors.Join(errChunk, err)
		}
	}
	for i, f := range c.flags {
		if f&inFrame == 0 {
			continue
		}
		n, k := binary.Uvarint(body)
		if k <= 0 || n > uint64(len(body)-k) {
			return errChunk
		}
		end := k + int(n)
		lines[i], body = body[k:end:end], body[end:]
	}
	c.lines = lines
	return nil
}

// set puts a result in the frame; what the files have of the row is old now.
func (c *chunk) set(place int, s State, line []byte) {
	c.flags[place], c.lines[place] = byte(s)|inFrame, line
}

// clear forgets a result; the files forget theirs when they are written next.
func (c *chunk) clear(place int) { c.flags[place], c.lines[place] = c.flags[place]&inFiles, nil }

// drained marks that the files are as the chunk is.
func (c *chunk) drained() {
	for i, f := range c.flags {
		switch {
		case f&inFrame != 0:
			c.flags[i] = f | inFiles
		case f == inFiles:
			c.flags[i] = 0
		}
	}
}

// fresh says that the frame has results that are in no file, or the files have
// some that have to go.
func (c *chunk) fresh() bool {
	return slices.ContainsFunc(c.flags[:], func(f byte) bool { return f == inFiles || f&(inFrame|inFiles) == inFrame })
}

// framed says that the frame has results at all.
func (c *chunk) framed() bool {
	return slices.ContainsFunc(c.flags[:], func(f byte) bool { return f&inFrame != 0 })
}

// cut takes the frame away.
func (c *chunk) cut() {
	for i := range c.flags {
		c.flags[i] &^= inFrame
	}
	c.frame, c.lines = "", nil
}

// head is the chunk's first bytes, under a new stamp.
func (c *chunk) head() []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, headLen), rand.Uint64())
	return append(b, c.flags[:]...)
}

// encode is the whole, under a new stamp. It must be open.
func (c *chunk) encode(zw *zstd.Encoder) []byte {
	var body []byte
	for i, f := range c.flags {
		if f&inFrame != 0 {
			body = binary.AppendUvarint(body, uint64(len(c.lines[i])))
			body = append(body, c.lines[i]...)
		}
	}
	if body == nil {
		return c.head()
	}
	return zw.EncodeAll(body, c.head())
}
