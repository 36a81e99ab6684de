package worker

import (
	"context"
	"log/slog"
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
	log  *slog.Logger
	now  func() time.Time
	late map[string]late // by task id
}

type late struct {
	queue string
	until time.Time
}

func (p *puller) run(ctx context.Context) {
	for {
		again := pullEvery
		if p.tick(ctx) {
			again = pullSoon
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
	}
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
func (p *puller) dropIfGone(ctx context.Context, queue, id string) {
	n, err := p.rdb.Exists(ctx, taskPrefix(queue)+id).Result()
	if err == nil && n == 0 {
		err = p.gate.Drop(ctx, p.lane, id)
	}
	if err != nil {
		p.log.Debug("a vanished job keeps its place in the line for now", "task", id, "err", err)
	}
}

// move moves what it can; what it could not stays in p.late.
func (p *puller) move(ctx context.Context, queue string, ids []string) {
	left, err := toFront(ctx, p.rdb, queue, ids, p.now())
	if err != nil {
		p.log.Debug("released jobs come back by their own time", "queue", queue, "err", err)
		return
	}
	missed := make(map[string]bool, len(left))
	for _, id := range left {
		missed[id] = true
	}
	for _, id := range ids {
		if !missed[id] {
			delete(p.late, id)
		}
	}
}
