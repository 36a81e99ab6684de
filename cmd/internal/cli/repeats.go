package cli

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// repeats finds rows that ask the same as another one: equal prompts under other
// ids. It takes 16 bytes a row. A nil one counts nothing.
type repeats struct {
	seen   []asked
	sorted bool
}

type asked struct {
	key  uint64 // half of the row's key: among a million rows two of other prompts meet in one of 30 million inputs
	line int
}

func (r *repeats) add(key string, line int) {
	if r == nil {
		return
	}
	half, _ := hex.DecodeString(key[:min(16, len(key))])
	if len(half) == 8 {
		r.seen, r.sorted = append(r.seen, asked{binary.BigEndian.Uint64(half), line}), false
	}
}

// each gives the lines of every row that repeats one, and of the first that asked.
func (r *repeats) each(fn func(line, first int)) {
	if !r.sorted {
		slices.SortFunc(r.seen, func(a, b asked) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.line, b.line)) })
		r.sorted = true
	}
	for i, first := 1, 0; i < len(r.seen); i++ {
		if r.seen[i].key != r.seen[first].key {
			first = i
			continue
		}
		fn(r.seen[i].line, r.seen[first].line)
	}
}

func (r *repeats) count() (n int64) {
	r.each(func(int, int) { n++ })
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

// examples names the first few, by line.
func (r *repeats) examples() string {
	type pair struct{ line, first int }
	var all []pair
	r.each(func(line, first int) { all = append(all, pair{line, first}) })
	slices.SortFunc(all, func(a, b pair) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.first, b.first)) })
	var out []string
	for _, p := range all[:min(3, len(all))] {
		out = append(out, fmt.Sprintf("line %d as line %d", p.line, p.first))
	}
	if len(all) > 3 {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}
