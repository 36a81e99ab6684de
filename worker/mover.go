package worker

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/move.lua
var moveLua string

var moveScript = redis.NewScript(moveLua)

// moveBatch bounds one script's ids (Redis stands still while it runs).
const moveBatch = 200

// toFront moves tasks from a queue's retry set to the front of its pending
// list, the first id first. It returns those that were not in the retry set.
func toFront(ctx context.Context, rdb redis.UniversalClient, queue string, ids []string, now time.Time) (left []string, err error) {
	// The last batch goes first, since each goes before what is there already.
	for end := len(ids); end > 0; end = max(end-moveBatch, 0) {
		args := []any{taskPrefix(queue), now.UnixNano()}
		for _, id := range ids[max(end-moveBatch, 0):end] {
			args = append(args, id)
		}
		missed, err := moveScript.Run(ctx, rdb, []string{retryKey(queue), pendingKey(queue)}, args...).StringSlice()
		if err != nil {
			return nil, fmt.Errorf("moving released tasks of %s to the front: %w", queue, err)
		}
		left = append(left, missed...)
	}
	return left, nil
}
