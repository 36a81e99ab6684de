package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/worker"
)

// lookWithQueues is the screen with the queues of its lanes.
func (b *backend) lookWithQueues(ctx context.Context, now time.Time) (*overview, error) {
	v, err := b.overview(ctx, now)
	if err != nil {
		return nil, err
	}
	var lanes []string
	for _, l := range v.Lanes {
		lanes = append(lanes, l.Lane.String())
	}
	v.queues, err = worker.QueueStates(ctx, b.rdb, lanes)
	return v, err
}

// queueLines are the queues that have tasks.
func (v *overview) queueLines() (out []string) {
	for _, q := range v.queues {
		line := fmt.Sprintf("%-34.34s %s ready, %s at work, %s come again", q.Name, humanize.Comma(q.Pending), humanize.Comma(q.Active), humanize.Comma(q.Retry+q.Later))
		if q.Archived > 0 {
			line += fmt.Sprintf(", %s archived", humanize.Comma(q.Archived))
		}
		if q.Paused {
			line += ", paused"
		}
		out = append(out, line)
	}
	return out
}
