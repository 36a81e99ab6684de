package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Gather puts the lines of one input row one after the other, in the order in which the
// first of each stands: outputs that an update added come after all others.
func (l *ResultLines) Gather(j *Join) error {
	first, i := map[digest]int64{}, 0
	err := l.Each(func(line []byte) error {
		var r struct {
			Row string `json:"id"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		row, _ := j.split(r.Row)
		base := digestOf(row)
		if _, ok := first[base]; !ok {
			first[base] = int64(i)
		}
		l.rows[i].rank = first[base]
		i++
		return nil
	})
	l.sort()
	return err
}

// Join puts the lines of one input row one after the other, in the order in which the
// first of each stands, and gives how they are joined: what is behind the last slash of
// an id is the output. The error says that the rows have not several outputs.
func (l *ResultLines) Join() (*Join, error) {
	first := map[digest]int64{}
	bases := make([]digest, len(l.rows))
	outputs := map[string]bool{}
	i, same := 0, true
	err := l.Each(func(line []byte) error {
		var r struct {
			Row    string `json:"id"`
			Fields struct {
				ID json.RawMessage `json:"id"`
			} `json:"fields"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		at := strings.LastIndexByte(r.Row, '/')
		if at < 0 {
			return fmt.Errorf("%s: row %s has one output: its id is not ID/OUTPUT", l.path, r.Row)
		}
		base := digestOf(r.Row[:at])
		outputs[r.Row[at+1:]] = true
		if _, ok := first[base]; !ok {
			first[base] = int64(i)
		}
		id, err := cellOf(r.Fields.ID)
		same = same && err == nil && id == r.Row[:at]
		bases[i], i = base, i+1
		return nil
	})
	if err == nil && len(outputs) == len(l.rows) && len(first) > 1 {
		err = fmt.Errorf("%s: no two rows have the same output: what is behind the slash of their ids is none", l.path)
	}
	if err != nil {
		return nil, err
	}
	for i := range l.rows {
		l.rows[i].rank = first[bases[i]]
	}
	l.sort()
	l.KeepID = !same
	j := &Join{}
	for name := range outputs {
		j.Outputs = append(j.Outputs, name)
	}
	slices.Sort(j.Outputs)
	return j, nil
}
