package cli

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// repeats finds rows that ask the same as another one: equal prompts under other
// ids. It takes 16 bytes a row. A nil one counts nothing.
type repeats struct {
	seen   []asked
	files  []string // that lines are in
	sorted bool
}

type asked struct {
	key uint64 // half of the row's key: among a million rows two of other prompts meet in one of 30 million inputs
	at  lineAt
}

// lineAt is where a row is: with a matrix several are in one line.
type lineAt struct{ file, line uint32 }

func (a lineAt) compare(b lineAt) int {
	return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
}

func (r *repeats) add(key, file string, line int) {
	if r == nil {
		return
	}
	if n := len(r.files); n == 0 || r.files[n-1] != file { // rows come file by file
		r.files = append(r.files, file)
	}
	half, _ := hex.DecodeString(key[:min(16, len(key))])
	if len(half) == 8 {
		at := lineAt{uint32(len(r.files) - 1), uint32(line)}
		r.seen, r.sorted = append(r.seen, asked{binary.BigEndian.Uint64(half), at}), false
	}
}

// each gives the place of every row that repeats one, and of the first that asked.
func (r *repeats) each(fn func(row, first lineAt)) {
	if !r.sorted {
		slices.SortFunc(r.seen, func(a, b asked) int { return cmp.Or(cmp.Compare(a.key, b.key), a.at.compare(b.at)) })
		r.sorted = true
	}
	for i, first := 1, 0; i < len(r.seen); i++ {
		if r.seen[i].key != r.seen[first].key {
			first = i
			continue
		}
		fn(r.seen[i].at, r.seen[first].at)
	}
}

func (r *repeats) count() (n int64) {
	r.each(func(lineAt, lineAt) { n++ })
	return n
}

// paidTwice is how many rows of an enqueue ask the same as another one and are called
// for all the same: a row is what its id says.
func paidTwice(b *batch, rep jobs.EnqueueReport, reuse *jobs.Lookup) int64 {
	return max(0, min(b.Repeats(reuse), rep.New+rep.Changed-rep.Taken-rep.Reused))
}

// repeatRows say so, and how to pay once where answers are taken over.
func repeatRows(t *dataTable, n int64, reuse bool) {
	if n == 0 {
		return
	}
	t.row("but", repeatWords(n)+": nightshift plan names them")
	if reuse {
		t.row("", "(to pay once, enqueue without them first: later they take those answers over)")
	}
}

func repeatWords(n int64) string {
	if n == 1 {
		return "1 row asks the same as another one, and both are paid"
	}
	return humanize.Comma(n) + " rows ask the same as another one, and each is paid"
}
