package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Between two tries of a service to reach its Redis, and between two lines that say so.
const (
	redisRetry = 2 * time.Second
	redisSay   = time.Minute
)

// openService reaches the fleet's Redis for a process that goes on running,
// and tells the shared state our limits. It waits for a Redis that is away.
func (f *factory) openService(ctx context.Context, command string, logs logFlags) (*backend, error) {
	log, err := f.logger(logs)
	if err != nil {
		return nil, err
	}
	f.log = log // before anything that logs is made
	var be *backend
	err = awaitRedis(ctx, log, func() (err error) { be, err = f.openFleet(ctx, command); return err })
	if err != nil {
		return nil, err
	}
	if len(be.conf.Models) == 0 {
		be.close()
		return nil, be.conf.noLimits("gemini-3.5-flash")
	}
	if err := be.configure(ctx); err != nil {
		be.close()
		return nil, err
	}
	warnRedis(ctx, be)
	return be, nil
}

// awaitRedis tries until Redis is there, as a running process outlives that it is away;
// what waiting does not mend ends it. Told to stop meanwhile, it ends well.
func awaitRedis(ctx context.Context, log *slog.Logger, try func() error) error {
	var said time.Time
	for {
		err := try()
		var none *noRedisError
		switch {
		case err != nil && ctx.Err() != nil:
			return &codedError{code: exitOK}
		case !errors.As(err, &none) && !errors.Is(err, errLoading):
			if err == nil && !said.IsZero() {
				log.Info("Redis answers")
			}
			return err
		}
		if now := time.Now(); now.Sub(said) >= redisSay {
			log.Warn("waits for Redis", "err", err)
			said = now
		}
		select {
		case <-ctx.Done():
		case <-time.After(redisRetry):
		}
	}
}
