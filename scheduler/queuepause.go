package scheduler

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/queue.lua
	queueLua string
	//go:embed lua/theirs.lua
	theirsLua string

	queueScript  = redis.NewScript(queueLua)
	theirsScript = redis.NewScript(theirsLua)
)

// QueuePause is the value that we give asynq's pause key. asynq itself, and
// asynqmon, write a plain number there.
type QueuePause struct {
	By      string    `json:"by"` // begins with "nightshift"
	Reasons []string  `json:"reasons"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until,omitzero"` // when it lapses unless it is renewed; zero: never
}

const (
	queuePauseBy    = "nightshift scheduler"
	queuePauseBegin = `{"by":"nightshift` // of every value of ours
)

// ParseQueuePause reads the value of an asynq pause key; false when it is not ours.
func ParseQueuePause(value string) (QueuePause, bool) {
	var p QueuePause
	ours := strings.HasPrefix(value, queuePauseBegin) && json.Unmarshal([]byte(value), &p) == nil
	return p, ours
}

// What queue.lua found and did.
const (
	queueTheirs = "theirs" // closed by asynq's own means
	queueClosed = "closed" // by us, just now
	queueKept   = "kept"   // closed by us before, renewed
	queueOpened = "opened" // just now
	queueOpen   = "open"
	queueTaken  = "taken" // a person opened what we had closed
)

// setQueue closes a queue by p, or opens it when p is nil. A person's value is
// left alone, and so is a person's resume unless again.
func (c *Control) setQueue(ctx context.Context, queue string, p *QueuePause, now time.Time, again bool) (what, found string, err error) {
	value, lasts, over := "", int64(-1), ""
	if p != nil {
		text, err := json.Marshal(p)
		if err != nil {
			return "", "", err
		}
		value = string(text)
		if !p.Until.IsZero() {
			lasts = max(p.Until.Sub(now).Milliseconds(), 1)
		}
	}
	if again {
		over = "1"
	}
	got, err := queueScript.Run(ctx, c.Redis, []string{pausedKey(queue), closedKey(queue)}, value, lasts, queuePauseBegin, over).StringSlice()
	if err != nil {
		return "", "", fmt.Errorf("queue %s: %w", queue, err)
	}
	if len(got) != 2 {
		return "", "", fmt.Errorf("queue %s: unexpected answer of %d parts", queue, len(got))
	}
	return got[0], got[1], nil
}

// openTheirs opens a queue that was paused by asynq's own means.
func (c *Control) openTheirs(ctx context.Context, queue string) (bool, error) {
	n, err := theirsScript.Run(ctx, c.Redis, []string{pausedKey(queue)}, queuePauseBegin).Int()
	if err != nil {
		return false, fmt.Errorf("queue %s: %w", queue, err)
	}
	return n > 0, nil
}

// pausedSince reads asynq's own value: the Unix second of the pause.
func pausedSince(value string) time.Time {
	s, err := strconv.ParseInt(value, 10, 64)
	if err != nil || s <= 0 {
		return time.Time{}
	}
	return time.Unix(s, 0)
}
