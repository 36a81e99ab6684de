package jobs

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// RunSize is what a run takes.
type RunSize struct {
	Redis int64 // bytes; its tasks in asynq's queues are not in it
	Exact bool  // false: this Redis does not tell, and Redis is what its results have
	Files int64 // bytes of drained files that are to be seen from here
}

// Size measures a run.
func (s *Store) Size(ctx context.Context, run string) (RunSize, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return RunSize{}, err
	}
	size := RunSize{Exact: true}
	if size.Redis, err = s.keyBytes(ctx, append(m.keys(), m.single()...)); err != nil {
		size.Exact = false
		if size.Redis, err = s.ResultBytes(ctx, run); err != nil {
			return size, err
		}
	}
	dir, err := s.drainedDir(m)
	var elsewhere *DrainedElsewhereError
	if errors.As(err, &elsewhere) || err == nil && dir == "" {
		return size, nil
	}
	have, merr := readManifest(dir)
	for _, p := range have.Parts {
		size.Files += p.Bytes
	}
	return size, errors.Join(err, merr)
}

// keyBytes asks for the memory of keys, of which some may not be there.
func (s *Store) keyBytes(ctx context.Context, keys []string) (sum int64, _ error) {
	err := inBatches(keys, 1000, func(batch []string) error {
		pipe := s.rdb.Pipeline()
		cmds := make([]*redis.IntCmd, len(batch))
		for i, key := range batch {
			cmds[i] = pipe.MemoryUsage(ctx, key)
		}
		_, _ = pipe.Exec(ctx) // each command has its own answer
		for _, cmd := range cmds {
			n, err := cmd.Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			sum += n
		}
		return nil
	})
	return sum, err
}
