package worker

import (
	"time"

	"nightshift/jobs"
)

// Tracer follows rows from look to look. Looked must be quick.
type Tracer interface {
	ID(jobs.Task) string // of the row's trace: its calls carry it
	Looked(Look)
}

// Look is one look at a row, and how it ended.
type Look struct {
	Task     jobs.Task
	Row      string // the id that the user knows
	Spec     jobs.Spec
	Attempt  int
	Enqueued time.Time // to the second
	Began    time.Time
	Settling time.Time // when it was known what becomes of the row
	Ended    time.Time // when that was written down
	State    jobs.State
	Reason   string     // what it waits for, or why it failed
	Waits    jobs.Waits // of its whole life until this look
}

// looked tells the tracer, where there is one, of a look that is over.
func (l *lane) looked(j *job, state jobs.State, reason string, settling time.Time) {
	if l.w.cfg.Tracer == nil || j.run == nil {
		return
	}
	l.w.cfg.Tracer.Looked(Look{
		Task: j.task, Row: j.row, Spec: j.run.Spec, Attempt: j.attempt,
		Enqueued: j.looked.Add(-j.begun.Waited), Began: j.looked, Settling: settling, Ended: l.w.cfg.Now(),
		State: state, Reason: reason, Waits: j.begun.Waits,
	})
}

// traceID is the trace of the row's calls; "" leaves it to the transport.
func (l *lane) traceID(j *job) string {
	if l.w.cfg.Tracer == nil {
		return ""
	}
	return l.w.cfg.Tracer.ID(j.task)
}
