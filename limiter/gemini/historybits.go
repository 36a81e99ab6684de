package gemini

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A column's own numbers stand as a bit for each step that has one, then a byte for how
// many bits each takes, and these without gaps. What a series used differs little from
// step to step: that takes two thirds of the room of varints, after compression too.

// signed marks a column with numbers below zero in the byte of their width: the sign is
// then the lowest bit of each.
const signed = 0x80

func appendBits(out []byte, ns []int64) []byte {
	at, all := len(out), uint64(0)
	out = append(out, make([]byte, (len(ns)+7)/8)...)
	below := len(ns) > 0 && slices.Min(ns) < 0
	for i, n := range ns {
		if n != 0 {
			out[at+i/8] |= 1 << (i % 8)
		}
		all |= coded(n, below)
	}
	width := bits.Len64(all)
	head := byte(width)
	if below {
		head |= signed
	}
	w := bitWriter{out: append(out, head)}
	for _, n := range ns {
		if n != 0 {
			w.put(coded(n, below), width)
		}
	}
	return w.out
}

func coded(n int64, below bool) uint64 {
	if below {
		return uint64(n)<<1 ^ uint64(n>>63)
	}
	return uint64(n)
}

func decoded(v uint64, below bool) int64 {
	if below {
		return int64(v>>1) ^ -int64(v&1)
	}
	return int64(v)
}

// readBits reads a column of so many steps.
func readBits(b []byte, steps int) (ns []int64, rest []byte, err error) {
	set, b, err := cutMarks(b, steps)
	if err != nil || len(b) == 0 || b[0]&^signed > 64 {
		return nil, nil, errBlock
	}
	width, below := int(b[0]&^signed), b[0]&signed != 0
	count := 0
	for _, m := range set {
		count += bits.OnesCount8(m)
	}
	size := 1 + (count*width+7)/8
	if len(b) < size {
		return nil, nil, errBlock
	}
	r, ns := bitReader{in: b[1:size]}, make([]int64, steps)
	for step := range ns {
		if set[step/8]&(1<<(step%8)) != 0 {
			ns[step] = decoded(r.take(width), below)
		}
	}
	return ns, b[size:], nil
}

// readVarints reads one of an older program.
func readVarints(b []byte, steps int) (ns []int64, rest []byte, err error) {
	set, b, err := cutMarks(b, steps)
	if err != nil {
		return nil, nil, err
	}
	ns = make([]int64, steps)
	for step := range ns {
		if set[step/8]&(1<<(step%8)) == 0 {
			continue
		}
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, nil, errBlock
		}
		ns[step], b = n, b[size:]
	}
	return ns, b, nil
}

// cutMarks gives the bits of the steps that have numbers; none is beyond the last step.
func cutMarks(b []byte, steps int) (set, rest []byte, err error) {
	n := (steps + 7) / 8
	if len(b) < n || n > 0 && bits.Len8(b[n-1]) > steps-8*(n-1) {
		return nil, nil, errBlock
	}
	return b[:n], b[n:], nil
}

// bitWriter writes numbers of some bits, the lowest first.
type bitWriter struct {
	out  []byte
	free int // bits of the last byte
}

func (w *bitWriter) put(v uint64, width int) {
	for width > 0 {
		if w.free == 0 {
			w.out, w.free = append(w.out, 0), 8
		}
		n := min(width, w.free)
		w.out[len(w.out)-1] |= byte(v&(1<<n-1)) << (8 - w.free)
		v, width, w.free = v>>n, width-n, w.free-n
	}
}

// bitReader reads them. There have to be as many as are taken.
type bitReader struct {
	in   []byte
	used int // bits
}

func (r *bitReader) take(width int) (v uint64) {
	for got := 0; got < width; {
		at := r.used % 8
		n := min(width-got, 8-at)
		v |= uint64(r.in[r.used/8]>>at&(1<<n-1)) << got
		got, r.used = got+n, r.used+n
	}
	return v
}
