package dashboard

import (
	"context"
	"errors"
	"time"

	"github.com/hibiken/asynq"
)

// Run takes the samples that the metrics page shows, until ctx ends.
func (d *Dashboard) Run(ctx context.Context) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	quiet := false
	for {
		err := d.sample()
		if err != nil && !quiet {
			d.cfg.Logger.Warn("dashboard: queues cannot be sampled; the metrics page has a gap", "err", err)
		}
		quiet = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sample looks at each queue once.
func (d *Dashboard) sample() error {
	queues, err := d.inspector.Queues()
	if err != nil {
		return err
	}
	at := d.cfg.Now().UnixMilli()
	var failed error
	for _, queue := range queues {
		info, err := d.inspector.GetQueueInfo(queue)
		if errors.Is(err, asynq.ErrQueueNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			failed = err
			continue
		}
		d.samples.add(queue, sampleOf(info, at))
	}
	return failed
}

func sampleOf(info *asynq.QueueInfo, at int64) sample {
	return sample{
		at: at, size: int64(info.Size), pending: int64(info.Pending), retry: int64(info.Retry), archived: int64(info.Archived),
		latency: info.Latency.Seconds(), memory: info.MemoryUsage,
		processed: int64(info.ProcessedTotal), failed: int64(info.FailedTotal),
	}
}
