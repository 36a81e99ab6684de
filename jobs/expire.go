package jobs

import (
	"context"
	"errors"
	"time"
)

// Expire ends the open rows of a run that have waited longer than its MaxWait
// without anybody looking at them, and gives their tasks.
func (s *Store) Expire(_ context.Context, _ string, _ time.Time) ([]Task, error) {
	return nil, errors.ErrUnsupported
}
