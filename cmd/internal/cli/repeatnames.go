package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
)

// repeated is a line whose rows ask what those of an earlier line ask.
type repeated struct {
	File   string `json:"file,omitempty"` // where there are several
	Line   uint32 `json:"line"`
	AsFile string `json:"as_file,omitempty"`
	As     uint32 `json:"as"`
}

// most lines of a kind that are named, to people and in JSON.
const (
	shownRepeats = 20
	givenRepeats = 10_000
)

// lines are the lines that repeat others, each once, in the input's order.
func (r *repeats) lines() []repeated {
	type pair struct{ row, first lineAt }
	var all []pair
	r.each(func(row, first lineAt) { all = append(all, pair{row, first}) })
	slices.SortFunc(all, func(a, b pair) int { return cmp.Or(a.first.compare(b.first), a.row.compare(b.row)) })
	var out []repeated
	for _, p := range slices.Compact(all) {
		l := repeated{Line: p.row.line, As: p.first.line}
		if len(r.files) > 1 {
			l.File, l.AsFile = r.files[p.row.file], r.files[p.first.file]
		}
		out = append(out, l)
	}
	return out
}

// repeatNames names lines that repeat others: "lines 4, 6 as line 2".
func repeatNames(all []repeated) string {
	shown := all[:min(shownRepeats, len(all))]
	var out []string
	for len(shown) > 0 {
		first, n := shown[0], 1
		for n < len(shown) && shown[n].As == first.As && shown[n].AsFile == first.AsFile {
			n++
		}
		out = append(out, linesOf(shown[:n])+" as "+placeOfLine(first.AsFile, first.As))
		shown = shown[n:]
	}
	if more := len(all) - shownRepeats; more > 0 {
		out = append(out, fmt.Sprintf("and %s more (--output json has them)", humanize.Comma(int64(more))))
	}
	return strings.Join(out, "; ")
}

// linesOf names the lines that repeat the same one.
func linesOf(group []repeated) string {
	if len(group) == 1 {
		return placeOfLine(group[0].File, group[0].Line)
	}
	var names []string
	for _, l := range group {
		name := fmt.Sprint(l.Line)
		if l.File != "" {
			name = placeOfLine(l.File, l.Line)
		}
		names = append(names, name)
	}
	if group[0].File != "" {
		return strings.Join(names, ", ")
	}
	return "lines " + strings.Join(names, ", ")
}

func placeOfLine(file string, line uint32) string {
	if file == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s:%d", file, line)
}
