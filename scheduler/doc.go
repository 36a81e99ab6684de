// Package scheduler does what one process does for the whole fleet. For now
// that is the sweeper: it finds tasks that asynq lost and compares the ledgers
// of open runs with asynq's tasks. One process leads, by a fenced lease in
// Redis; the others stand by and take over within ten seconds.
package scheduler
