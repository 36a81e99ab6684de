// Package jobs turns a file of rows and a template into a run: it reads and
// checks the rows, puts them on asynq's queues, keeps the run's ledger (where
// each row is, by compare-and-set, so that the counters always sum to the
// input) and its results.
//
// It knows nothing of permits, quotas or providers: what a worker does with a
// row between Begin and Finish is its own affair.
package jobs
