package jobs

import (
	"encoding/binary"
	"encoding/hex"
)

// RowKey names one row of an input where results of the same key are looked for.
type RowKey struct {
	key digest
	id  [8]byte // begins the digest of the row's id
}

// RowKeys are the input's rows in their order, 24 bytes each.
func (p *Prepared) RowKeys() []RowKey { return p.keys }

// keyOf is of a row whose key is what Template.Key gives.
func keyOf(row RenderedRow) RowKey {
	var k RowKey
	_, _ = hex.Decode(k.key[:], []byte(row.Key))
	id := digestOf(row.ID)
	copy(k.id[:], id[:])
	return k
}

// goodRow is what a run keeps of each good end, beside the result: 20 bytes.
type goodRow struct {
	key   uint64 // begins the row's key
	id    uint32 // begins the digest of its id
	made  uint32 // when its answer was made, Unix seconds
	index uint32
}

const goodRowLen = 20

// goodEnd is the part of a goodRow that finish.lua adds the index to; "" for an
// end that nobody may take over: one without a key, or answered by another model.
func goodEnd(r Result, s State) string {
	if !s.Good() || r.Key == "" || r.Instead != "" {
		return ""
	}
	k := keyOf(RenderedRow{ID: r.Row, Key: r.Key})
	made := r.Finished
	if r.From != nil {
		made = r.From.Finished
	}
	b := append(k.key[:8:8], k.id[:4]...)
	return string(binary.BigEndian.AppendUint32(b, uint32(max(made.Unix(), 0))))
}

func readGoodRow(b []byte) goodRow {
	return goodRow{
		key: binary.BigEndian.Uint64(b), id: binary.BigEndian.Uint32(b[8:]),
		made: binary.BigEndian.Uint32(b[12:]), index: binary.BigEndian.Uint32(b[16:]),
	}
}

// keyTable finds an input's rows by their keys: open addressing over rows, with a
// chain through those of one key. Row numbers in it are from 1; 0 is none.
type keyTable struct {
	rows  []RowKey
	slots []uint32
	next  []uint32
	twins int64 // rows whose key an earlier row has
}

func newKeyTable(rows []RowKey) *keyTable {
	size := 16
	for size < 2*len(rows) {
		size *= 2
	}
	t := &keyTable{rows: rows, slots: make([]uint32, size), next: make([]uint32, len(rows))}
	for i := range rows {
		t.insert(uint32(i + 1))
	}
	return t
}

func (k RowKey) short() uint64 { return binary.BigEndian.Uint64(k.key[:]) }
func (k RowKey) tag() uint32   { return binary.BigEndian.Uint32(k.id[:]) }

// slot is where the rows of a key are, or would be.
func (t *keyTable) slot(key uint64) *uint32 {
	mask := uint64(len(t.slots) - 1)
	for at := key & mask; ; at = (at + 1) & mask {
		if n := t.slots[at]; n == 0 || t.rows[n-1].short() == key {
			return &t.slots[at]
		}
	}
}

func (t *keyTable) insert(n uint32) {
	at := t.slot(t.rows[n-1].short())
	if *at == 0 {
		*at = n
		return
	}
	t.twins++
	t.next[n-1] = t.next[*at-1]
	t.next[*at-1] = n
}

// of gives the row's number; 0 for one that the input did not have.
func (t *keyTable) of(k RowKey) uint32 {
	for n := *t.slot(k.short()); n > 0; n = t.next[n-1] {
		if t.rows[n-1] == k {
			return n
		}
	}
	return 0
}

// Asks counts the keys that rows of the input have.
func (p *Prepared) Asks(keys []string) (n int) {
	asked := make(map[digest]int, len(keys))
	for _, key := range keys {
		if key != "" {
			asked[keyOf(RenderedRow{Key: key}).key]++
		}
	}
	for _, row := range p.keys {
		n += asked[row.key]
		delete(asked, row.key)
	}
	return n
}
