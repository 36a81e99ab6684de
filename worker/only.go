package worker

import (
	"context"
	"time"

	"nightshift/jobs"
)

// all says that the worker serves every run of its lanes.
func (w *Worker) all() bool { return w.cfg.Only.ID == "" }

// serves tells whether a lane is one that this worker takes up.
func (w *Worker) serves(lane string) bool { return w.all() || w.cfg.Only.Spec.Lane == lane }

// anothers is the error for a task of a run that this worker is not for: it stays in
// its queue. Nil for the worker's own.
func (l *lane) anothers(t jobs.Task) error {
	if l.w.all() || l.w.cfg.Only.ID == t.Run {
		return nil
	}
	return waitFor("another run's; waits for its own process", anothersWait, l.w.cfg.Now())
}

// anothersWait is how long such a task is out of the way.
const anothersWait = time.Minute

// queues are those that the lane's server takes tasks from, in the order of their
// weights.
func (l *lane) queues() []string {
	if !l.w.all() {
		return []string{l.w.cfg.Only.Spec.Queue()}
	}
	var names []string
	for _, p := range jobs.Priorities {
		names = append(names, jobs.Queue(p, l.name))
	}
	return names
}

// weights are the queues with theirs.
func (l *lane) weights() map[string]int {
	weights := map[string]int{}
	for i, queue := range l.queues() {
		weights[queue] = queueWeights[jobs.Priorities[i]]
	}
	return weights
}

// wanted is how many waiting rows the lane's puller may let go: as many as calls that
// the whole fleet could start now in this lane. A worker for one run
// lets go no more than that has waiting: others' would come to nobody.
func (l *lane) wanted() int {
	if l.w.all() {
		return l.slots.idle() + l.w.registry.idleElsewhere(l.name)
	}
	counts, err := l.w.cfg.Store.Counts(context.Background(), l.w.cfg.Only.ID)
	if err != nil {
		return 0 // they come back by their own time
	}
	return min(l.slots.idle(), int(counts[jobs.Waiting]))
}
