package jobs

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Joins is the run that an enqueue of p would add to, with the settings that would hold
// then; false where it would make one. Nothing is changed.
func (s *Store) Joins(ctx context.Context, p *Prepared) (Run, bool, error) {
	id, err := s.rdb.HGet(ctx, keyNames, p.runName()).Result()
	if errors.Is(err, redis.Nil) {
		return Run{}, false, nil
	}
	if err != nil {
		return Run{}, false, err
	}
	m, err := s.meta(ctx, id)
	if errors.Is(err, ErrNoRun) { // its first enqueue died before the record
		return Run{}, false, nil
	}
	if err != nil {
		return Run{}, false, err
	}
	run := m.Run
	run.Spec = p.Spec
	run.enqueuedOver(m.Run, s.now().UTC())
	return run, true, nil
}
