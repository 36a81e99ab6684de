package gemini

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// columns are a series' numbers: by field (fieldOf…), one for each step.
type columns map[int][]int64

// block is what was counted in a stretch of time: series of equal steps.
type block struct {
	begin  time.Time
	step   time.Duration
	n      int       // steps
	until  time.Time // it has all that was counted before this
	series map[string]columns
}

func newBlock(begin time.Time, step time.Duration, n int) *block {
	return &block{begin: begin, step: step, n: n, series: map[string]columns{}}
}

// add counts n of a field in one step of a series.
func (b *block) add(name string, step, field int, n int64) {
	if n == 0 || step < 0 || step >= b.n {
		return
	}
	cols := b.series[name]
	if cols == nil {
		cols = columns{}
		b.series[name] = cols
	}
	if cols[field] == nil {
		cols[field] = make([]int64, b.n)
	}
	cols[field][step] += n
}

// merge adds a series' columns to another's, of as many steps.
func (b *block) merge(name string, from columns) {
	cols := b.series[name]
	if cols == nil {
		cols = columns{}
		b.series[name] = cols
	}
	for field, ns := range from {
		cols.plus(field, ns)
	}
}

// blockVersion is the first byte. A reader passes over what it does not know.
const blockVersion = 3

// varintVersion is that of blocks of older programs, whose numbers are varints; they are
// read as long as they are kept.
const varintVersion = 2

var errBlock = errors.New("a block of the history is cut or of a newer version")

var (
	packer      = sync.OnceValue(func() *zstd.Encoder { return newPacker(zstd.SpeedBetterCompression) })
	finalPacker = sync.OnceValue(func() *zstd.Encoder { return newPacker(zstd.SpeedBestCompression) })
	unpacker    = sync.OnceValue(func() *zstd.Decoder {
		r, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		return r
	})
)

func newPacker(level zstd.EncoderLevel) *zstd.Encoder {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level), zstd.WithWindowSize(1<<18))
	return w // only wrong options fail
}

// pack is packWith for a block that grows, and is written again in ten seconds.
func (b *block) pack() []byte { return b.packWith(packer()) }

// packFinal takes longer and less room: a final block is written once, and kept for days.
func (b *block) packFinal() []byte { return b.packWith(finalPacker()) }

// packWith writes a block: version, begin, step and until in ms, number of steps; then,
// compressed, for each series its name, the bytes of its columns, and for each
// column its field and either how many columns before it the same numbers stand (one more
// than there are: the sums of the two before it), or 0, which steps are not zero, and
// these (historybits.go). Where all goes well, half of the columns are the same: each
// call is one that was sent, answered and measured, and all tokens are input and output.
func (b *block) packWith(to *zstd.Encoder) []byte {
	var body []byte
	for _, name := range slices.Sorted(maps.Keys(b.series)) {
		cols := b.series[name].pack()
		body = append(binary.AppendUvarint(body, uint64(len(name))), name...)
		body = append(binary.AppendUvarint(body, uint64(len(cols))), cols...)
	}
	out := []byte{blockVersion}
	for _, n := range []int64{b.begin.UnixMilli(), b.step.Milliseconds(), b.until.UnixMilli(), int64(b.n)} {
		out = binary.AppendVarint(out, n)
	}
	return to.EncodeAll(body, out)
}

func (c columns) pack() (out []byte) {
	fields := slices.Sorted(maps.Keys(c))
	last := 0
	for i, field := range fields {
		out = binary.AppendUvarint(out, uint64(field-last))
		last = field
		same := c.same(fields[:i], c[field])
		if out = binary.AppendUvarint(out, uint64(same)); same == 0 {
			out = appendBits(out, c[field])
		}
	}
	return out
}

// same is how many columns back the same numbers stand; one more than there are for the
// sums of the last two; 0 when neither has them.
func (c columns) same(before []int, ns []int64) int {
	for i, field := range slices.Backward(before) {
		if slices.Equal(c[field], ns) {
			return len(before) - i
		}
	}
	if n := len(before); n >= 2 && slices.Equal(sums(c[before[n-2]], c[before[n-1]]), ns) {
		return n + 1
	}
	return 0
}

func sums(a, b []int64) []int64 {
	out := make([]int64, len(a))
	for i := range a {
		out[i] = a[i] + b[i]
	}
	return out
}

// packedBlock is a block of which the head is read.
type packedBlock struct {
	block
	version byte
	body    []byte
}

func openBlock(text []byte) (packedBlock, error) {
	p := packedBlock{}
	if len(text) == 0 || text[0] != blockVersion && text[0] != varintVersion {
		return p, errBlock
	}
	var head [4]int64
	p.version, text = text[0], text[1:]
	for i := range head {
		n, size := binary.Varint(text)
		if size <= 0 {
			return p, errBlock
		}
		head[i], text = n, text[size:]
	}
	if head[1] <= 0 || head[3] <= 0 || head[3] > 10_000 {
		return p, errBlock
	}
	p.begin, p.step, p.until, p.n = time.UnixMilli(head[0]), time.Duration(head[1])*time.Millisecond, time.UnixMilli(head[2]), int(head[3])
	p.body = text
	return p, nil
}

// each gives the numbers that are not zero of the series that are wanted. Those of
// one that is not are not looked at.
func (p packedBlock) each(want func(name string) bool, take func(name string, field, step int, n int64)) error {
	body, err := unpacker().DecodeAll(p.body, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errBlock, err)
	}
	for len(body) > 0 {
		var name, cols []byte
		if name, body, err = cutBytes(body); err != nil {
			return err
		}
		if cols, body, err = cutBytes(body); err != nil {
			return err
		}
		if s := string(name); want(s) {
			if err := p.columns(cols, func(field, step int, n int64) { take(s, field, step, n) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func cutBytes(b []byte) (head, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errBlock
	}
	return b[size : size+int(n)], b[size+int(n):], nil
}

func (p packedBlock) columns(b []byte, take func(field, step int, n int64)) error {
	field, before := 0, [][]int64(nil)
	for len(b) > 0 {
		d, size := binary.Uvarint(b)
		if size <= 0 {
			return errBlock
		}
		field, b = field+int(d), b[size:]
		ns, rest, err := p.numbers(b, before)
		if err != nil {
			return err
		}
		for step, n := range ns {
			if n != 0 {
				take(field, step, n)
			}
		}
		b, before = rest, append(before, ns)
	}
	return nil
}

// numbers reads one column: its own numbers, those of one before it, or the sums of two.
func (p packedBlock) numbers(b []byte, before [][]int64) (ns []int64, rest []byte, err error) {
	same, size := binary.Uvarint(b)
	n := uint64(len(before))
	if size <= 0 || same > n+1 || same == n+1 && (n < 2 || p.version == varintVersion) {
		return nil, nil, errBlock
	}
	switch b = b[size:]; {
	case same == n+1:
		return sums(before[n-2], before[n-1]), b, nil
	case same > 0:
		return before[n-same], b, nil
	case p.version == varintVersion:
		return readVarints(b, p.n)
	}
	return readBits(b, p.n)
}
