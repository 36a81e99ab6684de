package jobs

import "encoding/json"

// saved is what the file held of a row when it was opened.
type saved struct {
	key   digest // zero unless the state is good
	state State
}

// Have says what the file held of a row when it was opened: Done or Cached when
// it has a good result with this key, else None. It fits EnqueueOptions.Have.
func (f *FileSink) Have(row, key string) State {
	s, ok := f.have[row]
	if !ok || !s.state.Good() || s.key != digestOf(key) {
		return None
	}
	return s.state
}

// Known is the number of rows that the file held a good result of when it was
// opened.
func (f *FileSink) Known() int {
	n := 0
	for _, s := range f.have {
		if s.state.Good() {
			n++
		}
	}
	return n
}

// Spent is what the results that the file held when it was opened have cost, in
// micro-dollars.
func (f *FileSink) Spent() int64 { return f.spent }

// learn takes one line of the file; the last line of a row counts.
func (f *FileSink) learn(line []byte) bool {
	var r struct {
		Row    string `json:"id"`
		Status string `json:"status"`
		Key    string `json:"key"`

		MicroUSD int64 `json:"cost_micro_usd"`
	}
	if json.Unmarshal(line, &r) != nil || r.Row == "" {
		return false
	}
	if _, ok := f.have[r.Row]; ok {
		f.double = true
	}
	f.spent += r.MicroUSD
	s := saved{state: ParseState(r.Status)}
	if s.state.Good() && r.Key == "" {
		s.state = None // nobody can say what it was made from
	}
	if s.state.Good() {
		s.key = digestOf(r.Key)
	}
	f.have[r.Row] = s
	return true
}

// note remembers that a row gets a line, so that Tidy knows whether one had
// several. It requires that f.mu is held.
func (f *FileSink) note(row string) {
	d := digestOf(row)
	_, had := f.have[row]
	_, put := f.added[d]
	f.double = f.double || had || put
	f.added[d] = struct{}{}
}
