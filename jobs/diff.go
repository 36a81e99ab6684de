package jobs

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kylelemons/godebug/diff"
)

// Change is how a new value stands to the live one.
type Change string

// The changes.
const (
	Same    Change = "same"
	Changed Change = "changed"
	Added   Change = "added"   // the live file has nothing there
	Missing Change = "missing" // the answer has no such field, or the live file not the row
	NoGood  Change = "failed"  // the row has no good answer
)

// Changes lists them in their order.
func Changes() []Change { return []Change{Same, Changed, Added, Missing, NoGood} }

// Difference is one field of one row: the live value and the new one, as JSON.
type Difference struct {
	Row    string          `json:"id"`    // of the input
	Index  int64           `json:"n"`     // of the run's row
	Field  string          `json:"field"` // of the answer, or "output"
	Column string          `json:"column"`
	Change Change          `json:"change"`
	Live   json.RawMessage `json:"live,omitempty"`
	New    json.RawMessage `json:"new,omitempty"`
	Error  string          `json:"error,omitempty"` // NoGood: why
}

// Differ compares answers with live rows.
type Differ struct {
	Live   *Live             // nil: nothing is compared, every field is given
	Map    map[string]string // column by field, where the names differ
	Spaces bool              // white space counts
	All    bool              // fields that the live file has no column for are given too
	Join   *Join             // nil: one output a row
}

// column is where a field stands in the live file.
func (d *Differ) column(field string) (string, bool) {
	if d.Live == nil {
		return field, true
	}
	if c, ok := d.Map[field]; ok {
		return c, true
	}
	return field, d.All || slices.Contains(d.Live.Columns, field)
}

// Of compares one line of results. Fields that the live file has no column for are not
// compared; others gives their names.
func (d *Differ) Of(line []byte) (list []Difference, row string, others []string, err error) {
	var r Result
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, "", nil, err
	}
	row, output := r.Row, ""
	if d.Join != nil {
		row, output = d.Join.split(r.Row)
	}
	if !ParseState(r.Status).Good() {
		x := Difference{Row: row, Index: r.Index, Field: orOutput(output), Change: NoGood, Error: r.Status}
		if r.Error != nil {
			x.Error = r.Error.Cause
		}
		return []Difference{x}, row, nil, nil
	}
	for _, f := range answerFields(r, output) {
		column, ok := d.column(f.name)
		if !ok || d.Live != nil && column == d.Live.Key {
			others = append(others, f.name)
			continue
		}
		x := Difference{Row: row, Index: r.Index, Field: f.name, Column: column, New: f.raw}
		if d.Live != nil {
			x.Live = d.Live.Value(row, column)
			x.Change = d.change(x)
		}
		list = append(list, x)
	}
	return list, row, others, nil
}

func orOutput(name string) string {
	if name == "" {
		return "output"
	}
	return name
}

// answerFields are an answer's: an object's members, or all of it as "output" (of a
// run with several outputs the output's name).
func answerFields(r Result, output string) []member {
	if !isObject(r.Parsed) {
		raw := []byte(r.Parsed)
		if len(raw) == 0 {
			raw = appendQuoted(nil, r.Output)
		}
		return []member{{orOutput(output), raw}}
	}
	ms, _ := members(r.Parsed, nil)
	if output == "" {
		return ms
	}
	for i := range ms {
		ms[i].name = output + "." + ms[i].name
	}
	return append(ms, member{output, r.Parsed})
}

func (d *Differ) change(x Difference) Change {
	switch {
	case !d.Live.Has(x.Row):
		return Missing
	case nothing(x.Live) && nothing(x.New):
		return Same
	case nothing(x.Live):
		return Added
	case sameValue(x.Live, x.New, d.Spaces):
		return Same
	}
	return Changed
}

func nothing(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" || string(raw) == `""` }

// sameValue compares by value: numbers that are written otherwise are the same, and a
// text of a CSV file is the same as the number, truth value or object that it says.
func sameValue(a, b []byte, spaces bool) bool {
	x, y := textOf(a), textOf(b)
	if !spaces {
		x, y = strings.Join(strings.Fields(x), " "), strings.Join(strings.Fields(y), " ")
	}
	if x == y {
		return true
	}
	if a[0] == '"' && b[0] == '"' {
		return false // two texts: "1.0" and "1" differ
	}
	if m, ok1 := number(x); ok1 {
		if n, ok2 := number(y); ok2 {
			return m == n
		}
	}
	return jsonEqual(x, y)
}

// textOf is a value as a cell has it.
func textOf(raw []byte) string {
	s, err := cellOf(raw)
	if err != nil {
		return string(raw)
	}
	return s
}

func number(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil && !math.IsNaN(n)
}

func jsonEqual(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	m, err1 := json.Marshal(x)
	n, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && bytes.Equal(m, n)
}

// Percent is how much of a value changed: of words, those that went or came; of a
// number, by how much of itself.
func (x Difference) Percent() float64 {
	if x.Change != Changed {
		return map[Change]float64{Added: 100}[x.Change]
	}
	m, ok1 := number(textOf(x.Live))
	n, ok2 := number(textOf(x.New))
	if ok1 && ok2 && m != 0 {
		return math.Abs(n-m) / math.Abs(m) * 100
	}
	var went, came, all int
	for _, c := range x.chunks() {
		went, came = went+len(c.Deleted), came+len(c.Added)
		all += len(c.Deleted) + len(c.Added) + 2*len(c.Equal)
	}
	if all == 0 {
		return 0
	}
	return float64(went+came) / float64(all) * 100
}

// LiveText is the live value as a cell has it.
func (x Difference) LiveText() string { return textOf(x.Live) }

// NewText is the new value as a cell would have it.
func (x Difference) NewText() string { return textOf(x.New) }

func (x Difference) chunks() []diff.Chunk {
	return diff.DiffChunks(wordsOf(textOf(x.Live)), wordsOf(textOf(x.New)))
}

// Marked are both values with what went and what came in brackets: "[-old-]" and
// "{+new+}", as git marks words.
func (x Difference) Marked() (live, now string) {
	if x.Change != Changed {
		return textOf(x.Live), textOf(x.New)
	}
	var a, b strings.Builder
	for _, c := range together(x.chunks()) {
		if s := strings.Join(c.Deleted, ""); s != "" {
			a.WriteString("[-" + s + "-]")
		}
		if s := strings.Join(c.Added, ""); s != "" {
			b.WriteString("{+" + s + "+}")
		}
		same := strings.Join(c.Equal, "")
		a.WriteString(same)
		b.WriteString(same)
	}
	return a.String(), b.String()
}

// apart is how many equal words between two changes keep them apart.
const apart = 3

// together makes one change of those that have but a word or two between them: new wording
// is read as a whole.
func together(list []diff.Chunk) (out []diff.Chunk) {
	for _, c := range list {
		if n := len(out); n > 0 && len(out[n-1].Equal) < apart && changes(out[n-1]) && changes(c) {
			last := &out[n-1]
			last.Deleted = slices.Concat(last.Deleted, last.Equal, c.Deleted)
			last.Added = slices.Concat(last.Added, last.Equal, c.Added)
			last.Equal = c.Equal
			continue
		}
		out = append(out, c)
	}
	return out
}

func changes(c diff.Chunk) bool { return len(c.Deleted)+len(c.Added) > 0 }

// wordsOf cuts a text where people would: words with the space behind them, signs, and
// characters of scripts that set no spaces each by itself.
func wordsOf(s string) (out []string) {
	from, kind := 0, -1
	for i, r := range s {
		k := wordKind(r)
		if i > 0 && (k != kind || k == 2) && (k != 0 || kind == 2) {
			out = append(out, s[from:i])
			from = i
		}
		kind = k
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}

// wordKind is 0 for space, 1 for letters and digits, 2 for what stands by itself.
func wordKind(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
		return 2
	case unicode.IsLetter(r), unicode.IsDigit(r), r == '\'', unicode.IsMark(r):
		return 1
	}
	return 2
}

// AnswersOf gives all fields of a run's answers as new ones, for who only looks at what
// was decided about them.
func AnswersOf(s Spec) *Differ {
	d := &Differ{}
	d.Join, _ = JoinOf(s)
	return d
}
