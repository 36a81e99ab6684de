package jobs

import (
	"bytes"
	"encoding/json"
)

// Joined gathers lines that come one after the other and belong to one input row.
type Joined struct {
	Join *Join
	row  string
	some bool
	got  map[string][]byte // line by output
}

// Add takes a line; when it begins another row, fn gets the one before.
func (g *Joined) Add(line []byte, fn func(row string, lines map[string][]byte) error) error {
	var r struct {
		Row string `json:"id"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	row, output := g.Join.split(r.Row)
	if g.some && row != g.row {
		if err := g.Flush(fn); err != nil {
			return err
		}
	}
	if !g.some {
		g.row, g.some, g.got = row, true, map[string][]byte{}
	}
	g.got[output] = bytes.Clone(line)
	return nil
}

// Flush gives the last row.
func (g *Joined) Flush(fn func(row string, lines map[string][]byte) error) error {
	if !g.some {
		return nil
	}
	g.some = false
	return fn(g.row, g.got)
}

// joinedLine is an input row with what became of its outputs.
type joinedLine struct {
	Row     string                     `json:"id"`
	Run     string                     `json:"run"`
	Fields  json.RawMessage            `json:"fields,omitempty"`
	Outputs map[string]json.RawMessage `json:"outputs"`
}

// Line is an input row with all its outputs as one line of JSON: each output has what
// its own line would, but for what they share.
func (j *Join) Line(row string, lines map[string][]byte) ([]byte, error) {
	out := joinedLine{Row: row, Outputs: map[string]json.RawMessage{}}
	for _, name := range j.Outputs {
		line, ok := lines[name]
		if !ok {
			continue
		}
		var r csvLine
		err := json.Unmarshal(line, &r)
		if err != nil {
			return nil, err
		}
		out.Run = r.Run
		if len(r.Fields) > 0 {
			if out.Fields, err = without(r.Fields, OutputField); err != nil {
				return nil, err
			}
		}
		one, err := without(line, "id", "run", "fields")
		if err != nil {
			return nil, err
		}
		out.Outputs[name] = one
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, err
	}
	return escapeBreaks(bytes.TrimSuffix(b.Bytes(), []byte{'\n'})), nil
}

// without is an object without some of its members, the others as they stand.
func without(object []byte, names ...string) ([]byte, error) {
	ms, err := members(object, nil)
	if err != nil {
		return nil, err
	}
	out := []byte{'{'}
next:
	for _, m := range ms {
		for _, name := range names {
			if m.name == name {
				continue next
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendQuoted(out, m.name), ':'), m.raw...)
	}
	return append(out, '}'), nil
}

// CellsJoined are an input row's, with all its outputs; those that have not ended
// leave theirs empty.
func (c *CSVColumns) CellsJoined(lines map[string][]byte) ([]string, error) {
	var cells []string
	for _, output := range c.opts.Join.Outputs {
		line, ok := lines[output]
		if !ok {
			continue
		}
		r, err := readLine(line)
		if err != nil {
			return nil, err
		}
		if cells, err = c.begin(r); err != nil {
			return nil, err
		}
		break
	}
	for _, output := range c.opts.Join.Outputs {
		one := c.by[output]
		r := csvLine{}
		line, ok := lines[output]
		if !ok || one == nil {
			cells = append(cells, make([]string, len(one.answerHeader()))...)
			continue
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		cells = one.answerCells(cells, r)
	}
	return cells, nil
}
