package worker

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"

	"github.com/redis/go-redis/v9"
)

// Gate is what the worker asks of the limiter beside the permits, which the
// transport takes.
type Gate interface {
	// Pull releases the tickets whose turn it is, at most as many as there are
	// free slots; at most one pass per lane in half a second over all processes.
	Pull(ctx context.Context, lane limiter.Lane, slots int) ([]limiter.Pulled, error)
	// Drop gives the places of tickets back whose jobs will never come.
	Drop(ctx context.Context, lane limiter.Lane, tickets ...string) error
}

// How often a worker offers to pull. When slots are what is scarce, one that
// comes free must not stand idle until the next regular pass; the limiter allows
// passes that follow quickly upon one that ended for want of slots.
const (
	pullEvery = 500 * time.Millisecond
	pullSoon  = 100 * time.Millisecond
)

// lateFor is how long a released ticket's task is looked for: its worker may
// still be putting it back when another process releases it.
const lateFor = 3 * time.Second

// puller lets the jobs of one lane come whose turn the limiter says it is.
// Confined to one goroutine.
type puller struct {
	gate Gate
	rdb  redis.UniversalClient
	lane limiter.Lane
	free func() int // call slots that are free over the fleet
	// others is how many other workers serve the lane; nil: none.
	others func() int
	log    *slog.Logger
	now    func() time.Time
	late   map[string]late // by task id
	// homes are queues of other lanes in which jobs of this lane were found, by the
	// queue that they were looked for in.
	homes map[string][]string
}

type late struct {
	queue string
	until time.Time
}

func (p *puller) run(ctx context.Context) {
	for {
		again := pullSoon
		if !p.tick(ctx) {
			again = p.pause()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
	}
}

// pause is how long until the next offer, while slots are not what is scarce. One of
// all workers that serve the lane is enough, and each offer costs Redis the look at a
// lane: where they are many, each offers less often, and some eight of them at any time
// within half a second. What has been released and was not found is looked for at once.
func (p *puller) pause() time.Duration {
	if p.others == nil || len(p.late) > 0 {
		return pullEvery
	}
	return pullEvery * time.Duration(min(max(1, p.others()/8), 20))
}

// tick is one pass. Without it, or when it fails, the jobs still come back by
// their countdowns. It tells whether it ended for want of slots.
func (p *puller) tick(ctx context.Context) (short bool) {
	free := p.free()
	var pulled []limiter.Pulled
	if free > 0 {
		var err error
		if pulled, err = p.gate.Pull(ctx, p.lane, free); err != nil && ctx.Err() == nil {
			p.log.Debug("pull failed; waiting jobs come back by their own time", "lane", p.lane.String(), "err", err)
		}
	}
	// The late ones are moved in any case: they have their turn already.
	for queue, ids := range p.byQueue(ctx, pulled) {
		p.move(ctx, queue, ids)
	}
	return len(pulled) >= max(free, 0)
}

// byQueue sorts the released and the late by queue, the late first.
func (p *puller) byQueue(ctx context.Context, pulled []limiter.Pulled) map[string][]string {
	ids := map[string][]string{}
	for id, l := range p.late {
		if p.now().After(l.until) {
			delete(p.late, id)
			p.dropIfGone(ctx, l.queue, id)
			continue
		}
		ids[l.queue] = append(ids[l.queue], id)
	}
	lane := p.lane.String()
	for _, t := range pulled {
		q := jobs.Queue(jobs.Priority(limiter.ParseLeaf(t.Leaf).Priority), lane)
		ids[q] = append(ids[q], t.Ticket)
		p.late[t.Ticket] = late{queue: q, until: p.now().Add(lateFor)}
	}
	return ids
}

// dropIfGone gives the place of a ticket back whose task does not exist any
// more (deleted in asynqmon, say): the limiter would release it again and again.
// A task that is in another lane's queue is moved there.
func (p *puller) dropIfGone(ctx context.Context, queue, id string) {
	home, err := p.homeOf(ctx, queue, id)
	switch {
	case err != nil:
	case home == "":
		err = p.gate.Drop(ctx, p.lane, id)
	case home != queue:
		if !slices.Contains(p.homes[queue], home) {
			p.homes[queue] = append(p.homes[queue], home)
		}
		p.late[id] = late{queue: queue, until: p.now().Add(lateFor)}
	}
	if err != nil {
		p.log.Debug("a vanished job keeps its place in the line for now", "task", id, "err", err)
	}
}

// homeOf finds the queue that has a task: its own, or that of a lane whose model
// turned out to share this one's bucket, after the job was enqueued. "" is none.
func (p *puller) homeOf(ctx context.Context, queue, id string) (string, error) {
	all, err := p.rdb.SMembers(ctx, asynqQueues).Result()
	if err != nil {
		return "", err
	}
	kind, _, _ := strings.Cut(queue, ".") // the same priority
	for _, q := range append([]string{queue}, all...) {
		if !strings.HasPrefix(q, kind+".") {
			continue
		}
		if n, err := p.rdb.Exists(ctx, taskPrefix(q)+id).Result(); err != nil || n > 0 {
			return q, err
		}
	}
	return "", nil
}

// move moves what it can; what it could not stays in p.late.
func (p *puller) move(ctx context.Context, queue string, ids []string) {
	for _, home := range append([]string{queue}, p.homes[queue]...) {
		if len(ids) == 0 {
			return
		}
		left, err := toFront(ctx, p.rdb, home, ids, p.now())
		if err != nil {
			p.log.Debug("released jobs come back by their own time", "queue", home, "err", err)
			return
		}
		for _, id := range ids {
			if !slices.Contains(left, id) {
				delete(p.late, id)
			}
		}
		ids = left
	}
}
