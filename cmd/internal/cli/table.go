package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// dataTable is what a command prints: columns that line up also with
// full-width characters, or tab-separated lines for scripts.
type dataTable struct {
	head []string
	rows [][]string
	nums map[int]bool // columns that hold numbers line up on the right

	after *dataTable // stands below, after an empty line; nil for none
}

func newTable(head ...string) *dataTable { return &dataTable{head: head, nums: map[int]bool{}} }

// numeric aligns the named columns to the right.
func (t *dataTable) numeric(cols ...int) *dataTable {
	for _, c := range cols {
		t.nums[c] = true
	}
	return t
}

func (t *dataTable) row(cells ...any) {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, out)
}

func (t *dataTable) render(w io.Writer) {
	tw := table.NewWriter()
	tw.SetStyle(plainStyle())
	tw.AppendHeader(toRow(t.head))
	for _, r := range t.rows {
		tw.AppendRow(toRow(r))
	}
	var conf []table.ColumnConfig
	for i := range t.head {
		if t.nums[i] {
			conf = append(conf, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	tw.SetColumnConfigs(conf)
	for line := range strings.Lines(tw.Render()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	if t.after != nil { // its empty head is the line between
		t.after.render(w)
	}
}

// plain writes one line a row, cells separated by tabs, no header.
func (t *dataTable) plain(w io.Writer) {
	clean := strings.NewReplacer("\t", " ", "\n", " ")
	for _, r := range t.rows {
		for i, c := range r {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, clean.Replace(c))
		}
		fmt.Fprintln(w)
	}
	if t.after != nil {
		t.after.plain(w)
	}
}

func toRow(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = c
	}
	return r
}

// plainStyle has no frame: two spaces between columns, so that a table can be
// copied into a mail or cut by a script.
func plainStyle() table.Style {
	s := table.StyleDefault
	s.Box.PaddingLeft = ""
	s.Box.PaddingRight = "  "
	s.Options = table.OptionsNoBordersAndSeparators
	s.Format.Header = text.FormatDefault
	return s
}

// narrow leaves columns out in which no row has anything, and cuts long cells to
// most characters (0: none), except those of the columns named.
func (t *dataTable) narrow(most int, whole ...string) {
	for c := len(t.head) - 1; c >= 0; c-- {
		if !slices.ContainsFunc(t.rows, func(r []string) bool { return r[c] != "" }) {
			t.head = slices.Delete(t.head, c, c+1)
			for i, r := range t.rows {
				t.rows[i] = slices.Delete(r, c, c+1)
			}
		}
	}
	for _, r := range t.rows {
		for c := range r {
			if most > 0 && !slices.Contains(whole, t.head[c]) {
				r[c] = text.Snip(r[c], most, "…")
			}
		}
	}
}

// fold puts what stands between commas on lines of its own, one column after the
// other, until the table is at most so wide.
func (t *dataTable) fold(most int, cols ...string) {
	for _, name := range cols {
		c := slices.Index(t.head, name)
		if c < 0 || t.width() <= most {
			continue
		}
		for _, r := range t.rows {
			r[c] = strings.ReplaceAll(strings.ReplaceAll(r[c], ", ", ","), ",", ",\n")
		}
	}
}

// wrap breaks the second cell of rows with one of these labels at words, so that the
// table is at most so wide there.
func (t *dataTable) wrap(most int, labels ...string) {
	left := text.LongestLineLen(t.head[0])
	for _, r := range t.rows {
		left = max(left, text.LongestLineLen(r[0]))
	}
	for _, r := range t.rows {
		if slices.Contains(labels, r[0]) {
			r[1] = inLines(r[1], most-left-2)
		}
	}
}

// inLines is text in lines of at most so many columns, as far as its words are.
func inLines(s string, most int) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && text.StringWidth(line)+1+text.StringWidth(word) > most {
			lines, line = append(lines, line), ""
		}
		line += after(map[bool]string{true: " "}[line != ""], word)
	}
	return strings.Join(append(lines, line), "\n")
}

// after is s behind a mark that parts it from what stands before; "" for nothing.
func after(mark, s string) string {
	if s == "" {
		return ""
	}
	return mark + s
}

func (t *dataTable) width() int {
	sum := 2 * (len(t.head) - 1)
	for c, name := range t.head {
		widest := text.LongestLineLen(name)
		for _, r := range t.rows {
			widest = max(widest, text.LongestLineLen(r[c]))
		}
		sum += widest
	}
	return sum
}
