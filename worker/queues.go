package worker

import (
	"context"

	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
)

// QueueState is how many tasks of a queue are where. A row that waits for quota is
// among Retry, though it has not failed.
type QueueState struct {
	Name     string `json:"name"`
	Pending  int64  `json:"pending"`   // a worker may take it now
	Active   int64  `json:"active"`    // a worker has it
	Retry    int64  `json:"retry"`     // comes again at its time
	Later    int64  `json:"scheduled"` // comes for the first time at its time
	Archived int64  `json:"archived"`  // asynq gave it up
	Paused   bool   `json:"paused,omitempty"`
}

// Empty says that nothing is in it, and nobody paused it.
func (q QueueState) Empty() bool { return q == QueueState{Name: q.Name} }

// QueueStates reads the queues of some lanes that are not empty, in one round trip.
func QueueStates(ctx context.Context, rdb redis.UniversalClient, lanes []string) ([]QueueState, error) {
	var reads []*queueRead
	_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, lane := range lanes {
			for _, q := range jobs.Queues(lane) {
				reads = append(reads, readQueue(ctx, p, q))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []QueueState
	for _, r := range reads {
		if s := r.state(); !s.Empty() {
			out = append(out, s)
		}
	}
	return out, nil
}

// queueRead is a queue that is asked for, and not yet answered.
type queueRead struct {
	name                                              string
	pending, active, retry, later, archived, isPaused *redis.IntCmd
}

func readQueue(ctx context.Context, p redis.Pipeliner, q string) *queueRead {
	return &queueRead{q, p.LLen(ctx, pendingKey(q)), p.LLen(ctx, asynqKey(q, "active")), p.ZCard(ctx, retryKey(q)),
		p.ZCard(ctx, asynqKey(q, "scheduled")), p.ZCard(ctx, asynqKey(q, "archived")), p.Exists(ctx, pausedKey(q))}
}

func (r *queueRead) state() QueueState {
	return QueueState{r.name, r.pending.Val(), r.active.Val(), r.retry.Val(), r.later.Val(), r.archived.Val(), r.isPaused.Val() > 0}
}
