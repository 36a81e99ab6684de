package jobs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// CSVOptions choose what a CSV file of results has.
type CSVOptions struct {
	IDColumn string // the rows' own column that is their id, where it is; then it is not written twice
	Flatten  bool   // a column for each field of the answers' objects, in the place of one with the JSON
	Join     *Join  // nil: a line a row
	KeepID   bool   // their own column is not their id, whatever it is called
}

// ColumnsOf gives the columns of such a file for a spec.
func ColumnsOf(s Spec, o CSVOptions) *CSVColumns {
	if !o.KeepID && len(s.Matrix) == 0 && (len(s.Outputs) == 0 || o.Join != nil) {
		o.IDColumn = s.idColumn()
	}
	return &CSVColumns{opts: o, fields: names{}, answer: names{}, waits: map[string]bool{}, by: map[string]*CSVColumns{}}
}

// CSVColumns are the columns of a CSV file of results: what rows brought along, as
// it stood, then what became of them. See tells it each line first; then it gives the
// header and each line's cells.
type CSVColumns struct {
	opts   CSVOptions
	fields names // that rows brought
	answer names // of the answers' objects, with Flatten
	whole  bool  // there are answers that are no object
	waits  map[string]bool
	tier   bool
	by     map[string]*CSVColumns // with Join: what each output's answers have
	member []member
}

// names are column names in the order in which they were met.
type names map[string]int

func (n names) add(name string) {
	if _, ok := n[name]; !ok {
		n[name] = len(n)
	}
}

func (n names) list() []string {
	out := make([]string, len(n))
	for name, i := range n {
		out[i] = name
	}
	return out
}

// csvLine is a line of results as columns need it.
type csvLine struct{ Result }

// See notes the columns that a line needs, valid JSON as Store and ResultLines give it.
func (c *CSVColumns) See(line []byte) error {
	g, err := c.glance(line)
	if err != nil {
		return err
	}
	if c.member, err = membersOf(g.fields, c.member); err != nil {
		return err
	}
	for _, m := range c.member {
		if c.opts.Join == nil || m.name != OutputField { // which of them this is
			c.fields.add(m.name)
		}
	}
	one := c
	if c.opts.Join != nil {
		_, output := c.opts.Join.split(g.row)
		if one = c.by[output]; one == nil {
			one = &CSVColumns{answer: names{}, waits: map[string]bool{}}
			c.by[output] = one
		}
	}
	return one.note(g, c.opts.Flatten)
}

// glanced is what of a line tells its columns. It is cut out without decoding the
// rest, which Cells does, and holds against encoding/json.
type glanced struct {
	row                   string
	fields, parsed, waits []byte
	text, tier            bool // it has such an answer; a tier
}

func (c *CSVColumns) glance(line []byte) (g glanced, err error) {
	if c.member, err = membersOf(line, c.member); err != nil {
		return g, err
	}
	for _, m := range c.member {
		switch m.name {
		case "id":
			g.row, err = unquote(m.raw)
		case "fields":
			g.fields = m.raw
		case "parsed":
			g.parsed = m.raw
		case "waits_ms":
			g.waits = m.raw
		case "output", "embedding":
			g.text = g.text || len(m.raw) > len(`""`)
		case "service_tier":
			g.tier = len(m.raw) > len(`""`)
		}
	}
	return g, err
}

func (c *CSVColumns) note(g glanced, flatten bool) (err error) {
	if c.member, err = membersOf(g.waits, c.member); err != nil {
		return err
	}
	for _, m := range c.member {
		c.waits[m.name] = true
	}
	c.tier = c.tier || g.tier
	if !flatten || !isObject(g.parsed) {
		c.whole = c.whole || g.text || len(g.parsed) > 0
		return nil
	}
	c.member, err = membersOf(g.parsed, c.member)
	for _, m := range c.member {
		c.answer.add(m.name)
	}
	return err
}

func membersOf(object []byte, buf []member) ([]member, error) {
	if len(object) == 0 {
		return buf[:0], nil
	}
	return members(object, buf[:0])
}

func isObject(raw []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }

// answerText is the answer in one cell.
func (r csvLine) answerText() string {
	switch {
	case len(r.Parsed) > 0:
		return string(r.Parsed)
	case len(r.Embedding) > 0:
		b, _ := json.Marshal(r.Embedding)
		return string(b)
	}
	return r.Output
}

// Header is the file's first line.
func (c *CSVColumns) Header() []string {
	head := c.fields.list()
	taken := names{}
	for _, name := range head {
		taken.add(name)
	}
	if !c.hasID() {
		head = append(head, c.own("id", taken))
	}
	if j := c.opts.Join; j != nil {
		for _, output := range j.Outputs {
			head = append(head, prefixed(output, c.by[output].answerHeader(), taken)...)
		}
		return head
	}
	for _, name := range c.answerHeader() {
		head = append(head, c.own(name, taken))
	}
	return head
}

// hasID says that the id is in a column that rows brought.
func (c *CSVColumns) hasID() bool {
	_, ok := c.fields[c.opts.IDColumn]
	return ok && c.opts.IDColumn != ""
}

// own keeps a column of ours apart from one of the same name that rows brought.
func (c *CSVColumns) own(name string, taken names) string {
	for _, ok := taken[name]; ok; _, ok = taken[name] {
		name = "result_" + name
	}
	taken.add(name)
	return name
}

// prefixed are an output's columns: "title" is its answer, "title_status" and on the
// rest.
func prefixed(output string, head []string, taken names) []string {
	out := make([]string, len(head))
	for i, name := range head {
		name = output + "_" + name
		if head[i] == "output" {
			name = output
		}
		for _, ok := taken[name]; ok; _, ok = taken[name] {
			name = "result_" + name
		}
		taken.add(name)
		out[i] = name
	}
	return out
}

// answerHeader names what became of a row.
func (c *CSVColumns) answerHeader() []string {
	if c == nil {
		return []string{"status", "output"}
	}
	head := []string{"status"}
	if c.whole || len(c.answer) == 0 {
		head = append(head, "output")
	}
	head = append(append(head, c.answer.list()...), "model")
	if c.tier {
		head = append(head, "service_tier")
	}
	head = append(head, "prompt_tokens", "cached_tokens", "output_tokens", "thought_tokens", "cost_usd", "attempts", "waited_ms")
	for _, cause := range WaitCauses() {
		if c.waits[cause] {
			head = append(head, "waited_"+cause+"_ms")
		}
	}
	return append(head, "finish_reason", "error_cause", "error_message")
}

// Cells are a line's, with the id of its row.
func (c *CSVColumns) Cells(line []byte) (row string, cells []string, err error) {
	r, err := readLine(line)
	if err != nil {
		return "", nil, err
	}
	if cells, err = c.begin(r); err != nil {
		return r.Row, nil, err
	}
	return r.Row, c.answerCells(cells, r), nil
}

// readLine decodes what of a line stands in columns.
func readLine(line []byte) (r csvLine, err error) {
	err = json.Unmarshal(line, &r)
	return r, err
}

// begin are the cells that rows brought, and the id.
func (c *CSVColumns) begin(r csvLine) ([]string, error) {
	cells := make([]string, len(c.fields), len(c.fields)+20)
	var err error
	if c.member, err = membersOf(r.Fields, c.member); err != nil {
		return nil, err
	}
	for _, m := range c.member {
		if _, ok := c.fields[m.name]; !ok {
			continue
		}
		if cells[c.fields[m.name]], err = cellOf(m.raw); err != nil {
			return nil, err
		}
	}
	if !c.hasID() {
		id := r.Row
		if c.opts.Join != nil {
			id, _ = c.opts.Join.split(r.Row)
		}
		cells = append(cells, id)
	}
	return cells, nil
}

func (c *CSVColumns) answerCells(cells []string, r csvLine) []string {
	cells = append(cells, r.Status)
	flat := make([]string, len(c.answer))
	object := len(c.answer) > 0 && isObject(r.Parsed)
	if object {
		ms, _ := members(r.Parsed, nil)
		for _, m := range ms {
			flat[c.answer[m.name]], _ = cellOf(m.raw)
		}
	}
	if c.whole || len(c.answer) == 0 {
		text := ""
		if !object {
			text = r.answerText()
		}
		cells = append(cells, text)
	}
	cells = append(append(cells, flat...), r.Model)
	if c.tier {
		cells = append(cells, r.Tier)
	}
	cells = append(cells, r.usageCells()...)
	cells = append(cells, strconv.Itoa(r.Attempts), strconv.FormatInt(r.WaitedMS, 10))
	for _, cause := range WaitCauses() {
		if c.waits[cause] {
			cells = append(cells, strconv.FormatInt(r.WaitsMS[cause], 10))
		}
	}
	e := cmp.Or(r.Error, &RowError{})
	return append(cells, r.Finish, e.Cause, e.Message)
}

func (r csvLine) usageCells() []string {
	cells := make([]string, 5)
	if u := r.Usage; u != nil {
		for i, n := range []int64{u.Prompt, u.Cached, u.Output, u.Thoughts} {
			cells[i] = strconv.FormatInt(n, 10)
		}
	}
	if r.MicroUSD != nil {
		cells[4] = decimalUSD(*r.MicroUSD)
	}
	return cells
}

// decimalUSD is an exact amount: "0.000123".
func decimalUSD(micro int64) string {
	sign := ""
	if micro < 0 {
		sign, micro = "-", -micro
	}
	s := strconv.FormatInt(micro, 10)
	s = strings.Repeat("0", max(7-len(s), 0)) + s
	return sign + s[:len(s)-6] + "." + s[len(s)-6:]
}

// cellOf is a field in a cell: a text as it is, nothing for null, anything else as
// it stands in JSON.
func cellOf(raw []byte) (string, error) {
	switch {
	case len(raw) > 0 && raw[0] == '"':
		return unquote(raw)
	case string(raw) == "null":
		return "", nil
	}
	return string(raw), nil
}

// Join puts the outputs of an input row side by side: rows "7/title" and "7/text" are
// outputs of 7.
type Join struct {
	Outputs []string // in their order
}

// JoinOf is how the rows of a run are joined; false for a run with one output a row.
func JoinOf(s Spec) (*Join, bool) {
	if names := s.OutputNames(); len(names) > 0 {
		return &Join{Outputs: names}, true
	}
	return nil, false
}

func (j *Join) split(id string) (row, output string) {
	if at := strings.LastIndexByte(id, '/'); at >= 0 && slices.Contains(j.Outputs, id[at+1:]) {
		return id[:at], id[at+1:]
	}
	return id, ""
}
