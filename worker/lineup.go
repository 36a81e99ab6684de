package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"nightshift/jobs"
)

const (
	// lineUpEvery is how often a lane that has nothing to line up looks.
	lineUpEvery = 250 * time.Millisecond
	// parkedFor is how long a task stays away when its worker dies while it is
	// being lined up.
	parkedFor = 2 * time.Minute
)

// lineUp gives new jobs their places in the limiter's line, many at a time,
// while the lane is short of quota. asynq would hand them out one by one, each
// with a dequeue and a retry of its own; whoever stands behind 50,000 jobs would
// not be seen for minutes.
func (l *lane) lineUp(ctx context.Context) {
	for ctx.Err() == nil {
		if l.slots.short(l.w.cfg.Now()) && l.lineUpSome(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(lineUpEvery):
		}
	}
}

// lineUpSome takes a batch of each queue. False: there was nothing.
func (l *lane) lineUpSome(ctx context.Context) (some bool) {
	for _, queue := range l.queues() {
		ids, err := park(ctx, l.w.cfg.Redis, queue, l.w.cfg.Now().Add(parkedFor))
		if err == nil && len(ids) > 0 {
			some = true
			err = comeBack(ctx, l.w.cfg.Redis, queue, l.places(ctx, ids), l.w.cfg.Now())
		}
		if err != nil && ctx.Err() == nil {
			l.w.cfg.Logger.Debug("new jobs are looked at one by one", "queue", queue, "err", err)
			return false
		}
	}
	return some
}

// places asks for a place for each, side by side, so that ledger and limiter
// answer all of them in a few scripts.
func (l *lane) places(ctx context.Context, ids []string) []parked {
	found := make([]parked, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		l.w.handlers.Add(1)
		all.Go(func() {
			defer l.w.handlers.Done()
			found[i] = l.place(ctx, id)
		})
	}
	all.Wait()
	waiting := found[:0]
	for _, p := range found {
		if p.id != "" {
			waiting = append(waiting, p)
		}
	}
	return waiting
}

// place looks at one job as the handler would, without ever calling. A row that
// turns out to have its end keeps its time: asynq's handler acknowledges it then.
func (l *lane) place(ctx context.Context, id string) parked {
	task, err := jobs.ParseTaskID(id)
	if err != nil || l.anothers(task) != nil {
		return parked{}
	}
	if _, busy := l.w.inHand.LoadOrStore(id, true); busy {
		return parked{}
	}
	defer l.w.inHand.Delete(id)
	err = l.begin(context.WithoutCancel(ctx), &job{task: task, attempt: 1, placeOnly: true})
	var wait *waitError
	if !errors.As(err, &wait) {
		return parked{}
	}
	return parked{id: id, until: l.w.cfg.Now().Add(wait.after + time.Second), text: wait.text}
}
