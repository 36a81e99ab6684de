package limiter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Note keeps an event, at Redis's time. About 20,000 are kept.
func (r *Redis) Note(ctx context.Context, e Event) error {
	if err := e.check(); err != nil {
		return err
	}
	ctx, cancel := r.timed(ctx)
	defer cancel()
	args := []any{r.clockArg(), keptEvents, "kind", e.Kind, "subject", e.Subject, "text", oneLine(e.Text), "by", e.By}
	if len(e.Data) > 0 {
		args = append(args, "data", jsonOf(e.Data))
	}
	if err := noteScript().Run(ctx, r.rdb, r.keys.events, args...).Err(); err != nil {
		return fmt.Errorf("limiter: event: %w", err)
	}
	return nil
}

// Events gives the last n events (0: all that are kept) from since on, the oldest
// of them first.
func (r *Redis) Events(ctx context.Context, since time.Time, n int) ([]Event, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	if n <= 0 {
		n = 2 * keptEvents // a stream is cut by whole nodes, so it may hold a few more
	}
	from := strconv.FormatInt(max(0, since.UnixMilli()), 10)
	got, err := r.rdb.XRevRangeN(ctx, r.keys.events[0], "+", from, int64(n)).Result()
	if err != nil {
		return nil, fmt.Errorf("limiter: events: %w", err)
	}
	out := make([]Event, 0, len(got))
	for _, m := range slices.Backward(got) {
		e, err := readEvent(m)
		if err != nil {
			return nil, fmt.Errorf("limiter: event %s: %w", m.ID, err)
		}
		out = append(out, e)
	}
	return out, nil
}

func readEvent(m redis.XMessage) (Event, error) {
	ms, _, _ := strings.Cut(m.ID, "-")
	at, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return Event{}, err
	}
	e := Event{At: time.UnixMilli(at), Kind: text(m.Values["kind"]), Subject: text(m.Values["subject"]),
		Text: text(m.Values["text"]), By: text(m.Values["by"])}
	if s := text(m.Values["data"]); s != "" {
		err = json.Unmarshal([]byte(s), &e.Data)
	}
	return e, err
}
