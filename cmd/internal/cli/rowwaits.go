package cli

import (
	"sync/atomic"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// rowWaits has what rows waited counted beside the calls, by the meter of this process as
// soon as it has one: a command that ends no rows has none.
type rowWaits struct{ meter atomic.Pointer[gemini.Meter] }

// take fits jobs.StoreOptions.Waited.
func (r *rowWaits) take(w jobs.EndedWaits) {
	m := r.meter.Load()
	lane, err := limiter.ParseLane(w.Lane)
	if m == nil || err != nil {
		return
	}
	m.PutRows(gemini.RowWaits{Lane: lane, Class: w.Class, Feature: w.Feature, Rows: w.Rows, WaitedMS: w.Waits.Millis()})
}

// countRowWaits counts the waits of rows that a process ends without a way to Gemini: the
// scheduler's, which ends those that waited too long. Done sends the last ones.
func (b *backend) countRowWaits(process string) (done func()) {
	m := gemini.NewMeter(b.rdb, b.conf.scope(), gemini.MeterOptions{Process: processName(process), Zone: b.conf.spendZone(), Logger: b.log})
	b.waits.meter.Store(m)
	return func() {
		if err := m.Close(); err != nil {
			b.log.Warn("what the last rows waited is not counted", "err", err)
		}
	}
}
