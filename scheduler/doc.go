// Package scheduler does what one process does for the whole fleet: it watches
// the health of those who wait for answers and takes room from bulk when they
// suffer, keeps work windows, brings asynq's queues into line with what is
// paused, learns by hour of the week what people will need, keeps the day's and
// month's counters outside Redis, and sweeps up what
// got lost between the ledgers and asynq. One process leads, by a fenced lease in
// Redis; the others stand by and take over within ten seconds. What the leader
// closes it closes under a lease of its own, so that a dead one's pause lapses.
//
// Control pauses and resumes for people, from any process.
package scheduler
