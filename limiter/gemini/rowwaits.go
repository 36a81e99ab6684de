package gemini

import "nightshift/limiter"

// RowWaits are what rows of one kind have waited that ended together: no calls, those
// are counted by themselves.
type RowWaits struct {
	Lane           limiter.Lane
	Class, Feature string
	Rows           int64
	WaitedMS       map[string]int64 // by what for, in the words of rows
}

// PutRows counts them now, by lane, class and feature. Like Put it never waits for
// Redis: they go out with what is counted in the same second.
func (m *Meter) PutRows(w RowWaits) {
	if w.Rows <= 0 || w.Lane.Scope() != m.scope {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	now := m.opts.Now()
	key := m.names.key(Record{Lane: w.Lane.String(), Class: w.Class, Feature: w.Feature}, now)
	c := m.cell(cellKey{now.Unix(), byFeature, key})
	c.tally(tallyEnded, w.Rows)
	for cause, ms := range w.WaitedMS {
		c.tally(tallyRows+codeOf(tallyWaits, cause), ms)
	}
}
