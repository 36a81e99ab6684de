package jobs

import "encoding/json"

// saved is what the file held of a row when it was opened.
type saved struct {
	key   digest
	state State
}

// Have says what the file held of a row when it was opened: Done or Cached when
// it has a good result with this key, else None. It fits EnqueueOptions.Have.
func (f *FileSink) Have(row, key string) State {
	s, ok := f.have[row]
	if !ok || s.key != digestOf(key) {
		return None
	}
	return s.state
}

// Known is the number of rows that the file held a good result of when it was
// opened.
func (f *FileSink) Known() int { return len(f.have) }

// learn takes one line of the file; the last line of a row counts.
func (f *FileSink) learn(line []byte) bool {
	var r struct {
		Row    string `json:"id"`
		Status string `json:"status"`
		Key    string `json:"key"`
	}
	if json.Unmarshal(line, &r) != nil || r.Row == "" {
		return false
	}
	if s := ParseState(r.Status); s.Good() && r.Key != "" {
		f.have[r.Row] = saved{digestOf(r.Key), s}
	} else {
		delete(f.have, r.Row)
	}
	return true
}
